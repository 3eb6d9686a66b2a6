// SPDX-License-Identifier: Apache-2.0
#include "reports/simulate_report.h"

#include <algorithm>

#include "reports/paragraph.h"

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
      table_(new_table()) {
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
    ++skipped_;
    if (reason_.empty()) reason_ = *why;
    if (to_.format == Format::table) return;
  } else {
    const ServingResult& r = std::get<ServingResult>(o.result);
    const auto warn = [&](const std::string& text) {
      if (std::find(warnings_.begin(), warnings_.end(), text) == warnings_.end()) warnings_.push_back(text);
    };
    for (const std::string& w : r.warnings) warn(w);
    preemptions_ = std::max(preemptions_, r.runs.front().figures.preemptions);
    if (const std::string text = served::overload(r); !text.empty()) {
      ++overloaded_;
      overload_ = text;
    }
  }
  if (to_.format == Format::json) return add_json(o);
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

void SimulateReport::finish() {
  switch (to_.format) {
    case Format::json:
      if (!single_) json_->end_array();
      json_->end_object();
      json_->finish();
      return;
    case Format::csv: to_.stream << table_.to_csv(); break;
    case Format::table: {
      const auto write = [this](const std::string& text) {
        if (!text.empty()) to_.stream << paragraph(text, to_.width);
      };
      write(scenario_.question);
      to_.stream << table_.to_text(to_.width);
      const Serving& s = *scenario_.serving;
      if (const auto warm_up = s.choices.front().workload.warm_up; warm_up > 0)
        to_.stream << "The first " << warm_up << " requests warm the servers up and are left out.\n";
      if (const int runs = s.replications.value_or(1); runs > 1)
        to_.stream << "Means of " << runs << " runs; --json has their intervals.\n";
      write(scenario_.note);
      if (skipped_ > 0)
        write(std::to_string(skipped_) + (skipped_ == 1 ? " point skipped: " : " points skipped; the first: ") +
              reason_);
      if (preemptions_ > 0)
        to_.stream << "Where KV blocks ran out, sequences were preempted, up to " << preemptions_
                   << " times in a run.\n";
      for (const std::string& w : warnings_) write("warning: " + w);
      write(overload());
      break;
    }
  }
  to_.stream.flush();
  if (!to_.stream) throw OutputError("standard output can't be written");
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
