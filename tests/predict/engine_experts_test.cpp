// SPDX-License-Identifier: Apache-2.0
// What an engine makes of a layer of experts: padded rows, and a router in 32 bits.
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "model/devices/library_fits.h"
#include "model/kernels/gpu_time.h"
#include "predict/prediction.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

TEST_CASE("vLLM pads the rows of experts in blocks of 8 bits, for DeepGEMM on fewer than 8 devices") {
  const FreshFolder fresh;
  nlohmann::json without = nlohmann::json::parse(read_text_file(kData / "engines/vllm-0.10.json"));
  auto& rules = without["expert_padding"]["rules"];
  rules.erase(
      std::remove_if(rules.begin(), rules.end(), [](const auto& rule) { return rule["format"] == "fp8-block"; }),
      rules.end());
  const std::string plain = (fresh.path() / "plain-1.json").string();
  std::ofstream(plain) << without.dump();
  const auto verify = [&](const std::string& engine, const std::string& more) {
    return prediction(R"({"device": "h200", "transformer": "qwen3-235b-a22b", "method": {"name": "autoregressive"},
                          "engine": ")" +
                      engine + R"(", )" + more + "}")
        .breakdown.of(Phase::verify);
  };
  const auto longer = [&](const std::string& more) { return verify("vllm-0.10", more) - verify(plain, more); };
  // 94 layers, a quarter of 1536 columns; a row takes 8 of 128 experts.
  const auto s = ScenarioText(R"({"device": "h200", "transformer": "qwen3-235b-a22b", "engine": "vllm-0.10",
                                  "method": {"name": "autoregressive"}})")
                     .sweep();
  ExpertMlp k{.rows = 1,
              .hidden = 4096,
              .intermediate = 384,
              .experts = 128,
              .per_token = 8,
              .weights = DType::fp8,
              .activations = DType::fp8,
              .scaling = Scaling::blocks};
  const Device& d = *s->scenario().devices.front();
  const Seconds unpadded = gpu_time(d, k);
  k.row_multiple = 128;
  CHECK(longer(R"("precision": "fp8-block", "tensor_parallel": 4)").value ==
        Approx(94 * (gpu_time(d, k) - unpadded).value).epsilon(1e-3));
  CHECK(longer(R"("precision": "fp8-block", "tensor_parallel": 8)") == Seconds{});
  CHECK(longer(R"("precision": "fp8-block", "tensor_parallel": 8, "expert_parallel": true)") > Seconds{});
  CHECK(longer(R"("precision": "fp8", "tensor_parallel": 4)") == Seconds{});
}

TEST_CASE("the router of MiniMax-M2 multiplies in 32 bits, in vLLM by TF32 if it is told so") {
  const auto scenario = [](const std::string& more) {
    return R"({"device": "b200", "transformer": "minimax-m2", "tensor_parallel": 4, "precision": "fp8-block",
               "engine": "vllm-0.19", "method": {"name": "autoregressive"}, "batch_size": 64)" +
           more + "}";
  };
  const auto experts = [](const Prediction& p) { return p.breakdown.of(Phase::verify, KernelKind::experts); };
  const Prediction full = prediction(scenario("")), tf32 = prediction(scenario(R"(, "tf32": true)"));
  const auto s = ScenarioText(scenario("")).sweep();
  const Device& d = *s->scenario().devices.front();
  // 62 layers, 256 experts of 3,072 inputs.
  const Gemm narrow{64, 3072, 256, DType::bf16, DType::bf16, false},
      wide{64, 3072, 256, DType::fp32, DType::fp32, false};
  const Seconds longer = gpu_time(d, wide) - gpu_time(d, narrow);
  CHECK(longer > Seconds{10e-6});
  CHECK((experts(full) - experts(tf32)).value == Approx(62 * longer.value).epsilon(0.02));
  CHECK(contains(ScenarioText(R"({"device": "b200", "transformer": "minimax-m2", "engine": "sglang",
                                  "method": {"name": "autoregressive"}, "tf32": true})")
                     .mistakes(),
                 "#/tf32: is an option of vLLM"));
}

TEST_CASE("the library of the experts: Triton's on a B200, and each card's own where it was not measured") {
  const auto scenario = [](const std::string& device, const std::string& backend) {
    return R"({"device": ")" + device +
           R"(", "transformer": "minimax-m2", "tensor_parallel": 4, "precision": "fp8-block",
               "engine": "vllm-0.19", "method": {"name": "autoregressive"}, "batch_size": 16, "moe_backend": )" +
           backend + "}";
  };
  const auto experts = [&](const std::string& device, const std::string& backend) {
    return prediction(scenario(device, backend)).breakdown.of(Phase::verify, KernelKind::experts);
  };
  const auto s = ScenarioText(scenario("b200", R"("auto")")).sweep();
  const Device& d = *s->scenario().devices.front();
  const ExpertMlp k{.rows = 16,
                    .hidden = 3072,
                    .intermediate = 384,
                    .experts = 256,
                    .per_token = 8,
                    .weights = DType::fp8,
                    .activations = DType::fp8,
                    .scaling = Scaling::blocks};
  CHECK((experts("b200", R"("triton")") - experts("b200", R"("auto")")).value ==
        Approx(62 * (gpu_time(with_expert_fits(d, "triton"), k) - gpu_time(d, k)).value).epsilon(0.1));
  CHECK(experts("h200", R"("triton")") == experts("h200", R"("auto")"));
  CHECK(contains(ScenarioText(scenario("b200", R"("cutlass")")).mistakes(), "#/moe_backend: must be auto or triton"));
}

}  // namespace draftline
