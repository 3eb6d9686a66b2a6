// SPDX-License-Identifier: Apache-2.0
#include "reports/simulate_report.h"

#include <algorithm>
#include <cmath>

#include "reports/point.h"

namespace draftline {

namespace {

constexpr int kSchemaVersion = 1;
using Figure = std::function<double(const ServingRun&)>;

Figure mean_of(Histogram ServingFigures::*h) {
  return [h](const ServingRun& r) { return (r.figures.*h).mean().value; };
}
Figure quantile_of(Histogram ServingFigures::*h, double share) {
  return [h, share](const ServingRun& r) { return (r.figures.*h).quantile(share).value; };
}
double throughput(const ServingRun& r) { return r.figures.throughput().value; }
double goodput(const ServingRun& r) { return r.figures.goodput().value; }
double acceptance(const ServingRun& r) { return r.figures.acceptance_length(); }
// Of a million output tokens, idle time included.
Figure cost(const ServingResult& r) {
  return [by_hour = r.devices * r.price](const ServingRun& run) { return by_hour / 3600 / throughput(run) * 1e6; };
}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

double blocks_share(const ServingResult& r, double blocks) {
  return r.kv_blocks > 0 ? blocks / static_cast<double>(r.kv_blocks) : 0;
}
// How much longer a token takes than if the drafts had been chosen knowing what is accepted.
double oracle_gap(const ServingResult& r) {
  return r.runs.front().figures.tpot.mean() / r.oracle->figures.tpot.mean() - 1;
}

}  // namespace

SimulateReport::SimulateReport(Output to, const Scenario& scenario)
    : to_(std::move(to)), scenario_(scenario), single_(scenario.points() == 1), table_(new_table()) {
  if (to_.format != Format::json) return;
  json_ = std::make_unique<JsonWriter>(to_.stream);
  begin_document(*json_, kSchemaVersion, to_.asked, scenario);
  if (single_) return;
  json_->key("results");
  json_->begin_array();
}

// ---- text and CSV

Table SimulateReport::new_table() const {
  const bool all = to_.format == Format::csv;
  std::vector<Table::Column> columns = point_columns(scenario_, all);
  const auto add = [&](const char* title, const char* name) { columns.push_back({title, name}); };
  add("tokens/s", "throughput_per_s");
  if (!scenario_.serving->targets.targets.empty()) add("good/s", "goodput_per_s");
  add("TTFT", "ttft_mean_s");
  if (all) add("", "ttft_p50_s"), add("", "ttft_p90_s");
  add("p99", "ttft_p99_s");
  add("TPOT", "tpot_mean_s");
  if (all) add("", "tpot_p50_s"), add("", "tpot_p90_s");
  add("p99", "tpot_p99_s");
  add("e2e", "e2e_mean_s");
  if (all) add("", "e2e_p50_s"), add("", "e2e_p90_s"), add("", "e2e_p99_s");
  add("accepted", "acceptance_length");
  add("busy", "busy_share");
  add("KV", "kv_share");
  if (!scenario_.serving->prices.empty()) add("cost/1M", "cost_per_million_tokens");
  if (all)
    add("", "preemptions"), add("", "requests"), add("", "steps"), add("", "makespan_s"), add("", "diverges"),
        add("", "skipped");
  return Table(std::move(columns));
}

std::vector<Cell> SimulateReport::row(const ServingOutcome& o) const {
  const bool all = to_.format == Format::csv;
  std::vector<Cell> cells = point_cells(scenario_, o.point, all);
  const auto* r = std::get_if<ServingResult>(&o.result);
  if (r == nullptr) {
    while (cells.size() + 1 < table_.columns()) cells.emplace_back();
    cells.emplace_back(std::get<std::string>(o.result));
    return cells;
  }
  const ServingFigures& f = r->runs.front().figures;
  const auto seconds = [&](const Figure& figure) {
    const double v = estimate(*r, figure).value;
    cells.emplace_back(v, to_text(Seconds{v}));
  };
  const auto latency = [&](Histogram ServingFigures::*h, bool last) {
    seconds(mean_of(h));
    if (all) seconds(quantile_of(h, 0.5)), seconds(quantile_of(h, 0.9));
    if (all || last) seconds(quantile_of(h, 0.99));
  };
  const double rate = estimate(*r, throughput).value;
  cells.emplace_back(rate, significant(rate, 4));
  if (!scenario_.serving->targets.targets.empty()) cells.emplace_back(estimate(*r, goodput).value, 3);
  latency(&ServingFigures::ttft, true);
  latency(&ServingFigures::tpot, true);
  latency(&ServingFigures::e2e, false);
  cells.emplace_back(estimate(*r, acceptance).value, 3);
  const double busy = f.busy_share(r->servers), blocks = blocks_share(*r, f.mean_blocks());
  cells.emplace_back(busy, percent(busy));
  cells.emplace_back(blocks, percent(blocks));
  if (!scenario_.serving->prices.empty())
    cells.push_back(r->price > 0 ? Cell(estimate(*r, cost(*r)).value, 4) : Cell());
  if (all) {
    cells.emplace_back(f.preemptions);
    cells.emplace_back(f.requests);
    cells.emplace_back(f.steps);
    cells.emplace_back(f.makespan().value, to_text(f.makespan()));
    cells.emplace_back(r->runs.front().diverges);
    cells.emplace_back();
  }
  return cells;
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
    if (r.runs.front().diverges)
      warn("the load is more than can be served (busy " + percent(r.runs.front().figures.busy_share(r.servers)) +
           "): the queue grows, and latencies with the length of the run");
  }
  if (to_.format == Format::json) add_json(o);
  else table_.add(row(o));
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
      if (!scenario_.question.empty()) to_.stream << scenario_.question << "\n";
      to_.stream << table_.to_text(to_.width);
      const Serving& s = *scenario_.serving;
      if (const auto warm_up = s.choices.front().workload.warm_up; warm_up > 0)
        to_.stream << "The first " << warm_up << " requests warm the servers up and are left out.\n";
      if (s.replications > 1) to_.stream << "Means of " << s.replications << " runs; --json has their intervals.\n";
      if (!scenario_.note.empty()) to_.stream << scenario_.note << "\n";
      if (skipped_ > 0)
        to_.stream << skipped_ << (skipped_ == 1 ? " point skipped: " : " points skipped; the first: ") << reason_
                   << "\n";
      if (preemptions_ > 0)
        to_.stream << "Where KV blocks ran out, sequences were preempted, up to " << preemptions_
                   << " times in a run.\n";
      for (const std::string& w : warnings_) to_.stream << "warning: " << w << "\n";
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
  write_inputs(w, scenario_, o.point);
  if (const auto* why = std::get_if<std::string>(&o.result)) w.member("skipped", *why);
  else write_figures(std::get<ServingResult>(o.result));
  if (!single_) w.end_object();
}

