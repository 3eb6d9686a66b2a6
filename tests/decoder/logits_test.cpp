// SPDX-License-Identifier: Apache-2.0
// The transformer on the CPU against Hugging Face transformers, on the same files.
#include "decoder/cpu/backend.h"
#include "tests/decoder/expected_logits.h"

using namespace draftline;
using namespace draftline::test;

TEST_CASE("logits agree with Hugging Face transformers on the same files") {
  const std::string network =
      GENERATE("llama", "mistral", "qwen2", "qwen3", "phi3", "qwen3_moe", "deepseek_v2", "deepseek_v3", "glm4_moe",
               "mixtral", "mistral_window", "llama_yarn", "phi3_longrope", "gemma3", "llama4", "llama4_experts",
               "gpt_oss", "gpt_oss_mxfp4", "qwen3_next", "qwen3_5", "qwen3_5_moe", "qwen3_5_moe_vision", "minimax_m2",
               "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "deepseek_v32", "glm_moe_dsa", "glm_moe_dsa_shared",
               "glm4_moe_lite", "kimi_k25", "ministral3", "seed_oss", "smollm3", "dots1", "hy_v3", "ernie4_5", "olmo2",
               "olmo3", "exaone4", "mimo_v2_flash", "gemma4", "gemma4_moe", "nemotron_h", "nemotron_h_experts",
               "granite_hybrid", "granite_hybrid_dense", "falcon_h1", "falcon_h1_norm");
  const bool expanded = GENERATE(true, false);  // as latent attention is for long prompts, or absorbed
  CAPTURE(network, expanded);
  HuggingFaceFolder folder(kFixtures / network);
  const Expected expected(kFixtures / network);
  TransformerShape shape = folder.shape();
  if (expanded && (shape.latent() == nullptr || shape.latent()->dims.indexer)) return;
  for (LayerShape& layer : shape.kinds)
    if (auto* a = std::get_if<LatentHeads>(&layer.attention); a != nullptr && expanded) a->dims.most_absorbed = 0;
  const std::vector<float> ours = logits_of<CpuBackend>(folder, shape, expected.prompts);

  // The expected logits are of fp64. transformers' own fp32 errs by error_of_fp32 on these files, by rounding alone: a
  // correct fp32 computation with another order of additions errs by as much, give or take a small factor.
  const double tolerance = 4 * expected.error_of_fp32;
  CHECK(furthest(expected, ours) <= tolerance);
}
