// SPDX-License-Identifier: Apache-2.0
// The common part of EAGLE-2, HASS and EAGLE-3: a small network continues the target's hidden states and drafts a
// chain, or a dynamic tree that grows by joint probability (Li et al. 2024b, section 4). The number of nodes per level
// is fixed and the tree's shape is device data, so that a step has one tape and no host read while drafting.
#pragma once
#include "methods/table.h"

namespace draftline::methods {

struct DraftShape {  // a chain of `length`, or a tree if top_k > 0
  int length = 5;
  int top_k = 0;   // candidates per node, and nodes per level that are expanded
  int passes = 5;  // forward passes of the drafter: levels after the first
  int nodes = 59;  // tree size: drafts that are verified
  int depth() const { return top_k == 0 ? length : passes + 1; }
};
inline constexpr int kMostCandidates = 64;  // of a level
// The shape of the parameters: a chain of the draft length, "tree", or else the entry's usual chain or the tree of the
// authors' code, whose levels have at most `candidates`.
DraftShape draft_shape(const MethodSpec&, int candidates);

// A drafter's layer for a target: Llama's, of the target's hidden size, heads and MLP columns, with its rope, its kind
// of norm, and GELU where it has that.
LayerShape drafter_layer(const TransformerShape& target);
// The same over latents where the target has these, without an indexer.
LayerShape native_drafter_layer(const TransformerShape& target);

// The sublayers of a drafter's layer, their norms before them, whose results are added to the stream.
inline float epsilon_of(const LayerShape& s) { return static_cast<float>(s.norm_epsilon); }
void add_attention(Ops&, Stream&, const LayerWeights&, PassRef, const Transformer::LayerCache&, int ranks);
void add_mlp(Ops&, Stream&, const LayerWeights&, int ranks, int sequences = 0);

class FeatureDrafter : public Method {
 public:
  // `prefix` begins the names of its weights.
  FeatureDrafter(Context&, const DraftShape&, const DrafterConfig&, const std::string& prefix);
  int depth() const override { return shape_.depth(); }
  Proposal propose(Ops&, Session&) override;

 protected:
  // The drafter's next states, [rows, hidden], from the state and the next token of each row, in a pass over its cache.
  virtual Tensor forward(Ops&, Tensor state, Tensor tokens, PassRef) const = 0;
  virtual Tensor logits(Ops&, Tensor state) const = 0;               // [rows, drafter's vocabulary]
  virtual Tensor target_ids(Ops&, Tensor ids) const { return ids; }  // ids of the target's vocabulary
  Tensor state(Ops& ops, const Session& s) const {  // [slots, hidden]: the state after the newest committed pair
    return s.state(ops, "drafter.state", 1, target_.shape.hidden, ops.activations());
  }
  Tensor embed(Ops& ops, Tensor tokens) const {  // by its own embedding or the target's
    return embedding_ ? ops.embed(*embedding_, tokens) : target_.embed(ops, tokens);
  }
  float epsilon() const { return epsilon_of(drafter_.layer); }
  const Transformer& target_;
  DraftShape shape_;
  DrafterConfig drafter_;
  Cache cache_;

 private:
  Proposal propose_tree(Ops&, Session&);
  std::optional<Weight> embedding_;
};

}  // namespace draftline::methods
