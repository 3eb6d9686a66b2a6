// SPDX-License-Identifier: Apache-2.0
// The figures of `plan` (docs/output.md): a fleet that meets the targets, or the reason why there is none.
#pragma once
#include <string>

#include "reports/figure.h"
#include "sim/capacity.h"

namespace draftline {

struct PlannedFleet {
  const FleetOption& option;
  bool pareto;      // not dominated() by another option (sim/capacity)
  std::string why;  // why it is recommended or not
  bool meets_targets() const { return option.obstacle.empty(); }
};

// `priced`: whether the scenario has prices; otherwise the cost is the number of devices.
inline Figures<PlannedFleet> plan_figures(bool priced = true) {
  using P = const PlannedFleet&;
  constexpr auto predicted = FigureKind::predicted;
  const auto of = [](auto get) {  // of a fleet that meets the targets
    return [get](P p) { return p.meets_targets() ? Reading(get(p.option)) : Reading(); };
  };
  const auto run = [&of](auto get) { return of([get](const FleetOption& o) { return get(o.run->figures); }); };
  using O = const FleetOption&;
  using F = const ServingFigures&;
  Figures<PlannedFleet> all{
      // clang-format off
      {"meets_targets", "", "", "", {}, [](P p) { return p.meets_targets(); }, "some number of replicas meets them"},
      {"replicas", "replicas", "", "", {}, of([](O o) { return o.replicas; }), "the smallest number that will do"},
      {"devices", "devices", "devices", "", {}, of([](O o) { return o.devices; }), "of all replicas"},
      {"cost", "cost", "cost/h", priced ? "price/h" : "devices", predicted, of([](O o) { return o.cost; }),
       "by `prices`; without them, devices",
       {.text = to_digits<4>, .show_if = [](const Scenario& s) { return !s.serving->prices.empty(); }}},
      {"capacity", "capacity_per_s", "max req/s", "requests/s", predicted, of([](O o) { return o.capacity; }),
       "capacity: the largest load that one replica serves within the latency targets",
       {.text = [](double rate) { return to_text(PerSecond{rate}); }}},
      {"throughput", "", "", "tokens/s", predicted, run([](F f) { return f.throughput(); }),
       "output tokens over the time from the first arrival to the last token"},
      {"ttft_p99", "ttft_p99_s", "TTFT p99", "s", predicted, run([](F f) { return f.ttft.quantile(0.99); }),
       "time to first token, 99th percentile"},
      {"tpot_p99", "tpot_p99_s", "TPOT p99", "s", predicted, run([](F f) { return f.tpot.quantile(0.99); }),
       "time per output token, 99th percentile"},
      {"e2e_mean", "e2e_mean_s", "e2e", "s", predicted, run([](F f) { return f.e2e.mean(); }),
       "end-to-end latency, mean"},
      {"why", "why", "why", "", {}, [](P p) { return p.why; },
       "cost and speed beside those recommended, or what misses"},
      {"", "pareto", "", "", {}, [](P p) { return p.pareto; }, "no other option is cheaper and faster"},
      {"pareto", "", "", "", {}, [](P p) { return p.meets_targets() ? Reading(p.pareto) : Reading(); },
       "the same, of options that meet the targets"},
      // clang-format on
  };
  return all;
}

}  // namespace draftline
