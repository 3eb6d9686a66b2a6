// SPDX-License-Identifier: Apache-2.0
// Serving scenarios, point by point: the predictor's prices, the simulator's run, replicated with other seeds.
#pragma once
#include <functional>
#include <optional>
#include <tuple>
#include <variant>

#include "core/json_writer.h"
#include "predict/sweep.h"
#include "sim/fleet.h"

namespace draftline {

struct ServingResult {
  std::vector<ServingRun> runs;      // of each seed
  std::optional<ServingRun> oracle;  // the first seed again, with drafts chosen by who knows what would be accepted
  std::int64_t kv_blocks = 0;
  int batch_limit = 0;  // sequences that a step can hold within its tokens
  int servers = 1;
  int devices = 1;
  double power_watts = 0, price = 0;  // of a device; per hour; 0: unknown
  std::vector<std::string> warnings;

  static auto members(auto& s) {
    return std::tie(s.runs, s.oracle, s.kv_blocks, s.batch_limit, s.servers, s.devices, s.power_watts, s.price,
                    s.warnings);
  }
};

struct ServingOutcome {
  Point point;
  std::variant<ServingResult, std::string> result;  // or why the point was skipped

  static auto members(auto& s) { return std::tie(s.point, s.result); }
};

// A figure of all replications: their mean, and a Student-t interval where there are several.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};
Estimate estimate(const ServingResult&, const std::function<double(const ServingRun&)>&, double confidence = 0.95);

class StepTable;

// A method's prices on one device, whatever the workload, the scheduler and the number of replicas.
struct MethodPrices {
  std::vector<std::unique_ptr<MethodChoice>> by_drafts;  // the method when it drafts so many; null: it can't
  std::unique_ptr<StepTable> table;
  ~MethodPrices();
};

// One point, ready to be run: under other loads, on other fleets, with other seeds, at the prices it has met.
struct ServingPoint {
  Setup setup;
  Workload workload;
  SchedulerLimits limits;
  FleetShape fleet;
  Drafting drafting;
  ServingRun run(std::uint64_t seed, const LatencyTargets&, ServingObserver* = nullptr,
                 const std::function<void(std::int64_t)>& progress = {});

  DraftOutcomes outcomes;  // drafting points to it
  std::shared_ptr<MethodPrices> prices;
};

class ServingSweep {
 public:
  ServingSweep(const std::filesystem::path& scenario, const std::filesystem::path& data);
  ServingSweep(Document scenario, const std::filesystem::path& data);
  ServingSweep(Scenario, const std::filesystem::path& data);
  const Scenario& scenario() const { return sweep_.scenario(); }
  void validate();

  struct Options {
    std::uint64_t seed = 0;
    bool oracle = true;
    ServingObserver* observer = nullptr;  // of the first run
    std::function<void(std::int64_t)> progress;
  };
  ServingOutcome at(std::size_t index, const Options&);
  std::unique_ptr<ServingPoint> prepare(const Point&);  // InputErrors if it can't run

 private:
  ServingResult serve(const Point&, const Options&);
  std::shared_ptr<MethodPrices> prices(const Point&, const Setup&, int stages);
  std::vector<std::unique_ptr<MethodChoice>> variants(const Setup&, const MethodChoice&);
  Sweep sweep_;
  DrawnRequests drawn_;
  // Prices of the method and device that were asked for last, by stages: neighbours in the product share them.
  std::optional<Point> priced_;
  std::map<int, std::shared_ptr<MethodPrices>> prices_;
};

}  // namespace draftline
