// SPDX-License-Identifier: Apache-2.0
// What a fleet bears and up to which load speculation pays, however the question is put.
#include "sim/capacity.h"

#include <cmath>
#include <fstream>

#include "sim/advice.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

const std::string kEagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.7, 0.6]}})";

FleetOption fleet_of(const std::string& workload, const std::string& targets) {
  const FreshFolder folder;
  std::ofstream(folder.path() / "slow_first.csv") << "num_prefill_tokens,num_decode_tokens\n30000,2\n" + [] {
    std::string rows;
    for (int i = 0; i < 60; ++i) rows += "100,20\n";
    return rows;
  }();
  const auto file = folder.path() / "s.json";
  std::ofstream(file) << with(R"("workload": )" + workload + R"(, "slo": )" + targets);
  ServingSweep sweep(file, kData);
  sweep.validate();
  return smallest_fleet(sweep, 0, {}, 64, 1);
}

Advice advice_of(const std::string& workload) {
  const FreshFolder folder;
  const auto file = folder.path() / "s.json";
  std::ofstream(file) << with(R"("workload": )" + workload, kEagle);
  Sweep sweep(file, kData);
  sweep.validate();
  ServingSweep serving(with_arrivals(sweep.scenario()), kData);
  serving.validate();
  return advise(sweep, 0, {1}, &serving, 1);
}

}  // namespace

TEST_CASE("what a replica bears does not depend on the load that was asked about") {
  const auto at = [](const std::string& rate) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": ")" + rate + R"( /s"}, "requests": 600})",
                    R"({"ttft_p99": "500 ms", "tpot_p99": "20 ms"})");
  };
  const FleetOption idle = at("0.1"), busy = at("8");
  REQUIRE(idle.obstacle.empty());
  REQUIRE(busy.obstacle.empty());
  CHECK(idle.capacity.value == Approx(busy.capacity.value).epsilon(0.05));
}

TEST_CASE("requests of the warm-up are no obstacle of a plan") {
  const FleetOption o = fleet_of(R"({"arrivals": {"process": "poisson", "rate": "0.1 /s"}, "warm_up": 1, "requests": 61,
                                     "lengths": {"trace": "slow_first.csv"}})",
                                 R"({"ttft_p99": "200 ms"})");
  CHECK(o.obstacle == "");
}

TEST_CASE("a fleet that must refuse requests is no option") {
  const FleetOption o = fleet_of(R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 100, "lengths":
                                     {"prompt": 100, "output": {"distribution": "uniform", "least": 1, "most": 1000000}}})",
                                 R"({"ttft_p99": "1 h"})");
  CHECK(o.obstacle.find(" tokens do not fit the KV pool of ") != std::string::npos);
}

TEST_CASE("the load up to which speculation pays knows no warm-up, and is not asked of what has none") {
  const std::string poisson = R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": )";
  const auto with_warm_up = advice_of(poisson + R"(600, "warm_up": 60})").rate,
             without = advice_of(poisson + "600}").rate;
  REQUIRE(with_warm_up);
  REQUIRE(without);
  CHECK(with_warm_up->pays_to.value == Approx(without->pays_to.value).epsilon(0.1));
  const auto few = advice_of(poisson + "20}").rate;
  REQUIRE(few);
  CHECK(few->too_few);
  CHECK_FALSE(advice_of(R"({"arrivals": {"process": "closed", "concurrency": 4}, "requests": 50})").rate);
}

}  // namespace draftline
