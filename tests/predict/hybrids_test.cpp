// SPDX-License-Identifier: Apache-2.0
// What recurrent states cost: memory for each row that is verified, bytes in a step, of chains and of trees.
#include "predict/device_memory.h"
#include "predict/prediction.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static std::string hybrid_scenario(const std::string& method, int batch_size, int prompt) {
  return R"({"device": "h100-sxm", "transformer": "qwen3.5-9b", "engine": "vllm", "method": )" + method +
         R"(, "batch_size": )" + std::to_string(batch_size) + R"(, "prompt_tokens": )" + std::to_string(prompt) +
         R"(, "output_tokens": 12})";
}
static std::string lookup(int drafts) {
  return R"({"name": "prompt_lookup", "draft_length": )" + std::to_string(drafts) +
         R"(, "acceptance": {"rate": 0.7, "hit_share": 1}})";
}
static const std::string kAutoregressive = R"({"name": "autoregressive"})";

static Prediction predicted(const std::string& method, int batch_size, int prompt) {
  return prediction(hybrid_scenario(method, batch_size, prompt));
}

TEST_CASE("a sequence keeps a state for each row that a step verifies, whatever its context") {
  // Keys and values: 8 layers of 2 x 4 x 256 numbers of 2 bytes, blocks of 16 tokens: 512 and 1 to 16 are 528. States:
  // 24 layers of 32 x 128 x 128 numbers of 4 bytes, and the convolution's 8192 numbers of 2 bytes of 3 rows before.
  const double keys = 528 * 8 * 4096.0, state = 24 * 2097152.0, row = 24 * 16384.0;
  CHECK(predicted(kAutoregressive, 1, 500).memory.cache.value == keys + state + 3 * row);
  CHECK(predicted(kAutoregressive, 2, 500).memory.cache.value == 2 * (keys + state + 3 * row));
  CHECK(predicted(lookup(3), 1, 500).memory.cache.value == keys + 4 * state + 6 * row);
  const double more = 8192 * 8 * 4096.0;
  CHECK(predicted(kAutoregressive, 1, 500 + 8192).memory.cache.value == keys + more + state + 3 * row);
}

TEST_CASE("in the KV pool a sequence's states are blocks besides its tokens'") {
  // A token has 8 layers of 4096 bytes; one state in each of 24 layers, and 3 rows: 1572 tokens' bytes.
  const auto s = ScenarioText(hybrid_scenario(kAutoregressive, 1, 500)).sweep();
  const ServerMemory memory =
      server_memory(s->recordings(), s->setup(point_at(s->scenario(), 0)), autoregressive(), 256, 512);
  CHECK(memory.kept.states == 51511296 / 32768.0);
  SchedulerLimits limits;
  limits.block_size = 16;
  limits.kept = memory.kept;
  CHECK(limits.blocks_for(28) == 100);  // 28 + 1572 tokens
  CHECK_FALSE(memory.kept.all_alike());
}

TEST_CASE("a step moves one state to read and one to write for each row") {
  const auto recurrence = [](int drafts) {
    const auto& step = predicted(drafts == 0 ? kAutoregressive : lookup(drafts), 64, 500).breakdown;
    return step.of(Phase::verify, KernelKind::recurrence).value - 24 * 4.223e-6;  // without the launches
  };
  CHECK(recurrence(6) == Approx(4 * recurrence(0)).epsilon(0.02));  // 1 + 7 states for 1 + 1
}

TEST_CASE("a tree on a target with recurrent states moves a state for each node, and says which engines verify none") {
  const auto medusa = [](const std::string& engine, const std::string& nodes) {
    const std::string method =
        R"({"name": "medusa", "tree": {"nodes": )" + nodes + R"(}, "acceptance": {"mean_length": 2}})";
    std::string scenario = hybrid_scenario(method, 64, 500);
    return prediction(scenario.replace(scenario.find("\"vllm\""), 6, engine));
  };
  const auto recurrence = [](const Prediction& p) {
    return p.breakdown.of(Phase::verify, KernelKind::recurrence).value - 24 * 4.223e-6;
  };
  const Prediction tree = medusa(R"("sglang")", "[[0], [1], [0, 0]]"), chain = medusa(R"("sglang")", "[[0], [0, 0]]");
  CHECK(recurrence(tree) == Approx(4.0 / 2 * recurrence(chain)).epsilon(0.03));  // 4 + 4 states for 1 + 3
  const auto warns = [](const Prediction& p) {
    return std::any_of(p.warnings.begin(), p.warnings.end(), [](const std::string& w) {
      return w.find("verifies chains alone on a network with recurrent states") != std::string::npos;
    });
  };
  CHECK_FALSE(warns(tree));
  CHECK(warns(medusa(R"("vllm")", "[[0], [1], [0, 0]]")));
  CHECK_FALSE(warns(medusa(R"("vllm")", "[[0], [0, 0]]")));
}

TEST_CASE("experts without a gate were not measured: a warning, and no interval") {
  const auto predicted_with = [](const std::string& gated) {
    return prediction(R"({"device": "h100-sxm", "engine": "vllm", "method": )" + kAutoregressive +
                      R"(, "batch_size": 8, "prompt_tokens": 64, "output_tokens": 12, "transformer": {"layers": 32,
      "hidden": 4096, "intermediate": 4096, "heads": 32, "kv_heads": 8, "head_dim": 128, "vocabulary": 32000, "gated": )" +
                      gated + R"(, "experts": {"count": 16, "per_token": 2, "intermediate": 4096}}})");
  };
  const auto warns = [](const Prediction& p) {
    return std::any_of(p.warnings.begin(), p.warnings.end(), [](const std::string& w) {
      return w.find("experts without a gate were not measured") != std::string::npos;
    });
  };
  const Prediction gated = predicted_with("true"), ungated = predicted_with("false");
  CHECK_FALSE(warns(gated));
  CHECK(gated.interval);
  CHECK(warns(ungated));
  CHECK_FALSE(ungated.interval);
  CHECK(contains(ungated.no_interval, "experts without a gate were not measured"));
}

}  // namespace draftline
