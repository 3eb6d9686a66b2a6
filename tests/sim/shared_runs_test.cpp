// SPDX-License-Identifier: Apache-2.0
// What the simulations of a plan share, and when they end.
#include <memory>
#include <set>
#include <tuple>

#include "sim/capacity.h"
#include "tests/catch.h"
#include "tests/inputs/scenario_text.h"
#include "tests/sim/plain_cost.h"

namespace draftline {

namespace {

using Target = LatencyTargets::Target;

bool meets_all(const ServingFigures& f, const LatencyTargets& targets) {
  for (const Target& t : targets.targets)
    if (!f.meets(t)) return false;
  return true;
}

std::vector<std::tuple<Ticks, int, int>> requests_of(const Workload& w, std::uint64_t seed) {
  std::vector<std::tuple<Ticks, int, int>> all;
  Requests requests(w, seed);
  while (const auto r = requests.next()) all.emplace_back(r->arrival, r->prompt, r->output);
  return all;
}

std::vector<int> accepted_by(const DraftOutcomes& outcomes, std::uint64_t seed, int tokens) {
  std::vector<int> all;
  for (std::int64_t request = 0; request < 5; ++request) {
    DraftOutcomes::Text text = outcomes.text(seed, request, 0, tokens);
    for (int position = 0; position < tokens; ++position) all.push_back(outcomes.accepted(text, position));
  }
  return all;
}

std::unique_ptr<ServingSweep> planned(const std::string& devices) {
  auto sweep = std::make_unique<ServingSweep>(
      Document::from_text(R"({"device": )" + devices + R"(, "transformer": "llama-3.1-8b", "engine": "vllm",
        "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}},
        "workload": {"arrivals": {"process": "poisson", "rate": ["2 /s", "40 /s"]}, "requests": 60}, "replications": 2,
        "scheduler": {"max_num_seqs": [8, 64]}, "policy": ["fixed", {"off_above": 4}],
        "slo": {"ttft_p99": "1 s", "tpot_p99": "30 ms"}})",
                          "s.json"),
      kData);
  sweep->validate();
  return sweep;
}

}  // namespace

TEST_CASE("a run that ends once a target is sure to be missed says of the targets what the whole run says", "[S17]") {
  int met = 0, cut_short = 0;
  for (const double rate : {1e3, 2e5, 4e5, 5e5, 6e5, 1e6, 4e6})
    for (const double limit : {2e-6, 5e-6, 1e-5, 1e-4})
      for (const double share : {0.0, 0.5, 0.99, 1.0})
        for (const auto of : {Target::Of::ttft, Target::Of::tpot, Target::Of::e2e}) {
          const LatencyTargets targets{{{of, share, {limit}, "a target"}}};
          Workload w = poisson(rate, 400, FixedLength{20}, UniformLength{1, 40});
          w.warm_up = 20;
          PlainCost cost;
          SchedulerLimits limits;
          limits.max_num_seqs = 16;
          Fleet fleet({}, limits, {}, cost);
          const ServingRun whole = fleet.run(w, 7, targets), part = fleet.run_while_targets_hold(w, 7, targets);
          const bool meets = meets_all(whole.figures, targets);
          INFO(rate << " /s, share " << share << ", limit " << limit);
          CHECK((!part.cut_short && meets_all(part.figures, targets)) == meets);
          if (part.cut_short) {
            CHECK(part.figures.steps < whole.figures.steps);
          } else {
            CHECK(part.figures.fingerprint() == whole.figures.fingerprint());
            CHECK(part.diverges == whole.diverges);
          }
          met += meets;
          cut_short += part.cut_short;
        }
  CHECK(met > 50);
  CHECK(cut_short > 50);
}

TEST_CASE("kept draws are those of a run that draws its own, whichever seeds and lengths take turns", "[S15]") {
  Workload w = poisson(3, 50, GammaLength{800, 600}, ExponentialLength{90});
  w.arrivals.kind = ArrivalProcess::Kind::gamma;
  w.arrivals.cv = 2;
  Workload longer = w;
  longer.prompt = GammaLength{900, 600};
  DrawnRequests drawn;
  for (int turn = 0; turn < 2; ++turn)
    for (const std::uint64_t seed : {1, 2, 3})
      for (const Workload& own : {w, longer}) {
        Workload kept = own;
        kept.drawn = &drawn;
        CHECK(requests_of(kept, seed) == requests_of(own, seed));
      }

  const auto rates = std::vector<double>{0.8, 0.6, 0.5};
  const DraftOutcomes own = DraftOutcomes::from_rates(rates);
  DraftOutcomes kept = DraftOutcomes::from_rates(rates);
  kept.keep_draws();
  for (const int tokens : {100, 30, 200, 200})
    for (const std::uint64_t seed : {1, 2, 3}) CHECK(accepted_by(kept, seed, tokens) == accepted_by(own, seed, tokens));
  DraftOutcomes::Text too_long = kept.text(4, 0, 0, 1 << 30), no_length = kept.text(1, 0);
  CHECK(too_long.kept == nullptr);  // there is no room for it
  CHECK(no_length.kept == nullptr);
  CHECK(kept.accepted(no_length, 7) == accepted_by(own, 1, 100)[7]);
}

