// SPDX-License-Identifier: Apache-2.0
#include "sim/trials.h"

#include <algorithm>
#include <limits>

namespace draftline {

const FleetRun* Trials::at(int replicas, int replication) {
  const auto [known, fresh] = runs_.try_emplace({replicas, replication});
  if (fresh) {
    point_.fleet.replicas = replicas;
    known->second = steady_run(point_, seed_of_replication(seed_, replication), targets_);
  }
  const SteadyRun& trial = known->second;
  if (trial.figures) return &*trial.figures;
  missed_ = {replicas, replication, trial.requests};
  return nullptr;
}

std::optional<int> Trials::smallest(int from, int replication) {
  int low = from - 1, high = from;  // low does not suffice
  for (int step = 1; high <= most_ && at(high, replication) == nullptr; step *= 2) {
    low = high;
    high = high == most_ ? most_ + 1 : std::min(high + step, most_);
  }
  while (high <= most_ && high - low > 1) {
    const int middle = low + (high - low) / 2;
    (at(middle, replication) != nullptr ? high : low) = middle;
  }
  return high <= most_ ? std::optional(high) : std::nullopt;
}

std::optional<int> Trials::smallest_in_all(int from, int replications) {
  std::optional<int> enough = smallest(from, 0);
  for (int met = 0; enough && met < replications;) {
    if (at(*enough, met) != nullptr) ++met;
    else enough = smallest(*enough + 1, met), met = 0;
  }
  return enough;
}

double Trials::margin(int replicas, int replication) const { return *runs_.at({replicas, replication}).margin; }

std::vector<int> Trials::nearest_first(int replicas, int replications) const {
  std::vector<int> order;
  for (int i = 0; i < replications; ++i) order.push_back(i);
  std::ranges::stable_sort(order, [&](int a, int b) { return margin(replicas, a) < margin(replicas, b); });
  return order;
}

std::string Trials::last_miss(int each) {
  if (!missed_) return "";
  const auto [replicas, replication, requests] = *missed_;
  point_.fleet.replicas = replicas;
  const std::int64_t asked = std::exchange(point_.workload.requests, requests);
  const ServingRun whole = point_.run(seed_of_replication(seed_, replication), targets_);
  point_.workload.requests = asked;
  const int prompts = point_.fleet.prefill_replicas;
  const std::string why = missed_target(whole, point_.limits, targets_).value_or("");
  // What happens until the first token is the prefill servers' doing, however many others decode.
  const bool by_prompts = prompts > 0 && (whole.by_prompts || why.starts_with("ttft"));
  return "; with " + std::to_string((replicas + prompts) * each) +
         (prompts > 0 ? ", " + std::to_string(prompts * each) + " of them for prompts, " : ", ") + why +
         (by_prompts ? ": more \"prefill_replicas\" are needed" : "");
}

}  // namespace draftline
