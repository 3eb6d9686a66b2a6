// SPDX-License-Identifier: Apache-2.0
#include "inputs/expert_overlap.h"

#include <cmath>

#include "model/expert_load.h"
#include "predict/prediction.h"
#include "tests/inputs/scenario_text.h"

using namespace draftline;

namespace {

std::string with_routing(const std::string& network, const std::string& routing) {
  return R"({"device": "h100-sxm", "engine": "vllm", "transformer": ")" + network +
         R"(", "prompt_tokens": 100, "output_tokens": 20, "method": {"name": "prompt_lookup", "draft_length": 7,
             "acceptance": {"rate": 0.7}})" +
         (routing.empty() ? "" : R"(, "expert_routing": )" + routing) + "}";
}
double overlap_in(const std::string& routing) {
  return ScenarioText(with_routing("qwen3-30b-a3b", routing)).sweep()->scenario().transformers[0]->experts()->overlap;
}
std::string mistakes_in(const std::string& network, const std::string& routing) {
  return ScenarioText(with_routing(network, routing)).mistakes();
}

}  // namespace

TEST_CASE("tokens of a sequence choose as alike as data/routing.json says, unless the scenario says otherwise") {
  CHECK(overlap_in("") == Approx(overlap_of(0.257, 64, 4)));
  CHECK(overlap_in(R"({"overlap": 0})") == 0);
  CHECK(overlap_in(R"({"overlap": 0.4})") == 0.4);
}

TEST_CASE("experts that were counted say how alike the rows chose") {
  // Half of the independent draws of 3 rows beside the first: 128 (1 - (120/128)^2.5) experts.
  const double touched = 128 * (1 - std::pow(120.0 / 128, 2.5));
  CHECK(overlap_in(R"({"experts_touched": )" + std::to_string(touched) + R"(, "rows": 4})") ==
        Approx(0.5).epsilon(1e-4));
}

TEST_CASE("mistakes of a routing are told at their place") {
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"overlap": 1.5})").find("#/expert_routing/overlap") != std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"experts_touched": 128, "rows": 4})").find("fewer than all") !=
        std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"experts_touched": 20, "rows": 1})").find("#/expert_routing/rows") !=
        std::string::npos);
  CHECK(mistakes_in("llama-3.1-8b", R"({"overlap": 0.2})").find("requires a network with experts") !=
        std::string::npos);
}

TEST_CASE("a verify step whose rows choose alike reads fewer experts and is faster; a plain step is as it was") {
  const auto predicted = [](const std::string& routing) { return prediction(with_routing("qwen3-30b-a3b", routing)); };
  const Prediction apart = predicted(R"({"overlap": 0})"), usual = predicted(""),
                   alike = predicted(R"({"overlap": 1})");
  CHECK(usual.step_time < apart.step_time);
  CHECK(alike.step_time < usual.step_time);
  CHECK(apart.speedup < usual.speedup);
  // A plain step takes (speedup x step) / acceptance length.
  CHECK(usual.speedup * usual.step_time.value == Approx(apart.speedup * apart.step_time.value));
}
