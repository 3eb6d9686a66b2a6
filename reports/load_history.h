// SPDX-License-Identifier: Apache-2.0
// What servers do over time in one run: requests that wait, sequences in a step, and KV blocks in use.
#pragma once
#include <map>
#include <vector>

#include "reports/page/page.h"
#include "sim/serving_figures.h"

namespace draftline {

class LoadHistory : public ServingObserver {
 public:
  void on_start(const FleetShape&, const SchedulerLimits&) override;
  void on_step(const StepRun&) override;
  void show_on(Page&) const;  // nothing without a step

 private:
  struct Steps {
    Ticks start, end;
    std::int64_t waiting, sequences, blocks;
  };
  Chart chart(const std::string& title, const std::string& values, std::int64_t Steps::*figure) const;

  std::map<int, std::vector<Steps>> by_server_;
  std::int64_t blocks_ = 0;  // of each server
};

}  // namespace draftline
