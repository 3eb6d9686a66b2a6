// SPDX-License-Identifier: Apache-2.0
// The parts of a step's time, a bar for each method, at the smallest, a middle and the largest batch of the first
// setup.
#pragma once
#include <vector>

#include "predict/sweep.h"
#include "reports/page/page.h"

namespace draftline {

class StepBars {
 public:
  explicit StepBars(const Scenario&);  // the scenario must outlive the bars
  void add(const Outcome&);
  void show_on(Page&) const;

 private:
  const Scenario& scenario_;
  std::vector<Bars> by_batch_;  // empty of other batches
};

}  // namespace draftline
