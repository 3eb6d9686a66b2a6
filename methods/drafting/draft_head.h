// SPDX-License-Identifier: Apache-2.0
// A drafter's LM head: the network's, or a head over only the most frequent tokens, whose ids are mapped to the
// target's (FR-Spec, source zhao2025frspec; EAGLE-3). Other tokens are never drafted.
#pragma once
#include <optional>
#include <string>

#include "methods/table.h"

namespace draftline::methods {

class DraftHead {
 public:
  DraftHead() = default;
  // Logits are the network's own, or with a `vocabulary` those of a head of that many tokens.
  DraftHead(const Transformer& network, WeightStore&, const std::string& prefix, std::optional<int> vocabulary);
  bool reduced() const { return offsets_.has_value(); }
  int columns(const Transformer& network) const;  // of the logits; the last rank's share may be padded
  Tensor logits(Ops&, const Transformer& network, Tensor normed) const;  // [n, hidden] -> [n, vocabulary]
  Tensor target_ids(Ops& ops, Tensor ids) const { return offsets_ ? ops.map_ids(ids, *offsets_) : ids; }

 private:
  std::optional<Weight> head_, offsets_;
};

// The parameter "draft_vocabulary", which most_candidates() knows too.
template <class P>
Field<P> draft_vocabulary(std::optional<int> P::*member, std::string usual, bool in_checkpoint = false) {
  return integer("draft_vocabulary", member, 1, 1 << 24,
                 {.meaning = "the most frequent tokens, for a smaller LM head",
                  .usual = std::move(usual),
                  .in_checkpoint = in_checkpoint,
                  .most = vocabulary_of});
}
struct HeadParameters : Parameters {
  std::optional<int> draft_vocabulary;
};
inline ParameterList head_parameters(std::string usual, bool in_checkpoint = false) {
  return {draft_vocabulary(&HeadParameters::draft_vocabulary, std::move(usual), in_checkpoint)};
}

}  // namespace draftline::methods
