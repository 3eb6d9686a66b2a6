// SPDX-License-Identifier: Apache-2.0
// Results of serving runs and plans as another rank receives them.
#include <fstream>

#include "core/packed.h"
#include "sim/advice_sweep.h"
#include "sim/capacity.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

void check_same(const ServingFigures& a, const ServingFigures& b) {
  for (const auto h : {&ServingFigures::ttft, &ServingFigures::tpot, &ServingFigures::inter_token, &ServingFigures::e2e,
                       &ServingFigures::queueing}) {
    CHECK((a.*h).count() == (b.*h).count());
    CHECK((a.*h).mean() == (b.*h).mean());
    for (const double share : {0.1, 0.5, 0.9, 0.99}) CHECK((a.*h).quantile(share) == (b.*h).quantile(share));
  }
  CHECK(a.throughput() == b.throughput());
  CHECK(a.goodput() == b.goodput());
  CHECK(a.acceptance_length() == b.acceptance_length());
  CHECK(a.busy_share() == b.busy_share());
  CHECK(a.host_share() == b.host_share());
  CHECK(a.mean_blocks() == b.mean_blocks());
  CHECK(a.mean_in_system() == b.mean_in_system());
  CHECK(a.preemptions == b.preemptions);
  CHECK(a.most_blocks == b.most_blocks);
  CHECK(a.fingerprint() == b.fingerprint());
}

Document served_scenario() {
  return Document::from_text(
      with(R"("workload": {"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 60}, "replications": 2,
              "slo": {"ttft_p99": "1 s"})",
           R"([{"name": "autoregressive"}, {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}])"),
      "s.json");
}

}  // namespace

TEST_CASE("a served point comes back from its bytes with every figure; a skipped one with its reason", "[S20]") {
  ServingSweep sweep(served_scenario(), kData);
  sweep.validate();
  const ServingOutcome one =
      sweep.at(1, {.seed = 3, .oracle = true, .intervals = true, .observer = nullptr, .progress = {}});
  const auto same = unpack<ServingOutcome>(pack(one));
  CHECK(same.point == one.point);
  const auto &a = std::get<ServingResult>(one.result), &b = std::get<ServingResult>(same.result);
  REQUIRE(b.runs.size() == a.runs.size());
  for (std::size_t i = 0; i < a.runs.size(); ++i) check_same(a.runs[i].figures, b.runs[i].figures);
  REQUIRE(b.oracle.has_value());
  check_same(a.oracle->figures, b.oracle->figures);
  REQUIRE(b.ends.has_value());
  CHECK(b.ends->step.high == a.ends->step.high);
  check_same(a.ends->longest.figures, b.ends->longest.figures);
  CHECK(b.no_interval == a.no_interval);
  CHECK(b.kv_blocks == a.kv_blocks);
  CHECK(b.batch_limit == a.batch_limit);
  CHECK(b.servers == a.servers);
  CHECK(b.devices == a.devices);
  CHECK(b.power_watts == a.power_watts);
  CHECK(b.cost_per_hour == a.cost_per_hour);
  CHECK(b.warnings == a.warnings);

  const auto skipped = unpack<ServingOutcome>(pack(ServingOutcome{one.point, "does not fit"}));
  CHECK(std::get<std::string>(skipped.result) == "does not fit");
}

TEST_CASE("an option of a plan and an advice come back from their bytes") {
  ServingSweep sweep(served_scenario(), kData);
  sweep.validate();
  const FleetOption one = smallest_fleet(sweep, 0, Prices{}, 64, 0);
  const auto same = unpack<FleetOption>(pack(one));
  CHECK(same.point == one.point);
  CHECK(same.obstacle == one.obstacle);
  CHECK(same.can_run == one.can_run);
  CHECK(same.replicas == one.replicas);
  CHECK(same.devices == one.devices);
  CHECK(same.cost == one.cost);
  CHECK(same.capacity == one.capacity);
  REQUIRE(same.runs.size() == one.runs.size());
  for (std::size_t i = 0; i < one.runs.size(); ++i) {
    CHECK(same.runs[i].throughput == one.runs[i].throughput);
    CHECK(same.runs[i].ttft.p99 == one.runs[i].ttft.p99);
    CHECK(same.runs[i].tpot.p99 == one.runs[i].tpot.p99);
    CHECK(same.runs[i].e2e.mean == one.runs[i].e2e.mean);
  }
  CHECK(same.load == one.load);
  REQUIRE(same.alone.size() == one.runs.size());
  CHECK(same.alone.front().e2e == one.alone.front().e2e);

  AdviceSweep advice(served_scenario(), kData, false);
  const Advice said = advice.at(0, 0), again = unpack<Advice>(pack(said));
  CHECK(again.point == said.point);
  CHECK(again.largest_batch == said.largest_batch);
  CHECK(again.pays_at == said.pays_at);
  REQUIRE(!said.batches.empty());
  REQUIRE(again.batches.size() == said.batches.size());
  CHECK(again.batches.back().speedup == said.batches.back().speedup);
  CHECK(again.batches.back().losses.total() == said.batches.back().losses.total());
  CHECK(again.best.size() == said.best.size());
  CHECK(again.rate.has_value() == said.rate.has_value());
}

}  // namespace draftline
