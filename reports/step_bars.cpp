// SPDX-License-Identifier: Apache-2.0
#include "reports/step_bars.h"

#include <algorithm>

#include "core/quantity_text.h"
#include "reports/point.h"

namespace draftline {

// The parts as in the columns of tables (reports/run_figures.h). They add up to the step.
static std::vector<double> step_parts(const StepBreakdown& b) {
  const double draft = (b.of(Phase::draft) + b.drafting).value,
               verify = (b.of(Phase::verify) + b.of(Phase::commit)).value, communication = b.communication().value,
               cpu = std::max(0.0, (b.host() - b.drafting).value);
  return {draft, verify, communication, cpu};
}

StepBars::StepBars(const Scenario& s) : scenario_(s), by_batch_(s.batch_sizes.size()) {
  const std::size_t last = s.batch_sizes.empty() ? 0 : s.batch_sizes.size() - 1;
  if (s.batch_sizes.empty()) return;
  for (const std::size_t batch : {std::size_t{0}, last / 2, last}) {
    Bars& bars = by_batch_[batch];
    bars.title = "Time of a step, batch " + std::to_string(s.batch_sizes[batch]);
    bars.values = "the drafter, the target with its commit, communication, waits for the CPU";
    bars.text = [](double seconds) { return to_text(Seconds{seconds}); };
    bars.parts = {"draft", "verify", "communication", "CPU"};
  }
}

void StepBars::add(const Outcome& o) {
  constexpr std::size_t kMostRows = 12;
  Point first = o.point;
  first.method = first.batch = 0;
  const auto* p = std::get_if<Prediction>(&o.result);
  if (p == nullptr || first != Point{}) return;
  Bars& bars = by_batch_[o.point.batch];
  if (bars.parts.empty() || bars.rows.size() == kMostRows) return;
  bars.rows.push_back({method_text(scenario_, o.point), step_parts(p->breakdown)});
}

void StepBars::show_on(Page& page) const {
  for (const Bars& bars : by_batch_) page.show(bars);
}

}  // namespace draftline
