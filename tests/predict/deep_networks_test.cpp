// SPDX-License-Identifier: Apache-2.0
// What it costs to predict a network of many layers on a CPU, where the time of each weight depends on when it was last
// read.
#include <ctime>

#include "tests/inputs/scenario_text.h"

namespace draftline {

static double cpu_seconds_of_prediction(int layers) {
  const std::string target =
      R"({"hidden": 64, "heads": 4, "intermediate": 96, "vocabulary": 1000, "layers": )" + std::to_string(layers) + "}";
  const ScenarioText text(R"({"device": "cpu", "engine": "hf-eager", "transformer": )" + target +
                          R"(, "method": {"name": "self_spec", "acceptance": {"rate": 0.6}}})");
  const std::clock_t from = std::clock();
  const Outcome o = text.sweep()->at(0);
  REQUIRE(std::holds_alternative<Prediction>(o.result));
  return static_cast<double>(std::clock() - from) / CLOCKS_PER_SEC;
}

TEST_CASE("skipped layers on a CPU: four times the layers take no more than 30 times as long to predict") {
  const double few = cpu_seconds_of_prediction(100);
  CHECK(cpu_seconds_of_prediction(400) < 30 * few);  // 12 times; comparing lines of a step pair by pair took 55
}

}  // namespace draftline
