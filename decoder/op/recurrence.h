// SPDX-License-Identifier: Apache-2.0
// The ops of recurrent layers: gated delta networks and selective state spaces.
#pragma once
#include "decoder/op/op_fields.h"

namespace draftline {

// The function of a gate, and whether it multiplies what is normalised (silu_first) or the norm's result.
enum class NormGate : std::uint8_t { silu, sigmoid, silu_first };
struct GatedNorm {
  std::optional<Weight> w = {};  // [1, width], or one for each column; none: no norm, the gate alone
  int width = 0;
  float epsilon = 0;
  NormGate gate = NormGate::silu;
};
// Normalises each group of `width` columns and multiplies by the gate: [n, c] each.
struct GatedRmsNorm {
  static constexpr std::string_view key = "gated_rms_norm";
  static constexpr auto element = ElementOp::rms_norm;
  Tensor x, gate;
  std::optional<Weight> w;
  int width;
  float epsilon;
  NormGate form;
  Out y;
  FIELDS(x, gate, w, width, epsilon, form, y)
};
// In a tree a row follows its parent, the last of the rows before it that it attends to.
// silu of each column's sum over the last rows of its sequence, weighted by w [kernel, c], the oldest first, and of its
// bias [1, c]: [n, c] -> [n, c]
struct Convolve {
  static constexpr std::string_view key = "causal_convolution";
  Tensor x;
  Weight w;
  std::optional<Weight> bias;
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(x, w, bias, pass, cache, layer, y)
  Kernel work(const Tape&) const;
};
// The gated delta rule: qkv [n, convolved columns], whose queries and keys are normalised first; gates [n, heads +
// decays]: b of each head, then a of each decay, where beta = sigmoid(b) and the decay is exp(-exp(a_log) softplus(a +
// dt_bias)); decays: one per head, or one for each column of its keys -> [n, value columns]
struct GatedDeltaRule {
  static constexpr std::string_view key = "delta_rule";
  Tensor qkv, gates;
  Weight a_log, dt_bias;
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(qkv, gates, a_log, dt_bias, pass, cache, layer, y)
  bool column_gates() const { return gates.cols != 2 * cache.form.value_heads; }
  Kernel work(const Tape&) const;
};
struct ScanWeights {
  Weight a_log, skip, dt_bias;  // [1, heads] each
};
// The scan of a selective state space: xbc [n, convolved columns] has each head's x, then each group's b and c; steps
// [n, heads]. With the step d = softplus(step + dt_bias) a state decays by exp(-exp(a_log) d), d b x^T is added to it,
// and the result is c^T S + skip x -> [n, value columns]
struct ScanSelectively {
  static constexpr std::string_view key = "selective_scan";
  Tensor xbc, steps;
  Weight a_log, skip, dt_bias;
  int chunk;  // affects the op's cost, not its result
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(xbc, steps, a_log, skip, dt_bias, chunk, pass, cache, layer, y)
  Kernel work(const Tape&) const;
};

// Moves what the next pass reads of the accepted rows of a tree, in every layer: the state of the last one, and the
// rows that the convolution reads before the next. path: rows of each sequence, of which the first counts[b] were
// accepted.
struct CommitStates {
  static constexpr std::string_view key = "commit_states";
  Tensor path, counts, cu_seqlens, kv_slots, lengths;
  StateCache cache;
  FIELDS(path, counts, cu_seqlens, kv_slots, lengths, cache)
  Kernel work(const Tape&) const;
};

}  // namespace draftline
