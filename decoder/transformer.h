// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer over Ops: Llama, Qwen2 (QKV bias), Qwen3 (QK-norm), mixtures of experts, and Falcon's
// parallel attention. Drafters reuse parts of it: layers may be skipped, and a pass may start and end at any layer.
#pragma once
#include <map>
#include <span>

#include "decoder/ops.h"
#include "model/transformer_shape.h"

namespace draftline {

// The residual stream [rows, hidden]. The output of the last sublayer, `delta`, is pending: the next norm adds it in
// the same kernel, or value() does.
struct Stream {
  Tensor h;
  std::optional<Tensor> delta = {};
  Tensor norm(Ops&, Weight, float epsilon);
  Tensor value(Ops&);
  void push(Ops& ops, Tensor d) {
    value(ops);
    delta = d;
  }
};

struct LayerWeights {
  std::optional<Weight> attention_norm, attention_norm_bias, qkv_bias, q_norm, k_norm, router, mlp_norm, mlp_norm_bias;
  std::optional<Weight> shared_gate_up, shared_down;  // an MLP that all rows use beside their experts
  Weight qkv, o, gate_up, down;
};
// How a drafter's layer differs from a target's.
struct LayerOptions {
  std::optional<int> inputs = {};  // columns that qkv reads; none: hidden
  bool input_norm = true, mlp = true;
  bool experts = true;  // a mixture of experts where the shape has one; false: a dense MLP
};
LayerWeights make_layer(WeightStore&, const std::string& prefix, const TransformerShape&, const LayerOptions& = {});

// An attention sublayer without its norm: y [n, inputs] -> [n, hidden], summed over tensor-parallel ranks.
Tensor self_attention(Ops&, Tensor y, const LayerWeights&, const TransformerShape&, PassRef, Cache, int layer,
                      int ranks = 1);
// An MLP sublayer without its norm: y [n, hidden] -> [n, hidden], summed over tensor-parallel ranks. `sequences`: that
// the rows belong to, which decides how many experts they touch; 0: not known, each row chooses by itself.
Tensor mlp(Ops&, Tensor y, const LayerWeights&, const TransformerShape&, int ranks = 1, int sequences = 0);
Rope rope_of(const TransformerShape&);

struct LayerUse {  // which sublayers of a layer are run: Self-Spec skips sublayers, S3D and LayerSkip whole layers
  int layer;
  bool attention = true, mlp = true;
};
std::vector<LayerUse> layers_between(int from, int to);

class Transformer {
 public:
  // `shape`: the share of one rank (shard() of model/transformer_shape) if ranks > 1. `capacity`: cache entries per
  // sequence. `prefix`: begins the names of its weights, so that several networks may share a store.
  Transformer(const TransformerShape& shape, WeightStore&, Ops&, int capacity, const std::string& prefix = "",
              int ranks = 1);

  // Runs layers on the stream. auxiliary_states[i] gets the state that enters layer i (layers = before the final norm).
  void run(Ops&, Stream&, PassRef, std::span<const LayerUse>, std::map<int, Tensor>* auxiliary_states = nullptr) const;
  void run(Ops& ops, Stream& x, PassRef p, std::map<int, Tensor>* auxiliary_states = nullptr) const {
    run(ops, x, p, all_, auxiliary_states);
  }

  // The embedding is divided by vocabulary, like the head: each rank looks up its own tokens, and the rows are summed;
  // of the logits every rank has some columns, which meet before a token is chosen.
  Tensor embed(Ops& ops, Tensor ids) const { return ops.sum_over_ranks(ops.embed(embedding, ids), ranks); }
  Tensor final_norm(Ops&, Stream&) const;
  Tensor logits(Ops& ops, Tensor normed) const {  // [n, hidden] -> [n, vocabulary()]
    return ops.gather_over_ranks(ops.linear(normed, head), ranks);
  }
  int vocabulary() const { return shape.vocabulary * ranks; }  // of all ranks; the last one's share may be padded

  TransformerShape shape;
  int ranks;
  Cache cache;
  Weight embedding, head, final_norm_weight;
  std::optional<Weight> final_norm_bias;
  std::vector<LayerWeights> layers;

 private:
  std::vector<LayerUse> all_;
};

}  // namespace draftline
