// SPDX-License-Identifier: Apache-2.0
// What attention over compressed entries and to chosen blocks costs: memory by hand, and steps that hardly grow with
// the context.
#include "predict/prediction.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static Prediction on_eight(const std::string& network, int prompt, const std::string& method = "autoregressive",
                           int batch_size = 1) {
  return prediction(R"({"device": "h200", "transformer": ")" + network + R"(", "engine": "vllm-0.24", "method": )" +
                    (method == "autoregressive" ? R"({"name": "autoregressive"})" : method) +
                    R"(, "tensor_parallel": 8, "batch_size": )" + std::to_string(batch_size) +
                    R"(, "prompt_tokens": )" + std::to_string(prompt) + R"(, "output_tokens": 12})");
}

TEST_CASE("DeepSeek-V4 caches a window in each layer, and entries for every 4 or 128 tokens") {
  // The window: 128 tokens and up to 16 more, in 43 layers, of a key of 512 numbers in 16 bits. A text of 1024 tokens
  // and up to 16 more: an entry and an index's key of 132 bytes for 4 tokens in 21 layers, an entry for 128 in 20.
  const double window = 144 * 43 * 1024.0, entries = 1040 * (21 * (1024 + 132) / 4.0 + 20 * 1024 / 128.0);
  CHECK(on_eight("deepseek-v4-flash", 1012).memory.cache.value == Approx(window + entries).epsilon(1e-12));
}

TEST_CASE("a step of networks that choose what they read takes little longer behind a long text") {
  const auto growth = [](const std::string& network) {
    const auto step = [&](int prompt) { return on_eight(network, prompt, "autoregressive", 4).step_time.value; };
    return step(100000) / step(1000);
  };
  for (const char* network : {"deepseek-v4-flash", "minimax-m3"}) {
    INFO(network);
    const double by = growth(network);
    CAPTURE(by);
    CHECK((by > 1 && by < 1.25));
  }
  CHECK(growth("minimax-m2") > 1.25);  // which reads all of it
}

TEST_CASE("several MTP modules weigh as much each, and take in the committed tokens one behind the other") {
  const auto mtp = [](const std::string& modules) {
    return on_eight(
        "minimax-m3", 1000,
        R"({"name": "mtp", "draft_length": 3, "modules": )" + modules + R"(, "acceptance": {"rate": 0.7}})");
  };
  const Prediction one = mtp("1"), three = mtp("3");
  CHECK(three.memory.draft_weights.value == Approx(3 * one.memory.draft_weights.value).epsilon(1e-9));
  CHECK(three.memory.draft_cache.value == Approx(3 * one.memory.draft_cache.value).epsilon(1e-9));
  CHECK(three.step_time > one.step_time);
}

}  // namespace draftline
