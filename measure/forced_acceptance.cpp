// SPDX-License-Identifier: Apache-2.0
#include "measure/forced_acceptance.h"

#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/rng.h"
#include "trace/trace.h"
#include "trace/tracing.h"

namespace draftline::measure {

ForcedAcceptance accept_by_rates(const std::vector<double>& rates, const Method& method, std::uint64_t seed) {
  if (count(rates) < method.depth())
    throw InputErrors("--accept: this method drafts " + std::to_string(method.depth()) + " tokens deep, but only " +
                      std::to_string(rates.size()) + " rates are given");
  for (const double r : rates)
    if (!(r >= 0 && r <= 1)) throw InputErrors("--accept: a rate lies between 0 and 1");
  return [rates, seed](int id, int step) {
    constexpr std::uint64_t kForced = 0xacce97;  // apart from the numbers of sampling
    int emitted = 1;
    for (const double r : rates) {
      if (uniform_at(seed, at(id), at(step), kForced + at(emitted)) >= r) break;
      ++emitted;
    }
    return emitted;
  };
}

ForcedAcceptance accept_by_trace(const Trace& trace, const std::string& file, const Method& method,
                                 const MethodSpec& spec) {
  const TraceHeader& h = trace.header();
  const bool as_recorded = spec.object() == nlohmann::json::parse(h.method);
  std::vector<std::vector<int>> steps;
  if (h.steps()) {
    for (int i = 0; i < trace.prompts(); ++i) steps.push_back(trace.steps(i));
  } else {
    const auto plan =
        as_recorded && h.lengths() ? DraftPlan::recorded(h) : draft_plan(method, method.tree() != nullptr);
    if (!plan) throw InputErrors(file + ": ranks don't say what this method's steps would have accepted");
    if (const auto why = trace.refuses(*plan)) throw InputErrors(file + ": " + *why);
    for (int i = 0; i < trace.prompts(); ++i) steps.push_back(trace.replay(i, *plan));
  }
  std::erase_if(steps, [](const auto& s) { return s.empty(); });
  if (steps.empty()) throw InputErrors(file + ": no prompt has a step");
  return [steps](int id, int step) {  // prompts and steps beyond the trace's take its first again
    const auto& of_prompt = steps[at(id) % steps.size()];
    return of_prompt[at(step) % of_prompt.size()];
  };
}

}  // namespace draftline::measure
