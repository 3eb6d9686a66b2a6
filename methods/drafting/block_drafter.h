// SPDX-License-Identifier: Apache-2.0
// The network of drafters that propose a block at once (DFlash: Chen et al. 2026, section 4, and z-lab/dflash). Hidden
// states of some of the target's layers are fused, fc n*d -> d and a norm, and become keys and values in each layer of
// the drafter as soon as their tokens are committed. A block is the root and mask tokens: one pass over that cache in
// which every row of the block attends to all others. Embedding and LM head are the target's.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "methods/method.h"

namespace draftline::methods {

struct BlockShape {
  int block = 16;  // rows of the block, the root's included
  int layers = 5;
  std::vector<int> target_layers;  // from 0; the state that leaves each
  int mask_token = 0;
  int window = 0;  // entries that a root sees, itself included; 0: all. The block's other rows see them too
  int conv_taps = 0, conv_group = 16;  // DFlash 2's convolution around each sublayer; 0 taps: none
};
// How many drafts a block of so many rows gives: DFlash's root row predicts nothing, DSpark's the first draft.
struct BlockDrafts {
  int usual_block;
  bool root_predicts;
  int of(int block) const { return root_predicts ? block : block - 1; }
};

// Reads "block_size" (by default what the draft length needs, or else the usual block), "layers", "target_layers",
// "mask_token" and "window". Mistakes are noted, among them a draft length beyond the block's.
BlockShape read_block(const MethodSpec&, const Transformer& target, const BlockDrafts&);
// Whether a draft length fits the parameter "block_size".
bool fits_block(const MethodSpec&, const BlockDrafts&);

class BlockDrafter {
 public:
  BlockDrafter(Context&, const std::string& prefix, BlockShape);
  const BlockShape& shape() const { return block_; }
  std::vector<int> auxiliary_layers() const;

  void extend(Ops&, const Session&, const Committed&) const;
  // The normed states of a block behind each root, [sequences * block, hidden], or of its masks, one less for each.
  Tensor states(Ops&, const Session&) const;
  Tensor mask_states(Ops&, const Session&) const;

 private:
  struct Convolution {
    Weight kernel, into, out_of;  // what a row adds to the taps before and behind the sublayer; these taps
  };
  struct Layer {
    LayerWeights rest;  // without qkv
    Weight q, kv;       // apart, as the committed tokens need no queries
    std::optional<Convolution> attention_conv, mlp_conv;
  };
  float epsilon() const { return static_cast<float>(shape_.norm_epsilon); }
  Tensor keys(Ops&, const Layer&, Tensor kv) const;
  Tensor values(Tensor kv) const;
  // A sublayer between its convolutions, if it has any.
  Tensor convolved(Ops&, const std::optional<Convolution>&, Tensor y, const std::function<Tensor(Tensor)>&) const;

  const Transformer& target_;
  TransformerShape shape_;
  BlockShape block_;
  Cache cache_;
  Weight fc_, state_norm_, out_norm_;
  std::vector<Layer> layers_;
};

}  // namespace draftline::methods
