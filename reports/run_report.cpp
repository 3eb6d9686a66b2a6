// SPDX-License-Identifier: Apache-2.0
#include "reports/run_report.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "model/devices/fit_quality.h"
#include "reports/page/page.h"
#include "reports/point.h"

namespace draftline {

namespace {

constexpr int kRunSchema = 1;

}  // namespace

RunReport::RunReport(Output to, const Scenario& scenario)
    : to_(std::move(to)),
      scenario_(scenario),
      inputs_(scenario, to_.format),
      columns_(columns_of(run_figures(), scenario, to_.format)),
      table_(new_table()),
      charts_(scenario) {
  if (to_.format != Format::json) return;
  json_ = std::make_unique<JsonWriter>(to_.stream);
  begin_document(*json_, kRunSchema, to_.asked, scenario);
  json_->key("results");
  json_->begin_array();
}

// ---- text and CSV

Table RunReport::new_table() const {
  std::vector<Table::Column> titles = inputs_.titles();
  add_titles(titles, columns_);
  return Table(std::move(titles));
}

void RunReport::add(const Outcome& o) {
  constexpr std::size_t kRowsAtOnce = 4096;  // after which CSV is written
  if (const auto* why = std::get_if<std::string>(&o.result)) {
    skipped_.add(inputs_.text(o.point), *why);
    if (for_people(to_.format)) return;
  }
  if (to_.format == Format::json) return add_json(o);
  if (for_people(to_.format)) {
    note_interval(std::get<Prediction>(o.result));
    note_request(o);
  }
  if (to_.format == Format::html) charts_.add(o);
  std::vector<Cell> row = inputs_.cells(o.point);
  add_cells(row, columns_, o);
  table_.add(std::move(row));
  if (to_.format == Format::csv && table_.rows() >= kRowsAtOnce) {
    to_.stream << table_.to_csv(!header_written_);
    header_written_ = true;
    table_ = new_table();
  }
}

void RunReport::note_interval(const Prediction& p) {
  for (const std::string& warning : p.warnings)
    if (std::find(warnings_.begin(), warnings_.end(), warning) == warnings_.end()) warnings_.push_back(warning);
  if (!p.interval) return;
  step_times_.push_back(p.interval->step_time);
  if (p.interval->speedup.low < p.interval->speedup.high) speedups_.push_back(p.interval->speedup);  // no baseline
}

std::string RunReport::intervals() const {
  if (table_.rows() == 0) return {};
  if (step_times_.empty())
    return "No 90 % intervals: the errors of the kernels that these steps wait for are not known.";
  const auto middle = [](const std::vector<RatioInterval>& all) {
    const auto off = [&](double RatioInterval::*end) {
      std::vector<double> ends;
      for (const RatioInterval& i : all) ends.push_back(i.*end);
      return significant(100 * (quantile(ends, 0.5) - 1), 2);
    };
    return off(&RatioInterval::low) + " to +" + off(&RatioInterval::high) + " %";
  };
  std::string which = "a median point";
  if (step_times_.size() < table_.rows()) which += " of the " + std::to_string(step_times_.size()) + " that know them";
  return "90 % intervals, from kernels' errors (" + which + "): step " + middle(step_times_) +
         (speedups_.empty() ? "" : ", speedup " + middle(speedups_));
}

// How much of the decode speedup a request misses, or has beyond it, as a ratio of at least 1.
static double apart(const Outcome& o) {
  const auto& p = std::get<Prediction>(o.result);
  return std::exp(std::abs(std::log(p.speedup_with_prefill / p.speedup)));
}

void RunReport::note_request(const Outcome& o) {
  if (!farthest_ || apart(o) > apart(*farthest_)) farthest_ = o;
}

std::string RunReport::requests() const {
  constexpr double kWorthAWord = 1.1;
  if (!farthest_ || apart(*farthest_) <= kWorthAWord) return {};
  const auto& p = std::get<Prediction>(farthest_->result);
  return "Requests have prompts too: a decode speedup of " + significant(p.speedup) + " is " +
         significant(p.speedup_with_prefill) + " to them (" + method_text(scenario_, farthest_->point) + ", batch " +
         std::to_string(scenario_.batch_sizes[farthest_->point.batch]) + ", " +
         std::to_string(scenario_.prompt_tokens[farthest_->point.prompt]) + " + " +
         std::to_string(scenario_.output_tokens[farthest_->point.output]) + " tokens).";
}

// The note that the busiest device's rows are estimated, where they are not given.
std::string RunReport::experts() const {
  const auto& all = scenario_.parallel;
  if (std::none_of(all.begin(), all.end(), [](const Parallelism& p) {
        return p.expert_parallel && p.devices > 1 && p.expert_balancedness == 0;
      }))
    return {};
  return "Rows are taken to choose experts at random, none of which is hot: \"expert_balancedness\" says what your "
         "server logs.";
}

void RunReport::write_page() {
  const auto page = page_of(to_, scenario_);
  if (to_.format == Format::html) charts_.show_on(*page);
  page->show(table_);
  page->say(requests());
  if (!requests().empty()) page->say("Under a load, with queues: `draftline simulate` and a \"workload\".");
  page->say(intervals());
  page->say(experts());
  for (const std::string& warning : warnings_) page->say("warning: " + warning);
  page->say(scenario_.note);
  page->say(skipped_.sentence());
  page->finish();
}

void RunReport::finish() {
  switch (to_.format) {
    case Format::json:
      json_->end_array();
      json_->end_object();
      return json_->finish();
    case Format::csv: to_.stream << table_.to_csv(!header_written_); return finish_stream(to_.stream);
    case Format::table:
    case Format::markdown:
    case Format::html: write_page();
  }
}

// ---- JSON

void RunReport::add_json(const Outcome& o) {
  json_->begin_object();
  inputs_.write(*json_, o.point);
  write_members(*json_, run_figures(), o);
  if (!o.kernels.empty())
    json_->objects("kernels", o.kernels, [&](const KernelTime& k) { write_members(*json_, kernel_figures(), k); });
  json_->end_object();
}

}  // namespace draftline
