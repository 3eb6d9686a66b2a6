// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer, written once over Ops: Llama, Qwen2 (QKV bias), Qwen3 (QK-norm), mixtures of experts, and
// Falcon's parallel attention. Layers may be skipped, read from, entered and left anywhere: drafters reuse them.
#pragma once
#include <map>
#include <span>

#include "decoder/ops.h"
#include "model/transformer_shape.h"

namespace draftline {

// The residual stream with its pending branch: x + delta is added by the next norm (one kernel), or on demand.
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
  std::optional<Weight> shared_gate_up, shared_down;  // beside experts
  Weight qkv, o, gate_up, down;
};
// What differs in a drafter's layer: its input may be wider, its input norm missing, its MLP missing.
struct LayerOptions {
  int inputs = 0;  // columns that qkv reads; 0: hidden
  bool input_norm = true, mlp = true;
  bool experts = true;  // where the shape has any
};
LayerWeights make_layer(WeightStore&, const std::string& prefix, const TransformerShape&, const LayerOptions& = {});

// One attention sublayer behind its norm: y [n, inputs] -> [n, hidden]
Tensor self_attention(Ops&, Tensor y, const LayerWeights&, const TransformerShape&, PassRef, Cache, int layer,
                      int ranks = 1);
// One MLP sublayer behind its norm: y [n, hidden] -> [n, hidden]
Tensor mlp(Ops&, Tensor y, const LayerWeights&, const TransformerShape&, int ranks = 1);
Rope rope_of(const TransformerShape&);

struct LayerUse {  // Self-Spec drops sublayers, S3D and LayerSkip whole layers
  int layer;
  bool attention = true, mlp = true;
};
std::vector<LayerUse> layers_between(int from, int to);

class Transformer {
 public:
  // `shape` is one rank's share (model/transformer_shape shard) if ranks > 1. `prefix` tells networks in one store apart;
  // `capacity`: cache entries per seat.
  Transformer(const TransformerShape& shape, WeightStore&, Ops&, int capacity, const std::string& prefix = "",
              int ranks = 1);

  // Runs layers on the stream. auxiliary_states[i] gets the state that enters layer i (layers = before the final norm).
  void run(Ops&, Stream&, PassRef, std::span<const LayerUse>, std::map<int, Tensor>* auxiliary_states = nullptr) const;
  void run(Ops& ops, Stream& x, PassRef p, std::map<int, Tensor>* auxiliary_states = nullptr) const {
    run(ops, x, p, all_, auxiliary_states);
  }

  // The embedding is divided by vocabulary, like the head: each rank looks up its own tokens, and the rows are summed; of
  // the logits every rank has some columns, which meet before a token is chosen.
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
