// SPDX-License-Identifier: Apache-2.0
// Runs that points share. Points often differ only in a limit that a run never reaches, such as a large batch limit,
// and a run without load depends on neither the rate nor the batch limit.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "inputs/serving_choice.h"
#include "sim/demand.h"

namespace draftline {

// The inputs on which a run of one method on one device depends.
struct RunInputs {
  std::uint64_t seed = 0;
  double rate = 0;  // requests/s; 0: one request at a time
  std::int64_t requests = 0;
  FleetShape fleet;
  SchedulerLimits limits;
  std::vector<Seconds> targets;     // limits of the latency targets
  std::vector<std::string> choice;  // values of the scenario's serving axes, except rate and batch limit
  int prompt_tokens = 0, output_tokens = 0;
  bool operator==(const RunInputs&) const = default;
};
// The values of a choice for RunInputs.
std::vector<std::string> without_load_axes(const Serving&, const ServingChoice&);
// Whether a run with the first inputs and this demand equals the run with the second inputs.
bool same_run(const RunInputs&, const Demand&, RunInputs);

// The runs of one method on one device. A Run has a `demand`.
template <class Run>
class SharedRuns {
 public:
  explicit SharedRuns(std::size_t most) : most_(most) {}  // maximum number of stored runs
  // The stored run for equal inputs, or else the result of `simulate`, which is stored. Valid until the next call.
  template <class Simulate>
  const Run& of(const RunInputs& inputs, Simulate simulate) {
    for (const Known& k : known_)
      if (same_run(k.inputs, k.run.demand, inputs)) return k.run;
    Run fresh = simulate();
    if (known_.size() >= most_) known_.pop_front();
    return known_.emplace_back(Known{inputs, std::move(fresh)}).run;
  }

 private:
  struct Known {
    RunInputs inputs;
    Run run;
  };
  std::size_t most_;
  std::deque<Known> known_;
};

}  // namespace draftline
