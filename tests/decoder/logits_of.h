// SPDX-License-Identifier: Apache-2.0
// The logits of a network on a backend.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "decoder/transformer.h"

namespace draftline::test {

// One pass over all prompts as a batch, in fp32; logits of every row, prompt after prompt.
template <class SomeBackend>
std::vector<float> logits_of(WeightSource& source, const TransformerShape& shape,
                             const std::vector<std::vector<int>>& prompts,
                             const typename SomeBackend::Options& options = {}) {
  const int slots = static_cast<int>(prompts.size());
  WeightStore store(DType::fp32);
  SomeBackend backend(store, source, options);
  Ops ops(backend, DType::fp32, slots);
  std::size_t longest = 64;
  for (const auto& p : prompts) longest = std::max(longest, p.size());
  const Transformer target(shape, store, ops, static_cast<int>(longest));
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

}  // namespace draftline::test
