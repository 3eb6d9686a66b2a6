// SPDX-License-Identifier: Apache-2.0
// What `draftline advise` asks of a scenario: each of its speculating methods on each setup, with and without load.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "sim/advice.h"

namespace draftline {

// One per thread. InputErrors if the scenario is wrong or none of its methods speculates.
class AdviceSweep {
 public:
  AdviceSweep(Document scenario, const std::filesystem::path& data, bool with_load);
  const Scenario& scenario() const { return sweep_.scenario(); }
  std::size_t size() const { return points_.size(); }
  Advice at(std::size_t, std::uint64_t seed);

 private:
  Sweep sweep_;
  std::unique_ptr<ServingSweep> serving_;  // the same with arrivals; null: load is not asked about
  std::vector<int> batches_;
  std::vector<std::size_t> points_;  // of the scenario's product
};

}  // namespace draftline
