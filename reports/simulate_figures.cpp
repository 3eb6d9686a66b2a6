// SPDX-License-Identifier: Apache-2.0
#include "reports/simulate_figures.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/latency_statistics.h"

namespace draftline {

// Functions that get figures of a result; an empty Reading if the point was skipped.
namespace served {
namespace {

using Result = const ServingResult&;
using Run = const ServingRun&;
using Latency = Histogram ServingFigures::*;

auto of(auto get) {
  return [get](const ServingOutcome& o) {
    const auto* r = std::get_if<ServingResult>(&o.result);
    return r ? Reading(get(*r)) : Reading();
  };
}
Reading mean_of_runs(Result r, const std::function<double(Run)>& figure) {
  const Estimate e = estimate(r.runs, figure);
  return {e.value, e.interval};
}
auto mean(auto figure) {
  return of([figure](Result r) { return mean_of_runs(r, [&](Run run) { return figure(r, run); }); });
}
// A column of a latency. It is empty if the run has none: requests with one token have no time between tokens.
auto latency(Latency h, auto figure) {
  return of([h, figure](Result r) {
    const bool none = (r.runs.front().figures.*h).count() == 0;
    return none ? Reading() : mean_of_runs(r, [&](Run run) { return figure(run.figures.*h).value; });
  });
}
auto mean(Latency h) {
  return latency(h, [](const Histogram& all) { return all.mean(); });
}
auto quantile(Latency h, double share) {
  return latency(h, [share](const Histogram& all) { return all.quantile(share); });
}
auto count(auto get) {
  return of([get](Result r) { return get(r.runs.front().figures); });
}
auto oracle(auto get) {
  return of([get](Result r) { return r.oracle ? Reading(get(r, r.oracle->figures)) : Reading(); });
}
// A figure of the first run, and from the run with the shortest steps to that with the longest. `figure` gets the
// figures of a run and the length of its second. Empty without such runs.
auto over_steps(auto figure) {
  return [figure](const ServingOutcome& o) {
    const auto* r = std::get_if<ServingResult>(&o.result);
    if (r == nullptr || !r->ends) return Reading();
    const auto& [step, shortest, longest] = *r->ends;
    const double first = figure(r->runs.front().figures, 1.0);
    const auto [low, high] =
        std::minmax({first, figure(shortest.figures, step.low), figure(longest.figures, step.high)});
    return std::isfinite(first) ? Reading(first, Interval{low, high}) : Reading();
  };
}
auto mean_over_steps(Latency h) {
  return over_steps([h](const ServingFigures& f, double second) {
    return (f.*h).count() == 0 ? std::nan("") : second * (f.*h).mean().value;
  });
}
auto p99_over_steps(Latency h) {
  return over_steps([h](const ServingFigures& f, double second) {
    return (f.*h).count() == 0 ? std::nan("") : second * (f.*h).quantile(0.99).value;
  });
}
double throughput(const ServingFigures& f, double second) { return f.throughput().value / second; }
auto end_of(auto range, double Interval::*end) {
  return [range, end](const ServingOutcome& o) {
    const Reading r = range(o);
    return r.interval ? Reading((*r.interval).*end) : Reading();
  };
}
double share_of_blocks(Result r, double blocks) { return r.kv_blocks > 0 ? blocks / to_double(r.kv_blocks) : 0; }
// The cost of a million output tokens, idle time included; empty without prices.
Reading cost(Result r) {
  if (!r.cost_per_hour) return {};
  return mean_of_runs(r, [&](Run run) { return *r.cost_per_hour / 3600 / run.figures.throughput().value * 1e6; });
}
Reading warnings(Result r) {
  nlohmann::json all = r.warnings;
  if (const std::string text = overload_text(r); !text.empty()) all.push_back(text);
  return Reading::Tree(std::make_shared<const nlohmann::json>(std::move(all)));
}
// Energy in J of all devices at their design power, for a share of the makespan; empty if that power is unknown.
Reading energy(Result r, const std::function<double(Run)>& share) {
  if (!r.power_watts) return {};
  return mean_of_runs(r,
                      [&](Run run) { return r.devices * *r.power_watts * share(run) * run.figures.makespan().value; });
}
Reading energy_of_steps(Result r) {
  return energy(r, [&](Run run) { return run.figures.busy_share(r.servers); });
}
Reading energy_at_most(Result r) {
  return energy(r, [](Run) { return 1.0; });
}
// The mean TPOT over that under the oracle, minus 1; empty if no request had a second token.
Reading oracle_gap(Result r, const ServingFigures& oracle) {
  const double gap = r.runs.front().figures.tpot.mean() / oracle.tpot.mean() - 1;
  return std::isfinite(gap) ? Reading(gap) : Reading();
}

// A latency with its statistics, which are members of one object in JSON.
struct LatencyFigures {
  std::string path, name, meaning;
  Latency histogram;
  std::vector<LatencyStatistic> statistics;
  std::string title = "";  // of the mean in tables
  bool shows_p99 = false;  // in tables, though no target limits it
  bool in_csv = true;
};

Figure<ServingOutcome> statistic_of(const LatencyFigures& l, const LatencyStatistic& s) {
  const bool is_mean = s.share == 0, is_e2e = l.path == "e2e", shown = s.limited || (l.shows_p99 && s.name == "p99");
  const std::function<Reading(const ServingOutcome&)> get =
      is_mean ? std::function<Reading(const ServingOutcome&)>(mean(l.histogram)) : quantile(l.histogram, s.share);
  Figure<ServingOutcome> f{l.path + "/" + s.name,
                           l.in_csv ? l.path + "_" + s.name + "_s" : "",
                           is_mean  ? l.title
                           : !shown ? ""
                           : is_e2e ? "e2e " + s.name
                                    : s.name,
                           "s",
                           FigureKind::predicted,
                           get,
                           (is_mean ? l.meaning : l.name) + ": " + s.meaning()};
  f.column.detail = is_mean && is_e2e && !s.limited;
  return f;
}

}  // namespace
}  // namespace served

// TTFT, TPOT and end-to-end latency with the percentiles that targets limit; the others of simulations.
static void add_latencies(Figures<ServingOutcome>& to, const LatencyTargets& targets) {
  using S = ServingFigures;
  using Of = LatencyTargets::Target::Of;
  const std::vector<served::LatencyFigures> all{
      {"ttft", "TTFT", "time to first token, from the arrival on", &S::ttft, statistics_of(Of::ttft, targets), "TTFT",
       true},
      {"tpot", "TPOT", "time per output token, (last - first token) / (output tokens - 1) of a request", &S::tpot,
       statistics_of(Of::tpot, targets), "TPOT", true},
      {"inter_token_latency", "inter-token latency",
       "gap between two emissions of a sequence (a step that emits several tokens counts once)", &S::inter_token,
       usual_statistics(), "", false, false},
      {"e2e", "end-to-end latency", "end-to-end latency, from arrival to last token", &S::e2e,
       statistics_of(Of::e2e, targets), "e2e"},
      {"queueing", "queueing time", "queueing time, from arrival to admission", &S::queueing, usual_statistics(), "",
       false, false}};
  for (const auto& latency : all)
    for (const LatencyStatistic& s : latency.statistics) to.push_back(served::statistic_of(latency, s));
}

std::vector<OverSteps> means_over_steps(const ServingOutcome& o) {
  using S = ServingFigures;
  std::vector<OverSteps> all;
  const auto add = [&](std::string_view name, std::string_view unit, const Reading& mean) {
    if (mean.interval) all.push_back({name, unit, std::get<double>(mean.value), *mean.interval});
  };
  add("TTFT", "s", served::mean_over_steps(&S::ttft)(o));
  add("TPOT", "s", served::mean_over_steps(&S::tpot)(o));
  add("tokens/s", "", served::over_steps(served::throughput)(o));
  return all;
}

std::string interval_text(const ServingOutcome& o) {
  const auto* r = std::get_if<ServingResult>(&o.result);
  if (r == nullptr || !r->ends) return "";
  std::string means;
  for (const OverSteps& m : means_over_steps(o))
    means += (means.empty() ? " " : ", ") + std::string(m.name) + " " + in_unit(m.interval.low, m.unit) + " to " +
             in_unit(m.interval.high, m.unit);
  return "90 % intervals, with every step " + significant(r->ends->step.low) + " to " +
         significant(r->ends->step.high) + " times as long, and prompts and the front end at their own ends:" + means +
         ".";
}

std::string overload_text(const ServingResult& r) {
  if (!r.runs.front().diverges) return "";
  return "the load exceeds the capacity (utilization " + percent(r.runs.front().figures.busy_share(r.servers)) +
         "): the queue grows, and latencies with the length of the run";
}

Figures<ServingOutcome> simulate_figures(const LatencyTargets& targets) {
  using R = served::Result;
  using Run = served::Run;
  using F = const ServingFigures&;
  using S = ServingFigures;
  using served::of, served::mean, served::count, served::oracle, served::over_steps, served::mean_over_steps,
      served::p99_over_steps, served::end_of;
  constexpr auto predicted = FigureKind::predicted;
  const auto met = [targets](R r) {
    auto each = std::make_shared<nlohmann::json>(nlohmann::json::object());
    for (const auto& t : targets.targets)
      (*each)[t.name] = std::ranges::all_of(r.runs, [&](Run run) { return run.figures.meets(t); });
    return Reading::Tree(std::move(each));
  };
  const auto verdict = [targets](R r) {
    std::string missed;
    for (const auto& t : targets.targets)
      if (!std::ranges::all_of(r.runs, [&](Run run) { return run.figures.meets(t); })) missed += " " + t.name;
    return Reading(missed.empty() ? std::string("met") : "missed" + missed);
  };
  Figures<ServingOutcome> all{
      // clang-format off
      {"throughput", "throughput_per_s", "tokens/s", "tokens/s", predicted,
       mean([](R, Run r) { return r.figures.throughput().value; }),
       "output tokens over the makespan; below capacity they are what the load asks for", {.text = to_digits<4>}},
      {"goodput", "goodput_per_s", "goodput", "requests/s", predicted,
       mean([](R, Run r) { return r.figures.goodput().value; }),
       "requests per second that meet every limit of `slo`",
       {.show_if = has_targets, .in_csv_if = has_targets}},
      // clang-format on
  };
  add_latencies(all, targets);
  const Figures<ServingOutcome> others{
      // clang-format off
      {"acceptance_length", "acceptance_length", "tok/step", "tokens", predicted,
       mean([](R, Run r) { return r.figures.acceptance_length(); }),
       "mean acceptance length: tokens that a sequence emitted per step", {.detail = true}},
      {"utilization", "utilization", "util", "", predicted,
       mean([](R r, Run run) { return run.figures.busy_share(r.servers); }), "share of the time in which steps ran",
       {.text = percent, .detail = true}, {.was = "busy_share"}},
      {"", "", "queue", "", {},
       of([](R r) { return r.runs.front().diverges ? Reading(std::string("grows")) : Reading(); }),
       "`grows` if the queue grew until the last arrival, so that latencies depend on the length of the run; tables "
       "show "
       "it if any queue grows", {.mark = true}},
      {"interval/step_time", "", "", "", predicted,
       over_steps([](F, double second) { return second; }),
       "time of every step over its prediction: 1; `low` and `high`: its 90 % interval at the mean batch. Absent, as "
       "the others in `interval`, without an interval and with --no-intervals"},
      {"interval/throughput", "", "", "tokens/s", predicted, over_steps(served::throughput),
       "throughput of the first replication; `low` and `high`: with the longest and the shortest steps"},
      {"interval/ttft_mean", "", "", "s", predicted, mean_over_steps(&S::ttft), "likewise: mean TTFT"},
      {"interval/ttft_p99", "", "", "s", predicted, p99_over_steps(&S::ttft), "likewise: 99th percentile of TTFT"},
      {"interval/tpot_mean", "", "", "s", predicted, mean_over_steps(&S::tpot), "likewise: mean TPOT"},
      {"interval/tpot_p99", "", "", "s", predicted, p99_over_steps(&S::tpot), "likewise: 99th percentile of TPOT"},
      {"interval/e2e_mean", "", "", "s", predicted, mean_over_steps(&S::e2e), "likewise: mean end-to-end latency"},
      {"", "ttft_mean_low_s", "", "s", predicted, end_of(mean_over_steps(&S::ttft), &Interval::low),
       "mean TTFT with the shortest steps of the 90 % interval"},
      {"", "ttft_mean_high_s", "", "s", predicted, end_of(mean_over_steps(&S::ttft), &Interval::high),
       "mean TTFT with the longest steps"},
      {"", "tpot_mean_low_s", "", "s", predicted, end_of(mean_over_steps(&S::tpot), &Interval::low),
       "mean TPOT with the shortest steps"},
      {"", "tpot_mean_high_s", "", "s", predicted, end_of(mean_over_steps(&S::tpot), &Interval::high),
       "mean TPOT with the longest steps"},
      {"no_interval", "no_interval", "", "", {},
       of([](R r) { return r.no_interval.empty() ? Reading() : Reading(r.no_interval); }),
       "the reason why there is no 90 % interval", {}, kNotPinned},
      {"cpu_share", "", "", "", predicted, mean([](R r, Run run) { return run.figures.host_share(r.servers); }),
       "share of the time in which steps waited for the CPU", {}, {.was = "host_share"}},
      {"kv_utilization", "kv_utilization", "KV", "", predicted,
       mean([](R r, Run run) { return served::share_of_blocks(r, run.figures.mean_blocks(r.servers)); }),
       "share of the KV blocks that were in use: mean over the time", {.text = percent, .detail = true},
       {.was = "kv_share"}},
      {"kv_utilization_peak", "", "", "", predicted,
       mean([](R r, Run run) { return served::share_of_blocks(r, to_double(run.figures.most_blocks)); }),
       "largest share of the KV blocks that was in use", {}, {.was = "kv_share_peak"}},
      {"cost_per_million_tokens", "cost_per_million_tokens", "cost/1M", "price", predicted, of(served::cost),
       "price of a million output tokens, idle time included, with `prices`",
       {.text = to_digits<4>, .show_if = has_prices, .in_csv_if = has_prices}},
      {"energy_of_steps", "", "", "J", predicted, of(served::energy_of_steps),
       "energy of all devices at their design power while steps run, without idle power"},
      {"energy_at_most", "", "", "J", predicted, of(served::energy_at_most),
       "energy of all devices at their design power over the makespan: an upper bound"},
      {"requests_in_flight", "", "", "requests", predicted,
       mean([](R, Run r) { return r.figures.mean_in_system(); }),
       "requests that have arrived and are not served yet: mean over the time"},
      {"preemptions", "preemptions", "", "", {}, count([](F f) { return f.preemptions; }),
       "number of times that a sequence lost its KV blocks to another", {}, kPinned},
      {"requests", "requests_served", "", "", {}, count([](F f) { return f.requests; }),
       "requests that were served, without those of the warm-up", {}, kPinned},
      {"refused_requests", "", "", "", {},
       count([](F f) { return f.refused > 0 ? Reading(f.refused) : Reading(); }),
       "requests that no KV pool can hold; absent without any"},
      {"steps", "steps", "", "", {}, count([](F f) { return f.steps; }), "steps of all servers", {}, kPinned},
      {"makespan", "makespan_s", "", "s", predicted, mean([](R, Run r) { return r.figures.makespan().value; }),
       "from the first arrival after the warm-up to the last token"},
      {"output_tokens", "", "", "", {}, count([](F f) { return f.output_tokens; }),
       "output tokens of the requests served"},
      {"prompt_tokens", "", "", "", {}, count([](F f) { return f.prompt_tokens; }),
       "prompt tokens of the requests served"},
      {"reused_prompt_tokens", "", "", "", {}, count([](F f) { return f.reused_tokens; }),
       "prompt tokens of the requests served that came from the prefix cache"},
      {"devices", "", "", "", {}, of([](R r) { return r.devices; }), "devices of all servers"},
      {"kv_blocks", "", "", "", {}, of([](R r) { return r.kv_blocks; }), "KV blocks of a server", {}, kPinned},
      {"batch_limit", "", "", "", {}, of([](R r) { return r.batch_limit; }), "sequences that a step can hold",
       {}, kPinned},
      {"targets", "", "", "", {}, of(met), "for each latency target, by its name, whether every replication meets it"},
      {"", "targets", "targets", "", {}, of(verdict),
       "`met` if every replication meets every limit of `slo`; else `missed` and the limits that are not met",
       {.show_if = has_targets, .in_csv_if = has_targets, .detail = true}},
      {"oracle/tpot_mean", "", "", "s", predicted,
       oracle([](R, F o) { return o.tpot.count() == 0 ? Reading() : Reading(o.tpot.mean()); }),
       "mean TPOT under an oracle that knows how many drafts each step would accept"},
      {"oracle/throughput", "", "", "tokens/s", predicted, oracle([](R, F o) { return Reading(o.throughput()); }),
       "throughput under the oracle"},
      {"oracle/gap", "", "", "", predicted, oracle(served::oracle_gap),
       "mean TPOT over that under the oracle, minus 1"},
      {"event_fingerprint", "", "", "", {}, count([](F f) { return to_hex(f.fingerprint()); }),
       "hash of the event stream: equal hashes mean equal runs", {}, kPinned},
      {"diverges", "diverges", "", "", {}, of([](R r) { return r.runs.front().diverges; }),
       "whether the queue grew until the last arrival, so that latencies depend on the length of the run", {}, kPinned},
      {"warnings", "", "", "", {}, of(served::warnings), "warnings about the run, as sentences",
       {}, kPinned},
      {"skipped", "skipped", "", "", {},
       [](const ServingOutcome& o) {
         const auto* why = std::get_if<std::string>(&o.result);
         return why ? Reading(*why) : Reading();
       },
       "the reason why the point cannot run", {}, kPinned},
      // clang-format on
  };
  all.insert(all.end(), others.begin(), others.end());
  return all;
}

const Figures<ServingRun>& timing_figures() {
  static const Figures<ServingRun> all{
      {"event_loop_wall_time", "", "", "s", FigureKind::measured, [](const ServingRun& r) { return r.wall_time; },
       "with --timing: wall time of the event loop on this machine"},
      {"pricing_wall_time", "", "", "s", FigureKind::measured, [](const ServingRun& r) { return r.pricing_time; },
       "with --timing: wall time of computing prices that were not known yet"},
  };
  return all;
}

}  // namespace draftline
