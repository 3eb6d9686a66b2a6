// SPDX-License-Identifier: Apache-2.0
#include "reports/run_report.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/quantity_text.h"
#include "model/fit_quality.h"
#include "reports/point.h"

namespace draftline {

namespace {

constexpr int kSchemaVersion = 1;

std::string percent(Seconds part, Seconds whole) { return std::to_string(std::lround(100 * (part / whole))) + " %"; }

// Whole tokens, but of a slow device.
std::string rate_text(double rate) { return rate < 9.995 ? significant(rate, 3) : std::to_string(std::lround(rate)); }

// A chain verifies a row for each draft and one more: trees and blocks say how many.
bool beyond_chains(const Scenario& s) {
  return std::any_of(s.methods.begin(), s.methods.end(),
                     [](const MethodChoice& m) { return !m.spec.draft_length() && !m.spec.is_plain(); });
}

Interval scaled(const Interval& i, double by) { return {by * i.low, by * i.high}; }

// Without more than one device nothing goes over a link.
bool several_devices(const Scenario& s) {
  return std::any_of(s.tensor_parallel.begin(), s.tensor_parallel.end(), [](int ranks) { return ranks > 1; });
}

// Low and high of step time, throughput and speedup, and what they cover: empty where they are not known.
constexpr std::size_t kIntervalCells = 7;
void add_interval(std::vector<Cell>& cells, const Prediction& p) {
  const auto& i = p.interval;
  if (!i) return cells.resize(cells.size() + kIntervalCells);
  for (const Interval& one : {i->step_time, scaled(i->throughput, p.throughput.value), scaled(i->speedup, p.speedup)}) {
    cells.emplace_back(one.low, 4);
    cells.emplace_back(one.high, 4);
  }
  cells.emplace_back(i->covers, 3);
}

}  // namespace

RunReport::RunReport(Output to, const Scenario& scenario)
    : to_(std::move(to)), scenario_(scenario), table_(new_table()) {
  if (to_.format != Format::json) return;
  json_ = std::make_unique<JsonWriter>(to_.stream);
  begin_document(*json_, kSchemaVersion, to_.asked, scenario);
  json_->key("results");
  json_->begin_array();
}

// ---- text and CSV: what varies, then the figures

Table RunReport::new_table() const {
  const bool all = to_.format == Format::csv;
  std::vector<Table::Column> columns = point_columns(scenario_, all);
  std::set<std::string> without;
  if (!all && !several_devices(scenario_)) without.insert("link");
  if (!all && !beyond_chains(scenario_)) without.insert("rows");
  for (const Table::Column& c : std::initializer_list<Table::Column>{{"rows", "verified_rows"},
                                                                     {"tokens/s", "throughput_per_s"},
                                                                     {"speedup", "speedup"},
                                                                     {"accepted", "acceptance_length"},
                                                                     {"step", "step_time_s"},
                                                                     {"draft", "draft_s"},
                                                                     {"verify", "verify_s"},
                                                                     {"link", "communication_s"},
                                                                     {"host", "host_s"},
                                                                     {"memory", "peak_memory_bytes"}})
    if (!without.contains(c.title)) columns.push_back(c);
  if (all)
    for (const char* name : {"skipped", "step_time_low_s", "step_time_high_s", "throughput_low_per_s",
                             "throughput_high_per_s", "speedup_low", "speedup_high", "interval_covers"})
      columns.push_back({name, name});
  return Table(std::move(columns));
}

std::vector<Cell> RunReport::row(const Outcome& o) const {
  const bool all = to_.format == Format::csv;
  std::vector<Cell> cells = point_cells(scenario_, o.point, all);
  if (const auto* p = std::get_if<Prediction>(&o.result)) {
    const auto share = [&](Seconds t) { return Cell(t.value, percent(t, p->step_time)); };
    if (all || beyond_chains(scenario_)) cells.emplace_back(p->verified_rows);
    cells.emplace_back(p->throughput.value, rate_text(p->throughput.value));
    cells.emplace_back(p->speedup, 3);
    cells.emplace_back(p->acceptance_length, 3);
    cells.emplace_back(p->step_time.value, to_text(p->step_time));
    cells.push_back(share(p->breakdown.of(Phase::draft)));
    cells.push_back(share(p->breakdown.of(Phase::verify) + p->breakdown.of(Phase::commit)));
    if (all || several_devices(scenario_)) cells.push_back(share(p->breakdown.communication()));
    cells.push_back(share(p->breakdown.host()));
    cells.emplace_back(p->memory.total().value, to_text(p->memory.total()));
    if (all) {
      cells.emplace_back();
      add_interval(cells, *p);
    }
  } else {
    if (all) {
      for (int i = 0; i < 10; ++i) cells.emplace_back();
      cells.emplace_back(std::get<std::string>(o.result));
      cells.resize(cells.size() + kIntervalCells);
    }
  }
  return cells;
}

void RunReport::add(const Outcome& o) {
  constexpr std::size_t kRowsAtOnce = 4096;  // CSV is written as it goes
  if (const auto* why = std::get_if<std::string>(&o.result)) {
    ++skipped_;
    if (reason_.empty()) reason_ = *why;
    if (to_.format == Format::table) return;
  }
  if (to_.format == Format::json) return add_json(o);
  if (to_.format == Format::table) note_interval(std::get<Prediction>(o.result));
  table_.add(row(o));
  if (to_.format == Format::csv && table_.rows() >= kRowsAtOnce) {
    to_.stream << table_.to_csv(!header_written_);
    header_written_ = true;
    table_ = new_table();
  }
}

void RunReport::note_interval(const Prediction& p) {
  if (!p.interval) return;
  step_times_.push_back(scaled(p.interval->step_time, 1 / p.step_time.value));
  if (p.interval->speedup.low < p.interval->speedup.high) speedups_.push_back(p.interval->speedup);  // not the baseline
}

std::string RunReport::intervals() const {
  if (step_times_.empty()) return {};
  const auto middle = [](const std::vector<Interval>& all) {
    const auto off = [&](double Interval::*end) {
      std::vector<double> ends;
      for (const Interval& i : all) ends.push_back(i.*end);
      return significant(100 * (quantile(ends, 0.5) - 1), 2);
    };
    return off(&Interval::low) + " to +" + off(&Interval::high) + " %";
  };
  std::string which = "a median point";
  if (step_times_.size() < table_.rows())
    which += " of the " + std::to_string(step_times_.size()) + " whose devices know them";
  return "90 % intervals, from kernels' errors (" + which + "): step " + middle(step_times_) +
         (speedups_.empty() ? "" : ", speedup " + middle(speedups_)) + "\n";
}

void RunReport::finish() {
  switch (to_.format) {
    case Format::json:
      json_->end_array();
      json_->end_object();
      json_->finish();
      return;
    case Format::csv: to_.stream << table_.to_csv(!header_written_); break;
    case Format::table:
      if (!scenario_.question.empty()) to_.stream << scenario_.question << "\n";
      to_.stream << table_.to_text(to_.width) << intervals();
      if (!scenario_.note.empty()) to_.stream << scenario_.note << "\n";
      if (skipped_ > 0)
        to_.stream << skipped_ << (skipped_ == 1 ? " point skipped: " : " points skipped; the first: ") << reason_
                   << "\n";
      break;
  }
  to_.stream.flush();
  if (!to_.stream) throw OutputError("standard output can't be written");
}

// ---- JSON

void RunReport::add_json(const Outcome& o) {
  JsonWriter& w = *json_;
  w.begin_object();
  write_inputs(w, scenario_, o.point);
  if (const auto* why = std::get_if<std::string>(&o.result)) {
    w.member("skipped", *why);
  } else {
    const Prediction& p = std::get<Prediction>(o.result);
    constexpr auto predicted = FigureKind::predicted;
    std::optional<Interval> step_time, throughput, speedup;
    if (p.interval) {
      step_time = p.interval->step_time;
      throughput = scaled(p.interval->throughput, p.throughput.value);
      speedup = scaled(p.interval->speedup, p.speedup);
    }
    w.figure("verified_rows", p.verified_rows, "rows", predicted);
    w.figure("throughput", p.throughput.value, "tokens/s", predicted, throughput);
    w.figure("throughput_with_prefill", p.throughput_with_prefill.value, "tokens/s", predicted);
    w.figure("speedup", p.speedup, "", predicted, speedup);
    w.figure("step_time", p.step_time, predicted, step_time);
    if (p.interval) w.figure("interval_covers", p.interval->covers, "", predicted);
    w.figure("prefill_time", p.prefill_time, predicted);
    w.figure("acceptance_length", p.acceptance_length, "tokens", FigureKind::input);
    w.figure("peak_memory", p.memory.total(), predicted);
    w.figure("arithmetic_intensity", p.work.flops / p.work.bytes(), predicted);
    w.object("breakdown", [&] {
      w.figure("draft", p.breakdown.of(Phase::draft), predicted);
      w.figure("verify", p.breakdown.of(Phase::verify), predicted);
      w.figure("commit", p.breakdown.of(Phase::commit), predicted);
      w.figure("communication", p.breakdown.communication(), predicted);
      w.figure("host", p.breakdown.host(), predicted);
    });
  }
  w.end_object();
}

}  // namespace draftline
