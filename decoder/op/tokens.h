// SPDX-License-Identifier: Apache-2.0
// The choice of tokens from logits.
#pragma once
#include "decoder/op/op_fields.h"
#include "decoder/sampling.h"

namespace draftline {

struct Argmax {  // [n, vocabulary] -> [n]; ties: lowest id
  static constexpr std::string_view key = "argmax";
  static constexpr auto element = ElementOp::argmax;
  Tensor x;
  Out y;
  FIELDS(x, y)
};
struct TopK {  // [n, vocabulary] -> ids, log-probabilities [n, k], best first
  static constexpr std::string_view key = "top_k";
  static constexpr auto element = ElementOp::top_k;
  Tensor logits;
  Out ids, log_probs;
  FIELDS(logits, ids, log_probs)
};
struct Sample {  // draws from the warped distribution: [n, vocabulary] -> tokens [n], q [n, vocabulary]
  static constexpr std::string_view key = "sample";
  static constexpr auto element = ElementOp::sample;
  Tensor logits;
  BatchSlots slots;  // row r belongs to sequence r
  Sampling sampling;
  int ahead;  // text position = length + ahead
  Out tokens, q;
  FIELDS(logits, slots, sampling, ahead, tokens, q)
};
struct SampleChildren {  // draws several tokens from each row: [n, vocabulary] -> tokens [n, draws], q [n, vocabulary]
  static constexpr std::string_view key = "sample";
  static constexpr auto element = ElementOp::sample;
  Tensor logits;
  BatchSlots slots;  // n is a multiple of B: the nodes of one level of a tree
  Sampling sampling;
  int ahead;
  bool replaced;  // with replacement; false: tokens are distinct; if too few, the last is repeated
  Out tokens, q;
  FIELDS(logits, slots, sampling, ahead, replaced, tokens, q)
};
struct MapIds {  // maps ids of a draft vocabulary to those of the target: y = id + offset[id]
  static constexpr std::string_view key = "map_ids";
  Tensor ids;
  Weight offsets;
  Out y;
  FIELDS(ids, offsets, y)
  Kernel work(const Tape&) const { return Copy{.read = 2.0 * ids.bytes(), .written = y.bytes()}; }
};
// Log-probabilities [n, k], best first: those outside the nucleus (top_p) or below `least_share` of the first become
// -infinity.
struct ClipTopK {
  static constexpr std::string_view key = "clip_top_k";
  Tensor log_probs;
  float top_p, least_share;
  Out y;
  FIELDS(log_probs, top_p, least_share, y)
};
// Walks each sequence's candidates from slot to slot: the score of candidate c is its log-probability plus the inner
// product of before * gate and after, where `before` belongs to the candidate chosen in the previous slot (or the root)
// and `after` to c; the best is chosen. n slots of all sequences, r columns: ids, log_probs [n, k]; gate [n, r]; root
// [B, r]; before, after [n * k, r] -> [n]
struct WalkCandidates {
  static constexpr std::string_view key = "walk_candidates";
  Tensor ids, log_probs, gate, root, before, after;
  Out y;
  FIELDS(ids, log_probs, gate, root, before, after, y)
};

}  // namespace draftline
