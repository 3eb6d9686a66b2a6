// SPDX-License-Identifier: Apache-2.0
// Runs without load: a server has one request at a time, which waits for no other. They depend on neither the rate nor
// the batch limit, so that points that differ in these alone share them.
#pragma once
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "inputs/serving_choice.h"
#include "predict/prediction.h"
#include "sim/fleet.h"

namespace draftline {

// What such runs of one method on one device depend on.
struct UnloadedServer {
  std::vector<std::string> choice;  // the values of the scenario's serving axes, but for rate and batch limit
  int prompt_tokens = 0, output_tokens = 0;
  bool shares_prefixes = false;  // the workload's prompts have blocks that later ones may reuse
  SchedulerLimits limits;        // without the batch limit
  bool operator==(const UnloadedServer&) const = default;
};
UnloadedServer unloaded_server(const Serving&, const ServingChoice&, const Setup&, const SchedulerLimits&);
// The workload of such a run: the same requests in a closed loop.
Workload one_by_one(Workload);

// The runs of one method on one device.
class UnloadedRuns {
 public:
  // The run that is known for such a server, with verification of up to `rows` rows; else that of `simulate`, which is
  // kept. Valid until the next call.
  template <class Simulate>
  const ServingRun& of(const UnloadedServer& server, std::uint64_t seed, int rows, Simulate simulate) {
    for (const Known& k : known_)
      if (k.seed == seed && alike(k, server, rows)) return k.run;
    if (known_.size() >= kMost) known_.pop_front();
    return known_.emplace_back(Known{server, seed, simulate()}).run;
  }

 private:
  static constexpr std::size_t kMost = 8;
  struct Known {
    UnloadedServer server;
    std::uint64_t seed;
    ServingRun run;
  };
  static bool alike(const Known&, const UnloadedServer&, int rows);
  std::deque<Known> known_;
};

}  // namespace draftline
