// SPDX-License-Identifier: Apache-2.0
// The network of drafters that propose a block at once (DFlash: Chen et al. 2026, section 4, and z-lab/dflash). Hidden
// states of some of the target's layers are fused, fc n*d -> d and a norm, and become keys and values in each layer of
// the drafter as soon as their tokens are committed. A block is the root and mask tokens: one pass over that cache in
// which every row of the block attends to all others, unless a checkpoint's layer is causal. Embedding and LM head are
// the target's, except in files of the speculators library, which have their own.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "methods/drafting/draft_head.h"
#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/masked_rows.h"
#include "methods/table.h"

namespace draftline::methods {

struct BlockShape {
  int block = 16;            // rows of the block, the root's included
  int trained = 0;           // of the blocks that its checkpoint was trained on; 0: no checkpoint, or not known
  LayerShape layer;          // of each of its layers, without a window
  std::vector<int> windows;  // of each layer: entries that a root sees, itself included; 0: all. The block's other
                             // rows see them too, in a causal layer as many
  std::vector<bool> causal;  // of each layer; none are if it is empty
  std::vector<int> target_layers;  // by the states that enter them
  int mask_token = 0;
  std::optional<int> vocabulary = {};  // of an LM head of its own
  bool own_embedding = false;
  int conv_taps = 0, conv_group = 16;  // DFlash 2's convolution around each sublayer; 0 taps: none
};
// The number of drafts of a block with this many rows, whose root row predicts the first draft or nothing.
struct BlockDrafts {
  bool root_predicts;
  int of(int block) const { return root_predicts ? block : block - 1; }
  int rows_for(int drafts) const { return root_predicts ? drafts : drafts + 1; }
};
inline BlockDrafts block_drafts(const Entry& e) { return {root_predicts(e.checkpoint.value())}; }

inline constexpr int kMostBlockDrafts = 64;

struct BlockParameters : Parameters {
  std::optional<int> block_size, mask_token, window;
  Setting<int> layers = 5;
  std::optional<std::vector<int>> target_layers;
};
// The parameters of every block drafter, and `more` of its own.
std::vector<Field<BlockParameters>> block_fields(const BlockDrafts&);
template <class P>
ParameterList block_parameters(const BlockDrafts& drafts, const std::vector<Field<P>>& more = {}) {
  std::vector<Field<P>> all;
  for (const Parameter& f : block_fields(drafts)) all.push_back({f});
  all.insert(all.end(), more.begin(), more.end());
  return all;
}
BlockShape block_shape(const Context&);  // of the parameters and the checkpoint, if there is one
std::optional<Mistake> inconsistent_block(const MethodSpec&);
std::optional<Mistake> unfit_block(const Context&);

class BlockDrafter : public Method {
 public:
  BlockDrafter(Context&, const std::string& prefix, BlockShape);
  int depth() const override { return length_; }
  std::optional<int> longest_chain() const override;
  std::vector<int> auxiliary_layers() const override { return block_.target_layers; }
  void extend(Ops&, const Session&, const Committed&) override;

 protected:
  // The normed states of a block behind each root, [sequences * block, hidden], or of its masks, one less for each.
  Tensor states(Ops&, const Session&) const;
  Tensor mask_states(Ops&, const Session&) const;
  Tensor logits(Ops& ops, Tensor states) const { return head_.logits(ops, target_, states); }
  int columns_of_logits() const { return head_.columns(target_); }

  const Transformer& target_;
  BlockShape block_;
  int length_;
  DraftHead head_;

 private:
  struct Convolution {
    Weight kernel, into, out_of;  // what a row adds to the taps before and behind the sublayer; these taps
  };
  struct Layer {
    LayerWeights rest;  // without qkv
    Weight q, kv;       // separate, because committed tokens need no queries
    Cache cache;        // of the layers with the same window; this is the one `in_cache`
    int in_cache = 0;
    bool causal = false;
    std::optional<Convolution> attention_conv, mlp_conv;
  };
  const HeadAttention& attention() const { return *block_.layer.heads(); }
  float epsilon() const { return epsilon_of(block_.layer); }
  Tensor keys(Ops&, const Layer&, Tensor kv) const;
  Tensor values(Tensor kv) const;
  // A sublayer between its convolutions, if it has any.
  Tensor convolved(Ops&, const std::optional<Convolution>&, Tensor y, const std::function<Tensor(Tensor)>&) const;

  BlockDrafts drafts_;
  std::optional<Weight> embedding_;
  Weight fc_, state_norm_, out_norm_;
  std::vector<Layer> layers_;
};

}  // namespace draftline::methods
