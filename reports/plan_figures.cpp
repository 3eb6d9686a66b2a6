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
      {"meets_targets", "", "", "", {}, [](P p) { return p.meets_targets(); }, "some number of replicas meets them",
       {}, kPinned},
      {"recommended", "", "", "", {}, [](P p) { return p.best; }, "it is the recommended fleet", {}, kPinned},
      {"replicas", "replicas", "", "", {}, of([](O o) { return o.replicas; }), "the smallest number that will do",
       {}, kPinned},
      {"devices", "devices", "devices", "", {}, of([](O o) { return o.devices; }), "of all replicas, drafters' own included"},
      {"nodes", "nodes", "nodes", "", {}, of([](O o) { return o.nodes; }),
       "with `devices_per_node`: whole nodes that hold the devices", {.show_if = comes_in_nodes}},
      {"cost", "cost", "cost/h", priced ? "price/h" : "devices", predicted, of([](O o) { return o.cost; }),
       "by `prices`, of whole nodes; without prices, devices", {.text = to_digits<4>, .show_if = has_prices}},
      {"cost_per_million_tokens", "cost_per_million_tokens", "cost/1M", "price", predicted,
       of([](O o) {
         const Estimate e = estimate(o.runs, [](const FleetRun& r) { return r.throughput.value; });
         return o.cost / 3600 / e.value * 1e6;
       }),
       "of a million output tokens at this load, idle time included",
       {.text = to_digits<3>, .show_if = has_prices, .in_csv_if = has_prices, .detail = true}},
      {"cost_with_spare", "cost_with_spare", "", priced ? "price/h" : "devices", predicted,
       of([](O o) { return o.cost_with_spare; }),
       "with one server more of each kind (N + 1), so that the targets are met while one is out of service"},
      {"capacity", "capacity_per_s", "", "requests/s", predicted, of([](O o) { return o.capacity; }),
       "a replica's share of the largest load that the fleet serves within the latency targets"},
      {"fleet_capacity", "fleet_capacity_per_s", "max req/s", "requests/s", predicted, of([](O o) { return o.fleet_capacity(); }),
       "the largest load that the fleet serves within the latency targets",
       {.text = [](double rate) { return to_text(PerSecond{rate}); }, .detail = true}},
      {"capacity_at_least", "capacity_at_least", "", "", {}, of([](O o) { return o.capacity_at_least; }),
       "the fleet may bear more: the requests are too few to fill it", {}, kPinned},
      {"headroom", "headroom", "headroom", "", predicted, of([](O o) { return o.headroom(); }),
       "how much more load the fleet bears, as a share of the workload's", {.text = percent, .detail = true}},
      {"slowest_step", "slowest_step", "", "", predicted, of([](O o) { return o.slowest_step; }),
       "a step of the requests in flight at the upper end of its 90 % interval, over its prediction"},
      {"replicas_if_slowest", "replicas_if_slowest", "", "", predicted, of([](O o) { return o.replicas_if_slowest; }),
       "the replicas that meet the targets if all steps take so long; none: not twice as many do, or the error is unknown"},
      {"throughput", "", "", "tokens/s", predicted, mean(&FleetRun::throughput),
       "output tokens that the load asks for"},
      {"ttft_p99", "ttft_p99_s", "TTFT p99", "s", predicted, mean(&FleetRun::ttft_p99),
       "time to first token, 99th percentile", {.detail = true}},
      {"tpot_p99", "tpot_p99_s", "TPOT p99", "s", predicted, mean(&FleetRun::tpot_p99),
       "time per output token, 99th percentile", {.detail = true}},
      {"e2e_mean", "e2e_mean_s", "e2e", "s", predicted, mean(&FleetRun::e2e_mean),
       "end-to-end latency, mean", {.detail = true}},
      {"", "", "Pareto", "", {}, [](P p) { return p.pareto ? Reading("*"sv) : Reading(); },
       "`*`: no other option is cheaper and faster"},
      {"why", "why", "why", "", {}, [](P p) { return p.why; },
       "cost and speed beside those recommended, or what misses", {}, kNotPinned},
      {"recommended_in", "recommended_in", "", "", {},
       [](P p) { return p.meets_targets() ? Reading(p.recommended) : Reading(); },
       "replications that alone would recommend it, with as many replicas"},
      {"", "pareto", "", "", {}, [](P p) { return p.pareto; }, "no other option is cheaper and faster"},
      {"pareto", "", "", "", {}, [](P p) { return p.meets_targets() ? Reading(p.pareto) : Reading(); },
       "the same, of options that meet the targets", {}, kPinned},
      // clang-format on
  };
  return all;
}

}  // namespace draftline
