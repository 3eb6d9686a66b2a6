// SPDX-License-Identifier: Apache-2.0
// The points of `draftline advise`: each speculative method of a scenario on each setup.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "core/files.h"
#include "sim/advice.h"

namespace draftline {

// Each thread needs its own. The constructor throws InputErrors if the scenario is wrong or has no speculative method.
// For a scenario with one batch size, sizes 1, 2, 4, ... 256 are reported.
class AdviceSweep {
 public:
  AdviceSweep(Document scenario, const Data&, bool with_load);
  const Scenario& scenario() const { return sweep_.scenario(); }
  std::size_t size() const { return points_.size(); }
  void watch(ServingObserver* watcher) {  // ServingSweep::watch(), of the simulations with load
    if (serving_) serving_->watch(watcher);
  }
  Advice at(std::size_t, std::uint64_t seed);  // `seed`: for the simulations with load

 private:
  Sweep sweep_;
  std::unique_ptr<ServingSweep> serving_;  // the scenario with arrivals; null without load
  std::unique_ptr<LoadAdvisor> load_;      // null without load
  std::vector<int> batches_;
  std::vector<std::size_t> points_;  // indices of the scenario's points
};

}  // namespace draftline
