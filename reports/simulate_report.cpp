// SPDX-License-Identifier: Apache-2.0
#include "reports/simulate_report.h"

#include <algorithm>

namespace draftline {

SimulateReport::SimulateReport(Output to, const Scenario& scenario)
    : PointReport(std::move(to), scenario, simulate_figures(scenario.serving->targets), scenario.points() == 1) {}

ServingObserver* SimulateReport::observer() {
  return to().format == Format::html && scenario().points() == 1 ? &charts().history() : nullptr;
}

void SimulateReport::note(const ServingOutcome& o) {
  const auto& r = std::get<ServingResult>(o.result);
  warn(r.warnings);
  if (!r.no_interval.empty()) warn({r.no_interval});
  interval_ = interval_text(o);
  for (const OverSteps& m : means_over_steps(o))
    if (m.value > 0) over_steps_[m.name].push_back({m.interval.low / m.value, m.interval.high / m.value});
  preemptions_ = std::max(preemptions_, r.runs.front().figures.preemptions);
  if (const std::string text = overload_text(r); !text.empty()) {
    ++overloaded_;
    overload_ = text;
  }
}

std::string SimulateReport::intervals() const {
  if (rows() == 1) return interval_;
  std::string medians;
  for (const auto& [name, all] : over_steps_)
    medians += (medians.empty() ? " " : ", ") + std::string(name) + " " + median_interval(all);
  return medians.empty() ? "" : "90 % intervals (medians of the rows):" + medians + "; --csv and --json have each.";
}

// The column "queue" marks these rows.
std::string SimulateReport::overload() const {
  if (overloaded_ == 0) return {};
  if (rows() == 1) return "warning: " + overload_;
  const std::string which =
      overloaded_ == rows() ? "every row" : std::to_string(overloaded_) + " of " + std::to_string(rows()) + " rows";
  return "warning: in " + which +
         " the load exceeds the capacity: the queue grows, so that latencies depend on the length of the run";
}

void SimulateReport::write_sentences(Page& page) const {
  const Serving& s = *scenario().serving;
  if (const auto warm_up = s.choices.front().workload.warm_up; warm_up > 0)
    page.say("The first " + std::to_string(warm_up) + " requests warm up the servers and are excluded.");
  if (const int runs = s.replications.value_or(1); runs > 1)
    page.say("Means of " + std::to_string(runs) + " runs; --json contains their intervals.");
  page.say(intervals());
  page.say(scenario().note);
  page.say(skipped());
  if (preemptions_ > 0)
    page.say("Sequences were preempted when KV blocks ran out, up to " + std::to_string(preemptions_) +
             " times in a run.");
  write_warnings(page);
  page.say(overload());
}

void SimulateReport::write_more(JsonWriter& w, const ServingOutcome& o) const {
  if (const auto* r = std::get_if<ServingResult>(&o.result); r && to().timing)
    write_members(w, timing_figures(), r->runs.front());
}

}  // namespace draftline
