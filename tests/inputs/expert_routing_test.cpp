// SPDX-License-Identifier: Apache-2.0
#include "inputs/expert_routing.h"

#include <cmath>

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
RowRouting routing_in(const std::string& routing, int rows = 4) {
  return ScenarioText(with_routing("qwen3-30b-a3b", routing))
      .sweep()
      ->scenario()
      .transformers[0]
      ->experts()
      ->routing.of_pass(rows);
}
constexpr RouterShape kQwen30b{128, 8};
std::string mistakes_in(const std::string& network, const std::string& routing) {
  return ScenarioText(with_routing(network, routing)).mistakes();
}

}  // namespace

TEST_CASE("rows choose as alike as data/routing.json says, unless the scenario says otherwise") {
  const double usual = exponent_of_overlap(0.32);
  CHECK(routing_in("") == RowRouting{usual, 0.9});
  CHECK(routing_in(R"({"topics": "many"})") == RowRouting{usual, 0.9});
  CHECK(routing_in(R"({"topics": "one"})") == RowRouting{exponent_of_overlap(0.25), 1.4});
  CHECK(routing_in(R"({"overlap": 0})") == RowRouting{1, 0.9});
  CHECK(routing_in(R"({"load_cv": 0})") == RowRouting{usual, 0});
  CHECK(routing_in(R"({"overlap": 0.4, "load_cv": 0.5})") == RowRouting{exponent_of_overlap(0.4), 0.5});
}

TEST_CASE("experts that were counted say how alike the rows chose") {
  const double touched = experts_of_draws(2.5, kQwen30b, 0.9);
  const RowRouting one = routing_in(R"({"experts_touched": )" + std::to_string(touched) + R"(, "rows": 4})");
  CHECK(std::pow(4, one.exponent) == Approx(2.5).epsilon(1e-4));
  const std::string curve = R"({"counted": [{"rows": 2, "experts_touched": 13}, {"rows": 8, "experts_touched": 32}]})";
  for (const auto& [rows, count] : {std::pair{2, 13.0}, {8, 32.0}}) {
    const RowRouting r = routing_in(curve, rows);
    CHECK(experts_of_draws(std::pow(rows, r.exponent), kQwen30b, r.load_cv) == Approx(count));
  }
}

TEST_CASE("mistakes of a routing are told at their place") {
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"overlap": 1.5})").find("#/expert_routing/overlap") != std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"experts_touched": 128, "rows": 4})").find("fewer than all") !=
        std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"experts_touched": 20, "rows": 1})").find("#/expert_routing/rows") !=
        std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({})").find("overlap") != std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"counted": []})").find("#/expert_routing/counted") != std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b",
                    R"({"counted": [{"rows": 4, "experts_touched": 20}, {"rows": 2, "experts_touched": 12}]})")
            .find("#/expert_routing/counted/1/rows: the numbers of rows must ascend") != std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"counted": [{"rows": 4, "experts_touched": 20}], "overlap": 0.2})")
            .find("overlap") != std::string::npos);
  CHECK(mistakes_in("qwen3-30b-a3b", R"({"topics": "some"})").find("#/expert_routing/topics") != std::string::npos);
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
  // Both have sequences of one row: a plain step takes (speedup x step) / acceptance length.
  CHECK(usual.speedup * usual.step_time.value == Approx(apart.speedup * apart.step_time.value));
}