TEST_CASE("options that differ in load and batch limit alone share their run without load") {
  const auto sweep = planned(R"("h100-sxm")");
  const Scenario& s = sweep->scenario();
  REQUIRE(s.points() == 8);
  std::set<const ServingRun*> runs;
  std::set<std::shared_ptr<MethodPrices>> prices;
  for (std::size_t i = 0; i < s.points(); ++i) {
    const auto point = sweep->prepare(point_at(s, i));
    prices.insert(point->prices);
    runs.insert(&point->run_without_load(5, s.serving->targets));
  }
  CHECK(runs.size() == 2);    // one for each policy
  CHECK(prices.size() == 2);  // lengths by batch take other graphs
}

TEST_CASE("options share the runs of a load in which no batch is full", "[S18]") {
  const auto sweep = planned(R"("h100-sxm")");
  const LatencyTargets& targets = sweep->scenario().serving->targets;
  const auto pair = [&](std::size_t of_8, std::size_t of_64) {
    const auto small = sweep->prepare(point_at(sweep->scenario(), of_8)),
               large = sweep->prepare(point_at(sweep->scenario(), of_64));
    REQUIRE(small->limits.max_num_seqs == 8);
    REQUIRE(large->limits.max_num_seqs == 64);
    REQUIRE(mean_rate(small->workload) == mean_rate(large->workload));
    const SteadyRun first = steady_run(*large, 5, targets);
    bool simulated = false;
    large->prices->steady.of(small->run_inputs(5, targets), [&] {
      simulated = true;
      return first;
    });
    return simulated;
  };
  CHECK_FALSE(pair(0, 2));  // 2 requests/s
  CHECK(pair(4, 6));        // 40 requests/s
}

TEST_CASE("limits that grant what a run asked for change nothing") {
  int alike = 0, others = 0;
  for (const auto batching : {Batching::continuous, Batching::prefill_first, Batching::static_batching})
    for (const int parts : {1, 2})
      for (const bool shared : {false, true}) {
        Workload w = poisson(2e5, 200, FixedLength{60}, UniformLength{1, 60});
        if (shared) w.shared_prefix = SharedPrefix{32, 5};
        std::vector<std::pair<SchedulerLimits, ServingRun>> runs;
        for (const int sequences : {3, 12, 40, 200})
          for (const std::int64_t blocks : {20, 60, 150, 400, 1000}) {
            SchedulerLimits limits;
            limits.batching = batching;
            limits.max_num_seqs = sequences;
            limits.kv_blocks = blocks;
            FleetShape shape;
            shape.parts = parts;
            PlainCost cost;
            runs.emplace_back(limits, Fleet(shape, limits, {}, cost).run(w, 7, {}));
          }
        for (const auto& [limits, run] : runs)
          for (const auto& [granted, same] : runs) {
            if (run.demand.granted_by(granted)) {
              CHECK(same.figures.fingerprint() == run.figures.fingerprint());
              CHECK(same.figures.steps == run.figures.steps);
              CHECK(same.figures.reused_tokens == run.figures.reused_tokens);
              ++alike;
            }
            others += same.figures.fingerprint() != run.figures.fingerprint();
          }
      }
  CHECK(alike > 100);
  CHECK(others > 100);
}

TEST_CASE("an option of a plan is what it is alone, whatever was looked at before", "[once]") {
  const auto all = planned(R"(["h100-sxm", "l40s"])");
  const std::size_t options = all->scenario().points();
  REQUIRE(options == 16);
  int feasible = 0;
  for (std::size_t i = 0; i < options; ++i) {
    const auto fresh = planned(R"(["h100-sxm", "l40s"])");
    const FleetOption one = smallest_fleet(*fresh, i, {}, 64, 3), same = smallest_fleet(*all, i, {}, 64, 3);
    CHECK(same.obstacle == one.obstacle);
    CHECK(same.replicas == one.replicas);
    CHECK(same.capacity == one.capacity);
    CHECK(same.capacity_at_least == one.capacity_at_least);
    CHECK(same.replicas_if_slowest == one.replicas_if_slowest);
    REQUIRE(same.runs.size() == one.runs.size());
    for (std::size_t r = 0; r < one.runs.size(); ++r) {
      CHECK(same.runs[r].ttft.p99 == one.runs[r].ttft.p99);
      CHECK(same.runs[r].e2e.mean == one.runs[r].e2e.mean);
      CHECK(same.alone[r].cost == one.alone[r].cost);
    }
    feasible += !one.obstacle;
  }
  CHECK(feasible > 2);
}

}  // namespace draftline
