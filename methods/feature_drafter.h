// SPDX-License-Identifier: Apache-2.0
// What EAGLE-2, HASS and EAGLE-3 share: a small network that continues hidden states, drafting a chain, or a dynamic
// tree grown by joint probability (Li et al. 2024b, section 4). All topology is device data: counts per level are
// fixed, so a step has one tape and no host read while drafting.
#pragma once
#include "methods/method.h"

namespace draftline::methods {

struct DraftShape {  // a chain of `length`, or a tree if top_k > 0
  int length = 5;
  int top_k = 0;   // candidates per node, and nodes per level that go on
  int passes = 5;  // levels behind the first: forward passes while drafting
  int nodes = 59;  // drafts kept for verification
  int depth() const { return top_k == 0 ? length : passes + 1; }
};
// A draft length: a chain; "tree": "default" or {"top_k", "passes", "nodes"}. Neither: the official tree.
DraftShape read_draft_shape(const MethodSpec&, int vocabulary, int official_passes);

// The layer of a drafter beside such a target: its heads and widths, without what only some targets have.
TransformerShape drafter_layer_shape(const TransformerShape& target);

class FeatureDrafter : public Method {
 public:
  FeatureDrafter(const Transformer& target, const DraftShape& shape, Cache cache)
      : target_(target), shape_(shape), cache_(cache) {}
  int depth() const override { return shape_.depth(); }
  Proposal propose(Ops&, Session&) override;

 protected:
  // The drafter's next state from (state, next token) of each row of a pass over its own cache.
  virtual Tensor forward(Ops&, Tensor state, Tensor tokens, PassRef) const = 0;
  virtual Tensor logits(Ops&, Tensor state) const = 0;
  virtual Tensor target_ids(Ops&, Tensor ids) const { return ids; }
  Tensor state(Ops& ops, const Session& s) const {  // the state behind the newest committed pair
    return s.state(ops, "drafter.state", 1, target_.shape.hidden, ops.activations());
  }
  const Transformer& target_;
  DraftShape shape_;
  Cache cache_;

 private:
  Proposal propose_tree(Ops&, Session&);
};

}  // namespace draftline::methods
