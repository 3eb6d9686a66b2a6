// SPDX-License-Identifier: Apache-2.0
#include "sim/trials.h"

#include <algorithm>
#include <limits>

namespace draftline {

namespace {

// Another workload of a point while it lives.
class WorkloadChange {
 public:
  WorkloadChange(ServingPoint& point, Workload other)
      : point_(point), asked_(std::exchange(point.workload, std::move(other))) {}
  ~WorkloadChange() { point_.workload = asked_; }
  WorkloadChange(const WorkloadChange&) = delete;
  WorkloadChange& operator=(const WorkloadChange&) = delete;

 private:
  ServingPoint& point_;
  const Workload asked_;
};

}  // namespace

const FleetRun* Trials::at(int replicas, int replication) {
  const auto [known, fresh] = runs_.try_emplace({replicas, replication});
  if (fresh) {
    point_.fleet.replicas = replicas;
    const WorkloadChange loaded(point_, at_rate(point_.workload, load_));
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

Trials::Miss Trials::last_miss(int each) {
  if (!missed_) return {};
  const auto [replicas, replication, requests] = *missed_;
  point_.fleet.replicas = replicas;
  Workload loaded = at_rate(point_.workload, load_);
  loaded.requests = requests;
  const WorkloadChange change(point_, loaded);
  const ServingRun whole = point_.run(seed_of_replication(seed_, replication), targets_);
  const int prompts = point_.fleet.prefill_replicas;
  const std::string why = shortfall(whole, point_.limits, targets_).value_or("");
  // What happens until the first token is the prefill servers' doing, however many others decode.
  const bool by_prompts = prompts > 0 && (whole.by_prompts || why.starts_with("ttft"));
  std::string text = "; with " + std::to_string((replicas + prompts) * each);
  if (prompts > 0) text += ", " + std::to_string(prompts * each) + " of them for prompts";
  if (load_ != 1) text += " at " + to_text(PerSecond{mean_rate(loaded)});
  return {text + ", " + why + (by_prompts ? ": more \"prefill_replicas\" are needed" : ""),
          missed_targets(whole, targets_)};
}

}  // namespace draftline
