// SPDX-License-Identifier: Apache-2.0
// All-reduces that are fused with norms, of the networks that an engine's profile lists.
#include "model/engines/link_rule.h"
#include "model/kernels/kernel_time.h"
#include "model/order_statistics.h"
#include "predict/prediction.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

std::string scenario(const std::string& engine, const std::string& network) {
  return R"({"device": "h100-sxm", "transformer": ")" + network + R"(", "engine": ")" + engine +
         R"(", "method": {"name": "autoregressive"}, "batch_size": 8, "tensor_parallel": 4})";
}

Seconds step(const std::string& engine, const std::string& network) {
  return prediction(scenario(engine, network)).step_time;
}

// Whether a mixture's all-reduces are fused if `from` in its scenario is `to`.
bool fuses(const std::string& from, const std::string& to) {
  std::string text = scenario("sglang-0.5.9", "qwen3-30b-a3b");
  text.replace(text.find(from), from.size(), to);
  return row_of_fused_all_reduce(ScenarioText(text).sweep()->setup({})).has_value();
}

}  // namespace

TEST_CASE(
    "SGLang 0.5.9 fuses the all-reduces of listed architectures: another library, less skew, no launch of norms") {
  const auto s = ScenarioText(scenario("sglang-0.5.9", "qwen3-30b-a3b")).sweep();
  const Setup setup = s->setup({});
  const Bytes row{2048.0 * 2};
  REQUIRE(row_of_fused_all_reduce(setup) == row);
  const Device& d = *setup.device;
  const EngineLinks &apart = setup.engine->links, fused = apart.with_fused(row);
  const auto time = [&](const EngineLinks& links, int rows) {
    return collective_time(d.links, links, {Collective::all_reduce, rows * row, 4}, d.name);
  };
  CHECK(fused.rank_skew < apart.rank_skew);
  CHECK(time(fused, 2049) - expected_largest(4) * fused.rank_skew ==
        time(apart, 2049) - expected_largest(4) * apart.rank_skew);  // 2,048 rows at most
  // 48 layers with two sums each, and the embedding's, which the norm of the first layer does not follow as one op.
  const Seconds sums = 97 * (time(apart, 8) - time(fused, 8)), norms = 96 * launch_time(d);
  const Seconds saved = step("sglang-0.5", "qwen3-30b-a3b") - step("sglang-0.5.9", "qwen3-30b-a3b");
  CHECK(saved.value == Approx((sums + norms).value).epsilon(0.02));
}

TEST_CASE(
    "all-reduces are not fused on one device, for other networks, with data-parallel attention or without a table") {
  CHECK(step("sglang-0.5.9", "llama-3.1-8b") == step("sglang-0.5", "llama-3.1-8b"));
  CHECK(fuses("4}", "8}"));
  CHECK_FALSE(fuses("4}", "1}"));
  CHECK_FALSE(fuses("4}", R"(4, "data_parallel_attention": 4})"));
  CHECK_FALSE(fuses("h100-sxm", "l40s"));
}

}  // namespace draftline
