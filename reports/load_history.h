// SPDX-License-Identifier: Apache-2.0
// What servers do over time in one run: requests that wait, sequences in a step, and KV blocks in use. Memory does not
// grow with the steps.
#pragma once
#include <map>

#include "reports/page/page.h"
#include "sim/serving_figures.h"

namespace draftline {

class LoadHistory : public ServingObserver {
 public:
  void on_start(const FleetShape&, const SchedulerLimits&) override;
  void on_step(const StepRun&) override;
  void show_on(Page&) const;  // nothing without a step

 private:
  // The largest values in a stretch of time.
  struct Most {
    std::int64_t waiting = 0, sequences = 0, blocks = 0;
    void take(const Most&);
  };
  using Moments = std::map<Ticks, Most>;  // by time over the width of a moment
  void double_width();
  Chart chart(const std::string& title, const std::string& values, std::int64_t Most::*figure) const;

  std::map<int, Moments> by_server_;
  Ticks width_ = 1, first_ = kForever, last_ = 0;  // of a moment; begin of the first step; the last tick of all steps
  std::int64_t blocks_ = 0;                        // of each server
  int servers_ = 1;
};

}  // namespace draftline
