// SPDX-License-Identifier: Apache-2.0
#include "reports/run_report.h"

#include <algorithm>
#include <cmath>

#include "core/quantity_text.h"
#include "model/devices/fit_quality.h"

namespace draftline {

RunReport::RunReport(Output to, const Scenario& scenario)
    : PointReport(std::move(to), scenario, run_figures(), false), kernels_(scenario) {
  if (this->to().asked.options.from > 0) charts().leave_out_explorer();
}

// How much of the decode speedup a request misses, or has beyond it, as a ratio of at least 1.
static double apart(const Outcome& o) {
  const auto& p = std::get<Prediction>(o.result);
  return std::exp(std::abs(std::log(p.speedup_with_prefill / p.speedup)));
}

void RunReport::note(const Outcome& o) {
  const auto& p = std::get<Prediction>(o.result);
  warn(p.warnings);
  kernels_.add(o, name_of(o.point));
  if (!p.no_interval.empty()) warn({p.no_interval});
  if (!farthest_ || apart(o) > apart(*farthest_)) farthest_ = o;
  if (!p.interval) return;
  step_times_.push_back(p.interval->step_time);
  if (p.interval->speedup.low < p.interval->speedup.high) speedups_.push_back(p.interval->speedup);  // no baseline
}

std::string RunReport::intervals() const {
  if (rows() == 0) return {};
  if (step_times_.empty())
    return "No 90 % intervals: the errors of the kernels for which these steps wait are unknown.";
  std::string which = "median point";
  if (step_times_.size() < rows()) which += " of the " + std::to_string(step_times_.size()) + " with known errors";
  return "90 % intervals (" + which + "): step " + median_interval(step_times_) +
         (speedups_.empty() ? "" : ", speedup " + median_interval(speedups_));
}

std::string RunReport::requests() const {
  constexpr double kWorthAWord = 1.1;
  if (!farthest_ || apart(*farthest_) <= kWorthAWord) return {};
  const auto& p = std::get<Prediction>(farthest_->result);
  return "With prompts included, a decode speedup of " + significant(p.speedup) + " becomes " +
         significant(p.speedup_with_prefill) + " for requests (" + method_text(scenario(), farthest_->point) +
         ", batch " + std::to_string(scenario().batch_sizes[farthest_->point.batch]) + ", " +
         std::to_string(scenario().prompt_tokens[farthest_->point.prompt]) + " + " +
         std::to_string(scenario().output_tokens[farthest_->point.output]) + " tokens).";
}

// The note that the busiest device's rows are estimated, where they are not given.
std::string RunReport::experts() const {
  const auto& all = scenario().parallel;
  if (std::ranges::none_of(
          all, [](const Parallelism& p) { return p.expert_parallel && p.devices > 1 && p.expert_balancedness == 0; }))
    return {};
  return "Rows are assumed to choose experts uniformly at random; give \"expert_balancedness\" if your server logs it.";
}

void RunReport::write_sentences(Page& page) const {
  page.say(requests());
  if (!requests().empty()) page.say("For a load with queues use `draftline simulate` and a \"workload\".");
  page.say(intervals());
  page.say(experts());
  write_warnings(page);
  page.say(scenario().note);
  page.say(skipped());
  kernels_.show_on(page);
  if (to().plot)
    for (const Chart& chart : charts().speedups()) page.plot(chart);
}

void RunReport::write_more(JsonWriter& w, const Outcome& o) const {
  if (!o.kernels.empty())
    w.objects("kernels", o.kernels, [&](const KernelTime& k) { write_members(w, kernel_figures(), k); });
}

}  // namespace draftline
