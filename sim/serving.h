// SPDX-License-Identifier: Apache-2.0
// Serving scenarios, point by point: step times from the predictor, and simulations with one or more seeds.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <variant>

#include "core/files.h"
#include "core/interval.h"
#include "predict/sweep.h"
#include "sim/fleet.h"
#include "sim/shared_runs.h"
#include "sim/steady_run.h"

namespace draftline {

struct ServingResult {
  std::vector<ServingRun> runs;  // one for each seed
  // The first seed with the oracle policy; none if there is no draft length to choose.
  std::optional<ServingRun> oracle;
  // A server's parts (data-parallel attention) count as servers here.
  std::int64_t kv_blocks = 0;  // of each server
  int batch_limit = 0;         // largest number of sequences in a step, by max_num_seqs and the token budget
  int servers = 1;
  int devices = 1;         // of all servers, drafters' own included
  double power_watts = 0;  // design power of one device; 0: unknown. A mean where a drafter has a device of its own
  std::optional<double> cost_per_hour;  // of all devices, in whole nodes where they come so; none without prices
  std::vector<std::string> warnings;    // sentences
};

struct ServingOutcome {
  Point point;
  std::variant<ServingResult, std::string> result;  // the string is the reason why the point was skipped
};

// A figure over all replications: their mean and, if there are several, the Student-t interval of the mean.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};
Estimate estimate(std::span<const double> values, double confidence = 0.95);
template <class Run, class Figure>
Estimate estimate(const std::vector<Run>& runs, Figure figure) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(figure(run));
  return estimate(values);
}

// Requests in flight in the steady state, by Little's law: rate x mean end-to-end latency. 0 for a closed loop.
double requests_in_flight(const Workload&, const ServingRun&);
// The most requests to which a simulation is extended, unless the workload has more.
constexpr std::int64_t kMostRequests = 1 << 18;
// The requests of a simulation that is repeated with more: four times as many, or `enough` if that is more; at most
// kMostRequests.
std::int64_t more_requests(const Workload&, double enough = 0);
// Whether the workload has at least four times as many requests as are in flight. With fewer, arrivals end before the
// servers are as full as in the steady state.
bool fills_servers(const Workload&, const ServingRun&);

// The seed of a replication; of the first it is `seed` itself. Points that are compared have the same seeds, and so the
// same requests (common random numbers).
std::uint64_t seed_of_replication(std::uint64_t seed, int replication);

class StepTable;

// The step times of a method on one device. They do not depend on the workload, the scheduler or the number of
// replicas. Points share its runs, too.
struct MethodPrices {
  std::vector<std::unique_ptr<MethodChoice>> by_drafts;  // by draft length; null: the method can't draft that many
  std::unique_ptr<StepTable> table;
  SharedRuns<ServingRun> unloaded{8};  // histograms are large
  SharedRuns<SteadyRun> steady{512};
  ~MethodPrices();
};

// One point that is ready to be simulated. The workload and the fleet may be changed between runs; step times that are
// known are reused.
struct ServingPoint {
  ServingPoint() = default;
  ServingPoint(const ServingPoint&) = delete;  // `drafting` refers to its own outcomes and confidence
  Setup setup;
  Workload workload;
  SchedulerLimits limits;
  FleetShape fleet;
  Drafting drafting;
  ServingRun run(std::uint64_t seed, const LatencyTargets&, ServingObserver* = nullptr,
                 const std::function<void(std::int64_t)>& progress = {});        // as Fleet::run()
  ServingRun run_while_targets_hold(std::uint64_t seed, const LatencyTargets&);  // as Fleet's
  // One request at a time, on one replica. Points may share the run; it is valid until the next one without load.
  const ServingRun& run_without_load(std::uint64_t seed, const LatencyTargets&);
  RunInputs run_inputs(std::uint64_t seed, const LatencyTargets&) const;  // of a run with this workload and fleet

  DraftOutcomes outcomes;                     // the target of drafting.outcomes
  std::optional<DraftConfidence> confidence;  // the target of drafting.confidence
  std::shared_ptr<MethodPrices> prices;
  std::vector<std::string> choice;  // of RunInputs
};

// Each thread needs its own.
class ServingSweep {
 public:
  // Throws InputErrors if the scenario is wrong.
  ServingSweep(const std::filesystem::path& scenario, const Data&);
  ServingSweep(Document scenario, const Data&);
  ServingSweep(Scenario, const Data&);
  const Scenario& scenario() const { return sweep_.scenario(); }
  // Builds every method once. Throws InputErrors with all mistakes, if there is no workload, or if some devices have a
  // price and others, or drafters' own, don't.
  void validate();

  struct Options {
    std::uint64_t seed = 0;
    bool oracle = true;                          // also run the oracle policy
    ServingObserver* observer = nullptr;         // of the first run
    std::function<void(std::int64_t)> progress;  // receives the number of requests that have arrived
  };
  ServingOutcome at(std::size_t index, const Options&);  // a point that can't run has the reason
  std::unique_ptr<ServingPoint> prepare(const Point&);   // throws InputErrors if it can't run
  // A step of a server with so many requests in flight, of the workload's mean lengths, at the upper end of its 90 %
  // interval, over its prediction; none: its error is unknown.
  std::optional<double> slowest_step(const Point&, const ServingPoint&, double in_flight);

 private:
  ServingResult serve(const Point&, const Options&);
  std::shared_ptr<MethodPrices> prices(const Point&, const Setup&, int stages);
  std::vector<std::unique_ptr<MethodChoice>> variants(const Setup&, const MethodChoice&);
  const DraftOutcomes& outcomes(const Point&, const Setup&, bool from_start);
  void add_drafting(ServingPoint&, const Point&);
  Sweep sweep_;
  DrawnRequests drawn_;
  // Outcomes by transformer, engine and method, rows and texts: points on other devices have the same, draws included.
  std::map<std::tuple<std::size_t, std::size_t, std::size_t, int, bool>, DraftOutcomes> outcomes_;
  // The prices of the last method and device, by pipeline stages; neighbouring points share them.
  std::optional<Point> priced_;
  std::map<int, std::shared_ptr<MethodPrices>> prices_;
};

}  // namespace draftline
