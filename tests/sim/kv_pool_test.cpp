// SPDX-License-Identifier: Apache-2.0
// The KV pools of vLLM servers, beside what their logs say: in accuracy/accuracy_report.md of llm-d-planner, and in
// issues of vLLM (data/sources.json; docs/explanation/accuracy.md, "KV pools of vLLM servers").
#include "predict/device_memory.h"
#include "sim/serving.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

struct Logged {
  std::string device, transformer, precision, engine;
  int ranks;
  double utilization, available;  // GiB that the log calls available for the KV cache
};

std::string scenario_of(const Logged& l) {
  return R"({"device": ")" + l.device + R"(", "transformer": ")" + l.transformer + R"(", "engine": ")" + l.engine +
         R"(", "precision": ")" + l.precision + R"(", "tensor_parallel": )" + std::to_string(l.ranks) +
         R"(, "gpu_memory_utilization": )" + std::to_string(l.utilization) +
         R"(, "method": {"name": "autoregressive"}, "workload":
      {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 2}})";
}

double pool_of(const Logged& l) {
  const std::string text = scenario_of(l);
  ServingSweep serving(Document::from_text(text, "s.json"), kData);
  serving.validate();
  const auto point = serving.prepare(point_at(serving.scenario(), 0));
  const SchedulerLimits& limits = point->limits;
  const auto sweep = ScenarioText(text).sweep();
  const Bytes token = server_memory(sweep->recordings(), point->setup, autoregressive(), 1, 1).per_token;
  return static_cast<double>(limits.kv_blocks * limits.block_size) * token.value / (1 << 30);
}

}  // namespace

TEST_CASE("vLLM's KV pool is what servers log, to a few hundred megabytes") {
  for (const Logged& l : {
           Logged{"h100-sxm", "qwen3-14b", "auto", "vllm-0.10", 1, 0.95, 41.94},           // vLLM 0.15 and 0.16
           Logged{"h100-sxm", "qwen3-235b-a22b", "fp8-block", "vllm-0.10", 4, 0.9, 8.11},  // issue 21348, in fp8
           Logged{"h100-sxm", "gpt-oss-120b", "auto", "vllm-0.10", 1, 0.95, 1.71},         // issue 27508
           Logged{"h100-sxm", "qwen3-14b", "auto", "vllm-0.19", 1, 0.95, 45.23},           // vLLM 0.18
           Logged{"h100-sxm", "llama-3.1-8b", "auto", "vllm-0.19", 1, 0.95, 58.11},
           Logged{"h100-sxm", "llama-3.1-8b", "auto", "vllm-0.19", 2, 0.95, 63.76},
           Logged{"h100-sxm", "llama-3.1-8b", "auto", "vllm-0.19", 4, 0.95, 67.44},
           Logged{"h100-sxm", "qwen2.5-7b", "auto", "vllm-0.19", 1, 0.95, 58.53},
           Logged{"h100-sxm", "qwen3-30b-a3b", "auto", "vllm-0.19", 1, 0.95, 15.38},
           Logged{"h100-sxm", "deepseek-v2-lite", "auto", "vllm-0.19", 1, 0.95, 43.74},
           Logged{"h100-sxm", "mixtral-8x7b", "auto", "vllm-0.19", 2, 0.95, 28.45},
           Logged{"h100-sxm", "qwen2.5-72b", "auto", "vllm-0.19", 2, 0.95, 3.05},
           Logged{"h100-sxm", "llama-3.3-70b-fp8", "auto", "vllm-0.19", 2, 0.95, 37.27},
           Logged{"h100-sxm", "llama-3.3-70b-fp8", "auto", "vllm-0.19", 4, 0.95, 54.05},
       }) {
    INFO(l.transformer << " on " << l.ranks << " of " << l.device << ", " << l.engine);
    const double pool = pool_of(l);
    UNSCOPED_INFO(pool << " GiB, logged " << l.available);
    CHECK(std::abs(pool - l.available) <
          (l.transformer == "qwen3-235b-a22b" ? 0.9 : 0.4));  // its version is not logged
  }
}

TEST_CASE("vLLM's weights of gpt-oss are padded as servers log them") {
  const auto weights = [](const std::string& network, const std::string& engine, int ranks) {
    const auto sweep = ScenarioText(scenario_of({"h100-sxm", network, "auto", engine, ranks, 0.9, 0})).sweep();
    const Setup setup = sweep->setup(point_at(sweep->scenario(), 0));
    return server_memory(sweep->recordings(), setup, autoregressive(), 1, 1).weights.value / (1 << 30);
  };
  CHECK(weights("gpt-oss-120b", "vllm-0.10", 1) == Approx(65.97).epsilon(0.005));  // issue 23278
  CHECK(weights("gpt-oss-120b", "vllm-0.19", 1) == Approx(64.38).epsilon(0.005));  // issue 33155
  // Its experts' size is 2880: of eight ranks 360 and 384, of Llama's kin nothing is padded.
  const double whole = weights("gpt-oss-120b", "vllm-0.10", 1), shared = weights("gpt-oss-120b", "vllm-0.10", 8);
  CHECK(8 * shared / whole == Approx(384.0 * 8 / 2944).epsilon(0.03));
  CHECK(weights("mixtral-8x7b", "vllm-0.10", 1) == weights("mixtral-8x7b", "sglang-0.5", 1));
}

}  // namespace draftline
