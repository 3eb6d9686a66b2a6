// SPDX-License-Identifier: Apache-2.0
// The charts of `draftline run --html`: an explorer of a grid, the decode speedup of each method, tokens/s of a device
// against tokens/s of one sequence, and the parts of a step.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "predict/sweep.h"
#include "reports/page/chart_set.h"
#include "reports/page/page.h"
#include "reports/point.h"
#include "reports/run_explorer.h"
#include "reports/step_bars.h"

namespace draftline {

class RunCharts {
 public:
  explicit RunCharts(const Scenario&);  // the scenario must outlive the charts
  void add(const Outcome&);
  void show_on(Page&) const;
  void leave_out_explorer() { explorer_.leave_out(); }
  std::vector<Chart> speedups() const { return speedups_.charts(); }

 private:
  // The first of a scenario's lists that has several values; charts are along its values.
  enum class Along { batch_size, prompt_tokens, output_tokens, draft_length };
  static Along along_of(const Scenario&);
  std::optional<double> place_of(const Point&) const;  // none: the method drafts no chain

  const Scenario& scenario_;
  Along along_;
  PointInputs differing_;  // the inputs that differ between charts
  ChartSet speedups_, rates_;
  RunExplorer explorer_;
  StepBars steps_;
};

}  // namespace draftline
