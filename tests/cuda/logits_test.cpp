// SPDX-License-Identifier: Apache-2.0
// The transformer on CUDA against Hugging Face transformers, on the same files as the CPU's: every network that is
// accepted.
#include "tests/cuda/rig.h"
#include "tests/decoder/expected_logits.h"

using namespace draftline;
using namespace draftline::test;

TEST_CASE("logits on CUDA agree with Hugging Face transformers on the same files", "[cuda]") {
  if (!has_device()) SKIP_TEST("no CUDA device");
  const std::string network =
      GENERATE("llama", "qwen3_moe", "deepseek_v2", "deepseek_v3", "glm4_moe", "mixtral", "mistral_window",
               "phi3_longrope", "gemma3", "llama4", "llama4_experts", "gpt_oss", "qwen3_next", "qwen3_5", "qwen3_5_moe",
               "qwen3_5_moe_vision", "minimax_m2", "deepseek_v32", "ministral3", "mimo_v2_flash", "gemma4",
               "gemma4_moe", "nemotron_h", "granite_hybrid", "falcon_h1_norm");
  const bool expanded = GENERATE(true, false);  // as latent attention is for long prompts, or absorbed
  CAPTURE(network, expanded);
  HuggingFaceFolder folder(kFixtures / network);
  const Expected expected(kFixtures / network);
  TransformerShape shape = folder.shape();
  if (expanded && (shape.latent() == nullptr || shape.latent()->dims.indexer)) return;
  for (LayerShape& layer : shape.kinds)
    if (auto* a = std::get_if<LatentHeads>(&layer.attention); a != nullptr && expanded) a->dims.most_absorbed = 0;
  const CudaBackend::Options options{.activations = DType::fp32, .poison = true, .timed_products = false};
  // As for the CPU (tests/decoder/logits_test.cpp): another order of additions alone.
  CHECK(furthest(expected, logits_of<CudaBackend>(folder, shape, expected.prompts, options)) <=
        4 * expected.error_of_fp32);
}
