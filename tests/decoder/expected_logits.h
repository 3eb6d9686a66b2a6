// SPDX-License-Identifier: Apache-2.0
// Logits of small networks by Hugging Face transformers (tests/fixtures; tools/make_fixtures.py), and ours on the same
// files, on any backend that can be read.
#pragma once
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "core/reader.h"
#include "decoder/checkpoint/huggingface.h"
#include "decoder/transformer.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

namespace draftline::test {

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

// One pass over all prompts as a batch, in fp32; logits of every row, prompt after prompt.
template <class SomeBackend>
std::vector<float> logits_of(WeightSource& source, const TransformerShape& shape,
                             const std::vector<std::vector<int>>& prompts,
                             const typename SomeBackend::Options& options = {}) {
  const int slots = static_cast<int>(prompts.size());
  WeightStore store(DType::fp32);
  SomeBackend backend(store, source, options);
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

// The largest difference from the expected logits, which are of fp64.
inline double furthest(const Expected& expected, const std::vector<float>& ours) {
  std::size_t at = 0;
  double worst = 0;
  for (const auto& logits : expected.logits)
    for (const float e : logits) worst = std::max(worst, std::abs(static_cast<double>(ours.at(at++)) - e));
  CHECK(at == ours.size());
  return worst;
}

}  // namespace draftline::test
