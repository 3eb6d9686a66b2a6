// SPDX-License-Identifier: Apache-2.0
// Serving scenarios, point by point: step times from the predictor, and simulations with one or more seeds.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <tuple>
#include <variant>

#include "core/files.h"
#include "core/interval.h"
#include "predict/sweep.h"
#include "sim/estimate.h"
#include "sim/serving_point.h"

namespace draftline {

// Runs of the first seed in which every step is at one end of its 90 % interval. Their times are by the clock of a
// StepScale.
struct StepEnds {
  RatioInterval step;  // over the predicted time
  ServingRun shortest, longest;
};

struct ServingResult {
  std::vector<ServingRun> runs;  // one for each seed
  // A run of the first seed with the oracle policy; none if there is no choice of draft length.
  std::optional<ServingRun> oracle;
  std::optional<StepEnds> ends;
  std::string no_interval;  // the reason if there are no `ends`, as a sentence
  // The ranks of a server with data-parallel attention count as servers here.
  std::int64_t kv_blocks = 0;  // of each server
  int batch_limit = 0;         // largest number of sequences in a step, from max_num_seqs and the token budget
  int servers = 1;
  int devices = 1;                      // of all servers, drafters' own included
  std::optional<double> power_watts;    // design power of one device; a mean where a drafter has a device of its own
  std::optional<double> cost_per_hour;  // of all devices, in whole nodes where they come so; none without prices
  std::vector<std::string> warnings;    // sentences
};

struct ServingOutcome {
  Point point;
  std::variant<ServingResult, std::string> result;  // the string is the reason why the point was skipped
};

// How far the steps of a server may be from their prediction.
struct StepOutlook {
  std::optional<RatioInterval> step;  // 90 % interval over the prediction; none: the error is unknown
  Caveats caveats;
};

// Each thread needs its own.
class ServingSweep {
 public:
  // Throws InputErrors if the scenario is wrong.
  ServingSweep(const std::filesystem::path& scenario, const Data&);
  ServingSweep(Document scenario, const Data&);
  ServingSweep(Scenario, const Data&);
  const Scenario& scenario() const { return sweep_.scenario(); }
  // Builds every method once. Throws InputErrors with all mistakes, if there is no workload, or if only some of the
  // devices (drafters' included) have prices.
  void validate();

  struct Options {
    std::uint64_t seed = 0;
    bool oracle = true;                          // also run the oracle policy
    bool intervals = false;                      // also run with steps at the ends of their interval
    ServingObserver* observer = nullptr;         // of the first run
    std::function<void(std::int64_t)> progress;  // receives the number of requests that have arrived
  };
  void watch(ServingObserver* watcher) { watcher_ = watcher; }  // of runs without an observer; must outlive the sweep
  ServingOutcome at(std::size_t index, const Options&);         // contains the reason if the point can't run
  std::unique_ptr<ServingPoint> prepare(const Point&);          // throws InputErrors if it can't run
  // Warnings on modes of steps that the run's policy brings.
  std::vector<std::string> warnings_of_steps(const Point&, const ServingPoint&, const ServingResult&);
  // A server's step with `in_flight` requests of the workload's mean lengths.
  StepOutlook outlook(const Point&, const ServingPoint&, double in_flight);

 private:
  ServingResult serve(const Point&, const Options&);
  void add_ends(ServingResult&, const Point&, ServingPoint&, std::uint64_t seed);
  std::shared_ptr<MethodPrices> prices(const Point&, const Setup&, int stages);
  std::vector<std::unique_ptr<MethodChoice>> variants(const Setup&, const MethodChoice&);
  const DraftOutcomes& outcomes(const Point&, const Setup&, const Workload&);
  void add_drafting(ServingPoint&, const Point&);
  void add_prefill_servers(ServingPoint&, const Point&);
  Sweep sweep_;
  ServingObserver* watcher_ = nullptr;
  DrawnRequests drawn_;
  // Outcomes by transformer, engine, method, rows, texts, and whether draws are stored. Points on different devices
  // share them, draws included.
  std::map<std::tuple<std::size_t, std::size_t, std::size_t, int, bool, bool>, DraftOutcomes> outcomes_;
  // The prices of the last method and device, by pipeline stages, devices and engine, which neighbouring points share.
  std::optional<Point> priced_;
  std::map<std::tuple<int, Parallelism, const Engine*>, std::shared_ptr<MethodPrices>> prices_;
};

}  // namespace draftline
