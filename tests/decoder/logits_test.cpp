// SPDX-License-Identifier: Apache-2.0
// The transformer on the CPU against Hugging Face transformers, on the same files (tests/fixtures;
// tools/make_fixtures.py).
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/reader.h"
#include "decoder/cpu/backend.h"
#include "decoder/huggingface.h"
#include "decoder/transformer.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

const std::filesystem::path kFixtures = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "tests/fixtures";

struct Expected {
  std::vector<std::vector<int>> prompts;
  std::vector<std::vector<float>> logits;  // of each prompt: [tokens, vocabulary]
  double error_of_fp32 = 0;

  explicit Expected(const std::filesystem::path& folder) {
    const Document text = Document::from_file(folder / "expected.json");
    for (const Reader& prompt : text.root().at("prompts").items()) {
      prompts.emplace_back();
      for (const Reader& id : prompt.items()) prompts.back().push_back(id.integer(0));
    }
    error_of_fp32 = text.root().at("largest_error_of_fp32").number(1e-9, 1e-4);
    text.finish();
    const SafetensorsFile file(folder / "expected.safetensors");
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      const std::string name = "logits." + std::to_string(i);
      logits.emplace_back(file.tensors().at(name).elements);
      file.read(name, 0, logits.back());
    }
  }
};

// One pass over all prompts as a batch; logits of every row, prompt after prompt.
std::vector<float> logits_of(WeightSource& source, const TransformerShape& shape,
                             const std::vector<std::vector<int>>& prompts) {
  const int slots = static_cast<int>(prompts.size());
  WeightStore store(DType::fp32);
  CpuBackend backend(store, source);
  Ops ops(backend, DType::fp32, slots);
  const Transformer target(shape, store, ops, 64);
  const BatchSlots sequences{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                             ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                             ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  std::vector<int> kv_slots(prompts.size()), tokens, sizes;
  std::iota(kv_slots.begin(), kv_slots.end(), 0);
  ops.upload(sequences.kv_slots, kv_slots);
  ops.upload(sequences.lengths, std::vector<int>(prompts.size(), 0));
  ops.upload(sequences.ids, kv_slots);
  for (const auto& p : prompts) {
    tokens.insert(tokens.end(), p.begin(), p.end());
    sizes.push_back(static_cast<int>(p.size()));
  }
  Stream x{target.embed(ops, ops.input("tokens", tokens))};
  Rows rows = ops.ragged("rows", sizes);
  rows.prompts = true;
  target.run(ops, x, ops.pass({rows, sequences}));
  const Tensor logits = target.logits(ops, target.final_norm(ops, x));
  const Tensor kept = ops.persistent("logits", logits.rows, logits.cols, DType::fp32);
  ops.store(kept, logits);
  ops.flush();
  return backend.read_floats(kept);
}

}  // namespace

TEST_CASE("logits agree with Hugging Face transformers on the same files") {
  const std::string network =
      GENERATE("llama", "mistral", "qwen2", "qwen3", "phi3", "qwen3_moe", "deepseek_v2", "deepseek_v3", "glm4_moe",
               "mixtral", "mistral_window", "llama_yarn", "phi3_longrope", "gemma3", "llama4", "llama4_experts",
               "gpt_oss", "qwen3_next", "qwen3_5");
  const bool expanded = GENERATE(true, false);  // as latent attention is for long prompts, or absorbed
  CAPTURE(network, expanded);
  HuggingFaceFolder folder(kFixtures / network);
  const Expected expected(kFixtures / network);
  TransformerShape shape = folder.shape();
  if (expanded && !shape.latent) return;
  if (expanded) shape.latent->most_absorbed = 0;
  const std::vector<float> ours = logits_of(folder, shape, expected.prompts);

  // The expected logits are of fp64. transformers' own fp32 errs by error_of_fp32 on these files, by rounding alone: a
  // correct fp32 computation with another order of additions errs by as much, give or take a small factor.
  const double tolerance = 4 * expected.error_of_fp32;
  std::size_t at = 0;
  double worst = 0;
  for (const auto& logits : expected.logits)
    for (const float e : logits) worst = std::max(worst, std::abs(static_cast<double>(ours.at(at++)) - e));
  CHECK(at == ours.size());
  CHECK(worst <= tolerance);
}
