// SPDX-License-Identifier: Apache-2.0
#include "reports/simulate_report.h"

#include <algorithm>

#include "reports/page/page.h"

namespace draftline {

namespace {

constexpr int kSimulateSchema = 1;

}  // namespace

SimulateReport::SimulateReport(Output to, const Scenario& scenario)
    : to_(std::move(to)),
      scenario_(scenario),
      single_(scenario.points() == 1),
      inputs_(scenario, to_.format),
      figures_(simulate_figures(scenario.serving->targets)),
      columns_(columns_of(figures_, scenario, to_.format)),
      table_(new_table()),
      charts_(scenario) {
  if (to_.format != Format::json) return;
  json_ = std::make_unique<JsonWriter>(to_.stream);
  begin_document(*json_, kSimulateSchema, to_.asked, scenario);
  if (single_) return;
  json_->key("results");
  json_->begin_array();
}

// ---- text and CSV

Table SimulateReport::new_table() const {
  std::vector<Table::Column> titles = inputs_.titles();
  add_titles(titles, columns_);
  return Table(std::move(titles));
}

void SimulateReport::add(const ServingOutcome& o) {
  if (const auto* why = std::get_if<std::string>(&o.result)) {
    skipped_.add(inputs_.text(o.point), *why);
    if (for_people(to_.format)) return;
  } else {
    const ServingResult& r = std::get<ServingResult>(o.result);
    const auto warn = [&](const std::string& text) {
      if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(text);
    };
    for (const std::string& w : r.warnings) warn(w);
    preemptions_ = std::max(preemptions_, r.runs.front().figures.preemptions);
    if (const std::string text = overload_text(r); !text.empty()) {
      ++overloaded_;
      overload_ = text;
    }
  }
  if (to_.format == Format::json) return add_json(o);
  if (to_.format == Format::html) charts_.add(o);
  std::vector<Cell> row = inputs_.cells(o.point);
  add_cells(row, columns_, o);
  table_.add(std::move(row));
}

// Which rows these are says the column "queue".
std::string SimulateReport::overload() const {
  if (overloaded_ == 0) return {};
  if (table_.rows() == 1) return "warning: " + overload_;
  const std::string which = overloaded_ == table_.rows()
                                ? "every row"
                                : std::to_string(overloaded_) + " of " + std::to_string(table_.rows()) + " rows";
  return "warning: in " + which +
         " the load is more than can be served: the queue grows, and their latencies with the length of the run";
}

void SimulateReport::write_page() {
  const auto page = page_of(to_, scenario_);
  if (to_.format == Format::html) charts_.show_on(*page);
  page->show(table_);
  const Serving& s = *scenario_.serving;
  if (const auto warm_up = s.choices.front().workload.warm_up; warm_up > 0)
    page->say("The first " + std::to_string(warm_up) + " requests warm the servers up and are left out.");
  if (const int runs = s.replications.value_or(1); runs > 1)
    page->say("Means of " + std::to_string(runs) + " runs; --json has their intervals.");
  page->say(scenario_.note);
  page->say(skipped_.sentence());
  if (preemptions_ > 0)
    page->say("Where KV blocks ran out, sequences were preempted, up to " + std::to_string(preemptions_) +
              " times in a run.");
  for (const std::string& w : warnings_) page->say("warning: " + w);
  page->say(overload());
  page->finish();
}

void SimulateReport::finish() {
  switch (to_.format) {
    case Format::json:
      if (!single_) json_->end_array();
      json_->end_object();
      return json_->finish();
    case Format::csv: to_.stream << table_.to_csv(); return finish_stream(to_.stream);
    case Format::table:
    case Format::markdown:
    case Format::html: write_page();
  }
}

// ---- JSON

void SimulateReport::add_json(const ServingOutcome& o) {
  JsonWriter& w = *json_;
  if (!single_) w.begin_object();
  inputs_.write(w, o.point);
  write_members(w, figures_, o);
  if (const auto* r = std::get_if<ServingResult>(&o.result); r && to_.timing)
    write_members(w, timing_figures(), r->runs.front());
  if (!single_) w.end_object();
}

}  // namespace draftline