void SimulateReport::write_figures(const ServingResult& r) {
  JsonWriter& w = *json_;
  constexpr auto predicted = FigureKind::predicted;
  const auto write = [&](std::string_view key, std::string_view unit, const Figure& figure) {
    const Estimate e = estimate(r, figure);
    w.figure(key, e.value, unit, predicted, e.interval);
  };
  const auto latency = [&](std::string_view key, Histogram ServingFigures::*h) {
    w.object(key, [&] {
      write("mean", "s", mean_of(h));
      write("p50", "s", quantile_of(h, 0.5));
      write("p90", "s", quantile_of(h, 0.9));
      write("p99", "s", quantile_of(h, 0.99));
    });
  };
  const ServingFigures& f = r.runs.front().figures;
  w.member("requests", f.requests);
  w.member("steps", f.steps);
  w.member("output_tokens", f.output_tokens);
  w.member("prompt_tokens", f.prompt_tokens);
  write("makespan", "s", [](const ServingRun& run) { return run.figures.makespan().value; });
  write("throughput", "tokens/s", throughput);
  write("goodput", "requests/s", goodput);
  latency("ttft", &ServingFigures::ttft);
  latency("tpot", &ServingFigures::tpot);
  latency("inter_token_latency", &ServingFigures::inter_token);
  latency("e2e", &ServingFigures::e2e);
  latency("queueing", &ServingFigures::queueing);
  write("acceptance_length", "tokens", acceptance);
  const int servers = r.servers;
  write("busy_share", "", [=](const ServingRun& run) { return run.figures.busy_share(servers); });
  write("host_share", "", [=](const ServingRun& run) { return run.figures.host_share(servers); });
  write("requests_in_flight", "requests", [](const ServingRun& run) { return run.figures.mean_in_system(); });
  w.member("kv_blocks", r.kv_blocks);
  write("kv_share", "", [&](const ServingRun& run) { return blocks_share(r, run.figures.mean_blocks()); });
  write("kv_share_peak", "",
        [&](const ServingRun& run) { return blocks_share(r, static_cast<double>(run.figures.most_blocks)); });
  w.member("devices", r.devices);
  if (r.power_watts > 0)  // at most: while it is busy a device draws its design power
    write("energy_at_most", "J", [&](const ServingRun& run) {
      const double seconds = to_seconds(run.figures.end - run.figures.first_arrival).value;
      return r.devices * r.power_watts * run.figures.busy_share(servers) * seconds;
    });
  if (r.price > 0) write("cost_per_million_tokens", "price", cost(r));
  if (f.refused > 0) w.member("refused_requests", f.refused);
  w.member("preemptions", f.preemptions);
  w.member("reused_prompt_tokens", f.reused_tokens);
  w.member("batch_limit", r.batch_limit);
  w.object("targets", [&] {
    for (const auto& t : scenario_.serving->targets.targets) w.member(t.name, f.meets(t));
  });
  if (r.oracle) {
    w.object("oracle", [&] {
      w.figure("tpot_mean", r.oracle->figures.tpot.mean(), predicted);
      w.figure("throughput", r.oracle->figures.throughput().value, "tokens/s", predicted);
      w.figure("gap", oracle_gap(r), "", predicted);
    });
  }
  if (to_.timing) {
    w.figure("event_loop_wall_time", r.runs.front().wall_time, FigureKind::measured);
    w.figure("pricing_wall_time", r.runs.front().pricing_time, FigureKind::measured);
  }
  w.member("event_fingerprint", to_hex(f.fingerprint()));
  w.member("diverges", r.runs.front().diverges);
  w.list("warnings", r.warnings);
}

}  // namespace draftline
