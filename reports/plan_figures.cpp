// SPDX-License-Identifier: Apache-2.0
#include "reports/plan_figures.h"

#include <string>

namespace draftline {

Figures<PlannedFleet> plan_figures(bool priced) {
  using P = const PlannedFleet&;
  constexpr auto predicted = FigureKind::predicted;
  const auto of = [](auto get) {  // of a fleet that meets the targets
    return [get](P p) { return p.meets_targets() ? Reading(get(p.option)) : Reading(); };
  };
  const auto mean = [&of](auto figure) {  // over the replications, with its interval
    return of([figure](const FleetOption& o) {
      const Estimate e = estimate(o.runs, [&](const FleetRun& r) { return (r.*figure).value; });
      return Reading(e.value, e.interval);
    });
  };
  const auto comes_in_nodes = [](const Scenario& s) {
    return s.serving->prices.usual_devices_per_node || !s.serving->prices.devices_per_node.empty();
  };
  using O = const FleetOption&;
  using std::literals::operator""sv;
  Figures<PlannedFleet> all{
      // clang-format off
      {"meets_targets", "", "", "", {}, [](P p) { return p.meets_targets(); },
       "whether some number of replicas meets the latency targets",
       {}, kPinned},
      {"recommended", "", "", "", {}, [](P p) { return p.best; }, "whether this is the recommended fleet", {}, kPinned},
      {"replicas", "replicas", "", "", {}, of([](O o) { return o.replicas; }),
       "the smallest number of replicas that meets the latency targets",
       {}, kPinned},
      {"devices", "devices", "devices", "", {}, of([](O o) { return o.devices; }),
       "devices of all replicas, drafters' own devices included"},
      {"nodes", "nodes", "nodes", "", {}, of([](O o) { return o.nodes; }),
       "whole nodes that hold the devices, with `devices_per_node`", {.show_if = comes_in_nodes}},
      {"cost", "cost", "cost/h", priced ? "price/h" : "devices", predicted, of([](O o) { return o.cost; }),
       "price of the devices by `prices`, in whole nodes; the number of devices without "
       "prices", {.text = to_digits<4>, .show_if = has_prices}},
      {"cost_per_million_tokens", "cost_per_million_tokens", "cost/1M", "price", predicted,
       of([](O o) {
         const Estimate e = estimate(o.runs, [](const FleetRun& r) { return r.throughput.value; });
         return o.cost / 3600 / e.value * 1e6;
       }),
       "price of a million output tokens at this load, idle time included",
       {.text = to_digits<3>, .show_if = has_prices, .in_csv_if = has_prices, .detail = true}},
      {"cost_with_spare", "cost_with_spare", "", priced ? "price/h" : "devices", predicted,
       of([](O o) { return o.cost_with_spare; }),
       "cost with one more server of each kind (N + 1), which meets the targets while one is out of service"},
      {"capacity", "capacity_per_s", "", "requests/s", predicted, of([](O o) { return o.capacity; }),
       "a replica's share of the largest load that the fleet serves within the latency targets"},
      {"fleet_capacity", "fleet_capacity_per_s", "max req/s",
       "requests/s", predicted, of([](O o) { return o.fleet_capacity(); }),
       "the largest load that the fleet serves within the latency targets",
       {.text = [](double rate) { return to_text(PerSecond{rate}); }, .detail = true}},
      {"capacity_at_least", "capacity_at_least", "", "", {}, of([](O o) { return o.capacity_at_least; }),
       "whether the fleet may serve a larger load, as the requests are too few to fill it", {}, kPinned},
      {"headroom", "headroom", "headroom", "", predicted, of([](O o) { return o.headroom(); }),
       "additional load that the fleet can serve, as a share of the workload's", {.text = percent, .detail = true}},
      {"slowest_step", "slowest_step", "", "", predicted, of([](O o) { return o.slowest_step; }),
       "upper end of the 90 % interval of the step time over its prediction, at the number of requests in flight"},
      {"replicas_if_slowest", "replicas_if_slowest", "", "", predicted, of([](O o) { return o.replicas_if_slowest; }),
       "replicas that meet the targets if every step takes `slowest_step` times as long; absent if twice as many do "
       "not, or if the error is unknown"},
      {"throughput", "", "", "tokens/s", predicted, mean(&FleetRun::throughput),
       "output tokens of the load"},
      {"ttft_p99", "ttft_p99_s", "TTFT p99", "s", predicted, mean(&FleetRun::ttft_p99),
       "time to first token, 99th percentile", {.detail = true}},
      {"tpot_p99", "tpot_p99_s", "TPOT p99", "s", predicted, mean(&FleetRun::tpot_p99),
       "time per output token, 99th percentile", {.detail = true}},
      {"e2e_mean", "e2e_mean_s", "e2e", "s", predicted, mean(&FleetRun::e2e_mean),
       "end-to-end latency, mean", {.detail = true}},
      {"", "", "Pareto", "", {}, [](P p) { return p.pareto ? Reading("*"sv) : Reading(); },
       "`*` if no other option is both cheaper and faster"},
      {"why", "why", "why", "", {}, [](P p) { return p.why; },
       "cost and latency relative to the recommended fleet, or the reason why the targets are missed", {}, kNotPinned},
      {"recommended_in", "recommended_in", "", "", {},
       [](P p) { return p.meets_targets() ? Reading(p.recommended) : Reading(); },
       "number of replications that, taken alone, recommend this option with the same number of replicas"},
      {"", "pareto", "", "", {}, [](P p) { return p.pareto; }, "whether no other option is both cheaper and faster"},
      {"pareto", "", "", "", {}, [](P p) { return p.meets_targets() ? Reading(p.pareto) : Reading(); },
       "whether no other option that meets the targets is both cheaper and faster", {}, kPinned},
      // clang-format on
  };
  return all;
}

}  // namespace draftline
