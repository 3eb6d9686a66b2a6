// SPDX-License-Identifier: Apache-2.0
// One decoder layer over Ops: its weights, and its two sublayers without their norms.
#pragma once
#include "decoder/compressed_attention.h"
#include "decoder/latent_attention.h"
#include "decoder/ops.h"
#include "model/transformers/layer_shape.h"

namespace draftline {

// The residual stream [rows, hidden]. The output of the last sublayer, `delta`, is pending: the next norm adds it in
// the same kernel, or value() does.
struct Stream {
  Tensor h;
  std::optional<Tensor> delta = {};
  Tensor norm(Ops&, Weight, float epsilon);
  Tensor value(Ops&);
  void scale(Ops&, Weight);  // including the pending output; throws Bug if nothing is pending
  void push(Ops& ops, Tensor d) {
    value(ops);
    delta = d;
  }
};

// In addition to `o` and `qkv`, whose columns are q, k, v and the output's gates. With gates per column they have
// matrices of their own; those that narrow the rows are one matrix, `narrow`.
struct DeltaNetWeights {
  Weight gates, convolution, a_log, dt_bias, norm;
  std::optional<Weight> narrow = {}, decays = {}, results = {};
};
struct MambaWeights {  // the columns of `in`: gates; inputs, B, C; steps
  Weight in, convolution, out;
  std::optional<Weight> convolution_bias = {}, norm = {};
  std::optional<Weight> select = {}, steps = {};  // of Mamba-1: B, C and the latent of the steps; the steps
  ScanWeights heads = {};
};
struct BlockWeights {  // of an indexer of blocks: its queries and its key; the norms of both
  Weight index, norms;
};
struct BesideMlpNorms {  // behind the MLP; before the router, before the experts and behind them
  Weight mlp, router, experts, experts_post;
};
struct LayerWeights {
  LayerShape shape;
  std::optional<Weight> attention_norm, attention_norm_bias, qkv_bias, q_norm, k_norm, o_bias, sinks, mlp_norm,
      mlp_norm_bias;
  std::optional<Weight> attention_post_norm, mlp_post_norm;  // behind the sublayers
  std::optional<LatentWeights> latent;                       // replaces qkv
  std::optional<DeltaNetWeights> delta_net;
  std::optional<MambaWeights> mamba;
  std::optional<CompressedWeights> compressed;  // replaces qkv
  std::optional<BlockWeights> blocks;
  std::optional<Weight> head_gates, linear_norm;
  std::optional<Weight> attention_streams, mlp_streams;  // what mixes several residual streams
  std::optional<ExpertWeights> experts;
  std::optional<BesideMlpNorms> beside_mlp;                        // for experts beside gate_up and down
  std::optional<Weight> scale;                                     // factor on the layer's output
  std::optional<Weight> shared_gate_up, shared_down, shared_gate;  // the MLP of shared experts
  std::optional<Weight> latent_gate, narrow, widen;                // of latent attention's result; around the experts
  Weight qkv, o, gate_up, down;
};
inline float epsilon_of(const LayerWeights& w) { return single(w.shape.norm_epsilon); }
// A cache of keys and values, or of latents, for `layers` layers.
Cache make_cache(Ops&, const LayerShape&, int layers, int capacity);
LayerWeights make_layer(WeightStore&, const std::string& prefix, const LayerShape&);

struct EntryChoice {  // see Ops::select_entries
  Cache ring;
  int window, pool;
};
struct Choices {
  std::optional<EntryChoice> entries = {};  // of a pass of prompts, those that go into a ring too
  // `chosen` of latent_attention(), if several layers run one after another; null: the layer stands alone.
  std::optional<Tensor>* tokens = nullptr;
};
// An attention sublayer without its norm: y [n, inputs] -> [n, hidden], summed over tensor-parallel ranks.
Tensor self_attention(Ops&, Tensor y, const LayerWeights&, const LayerPass&, int ranks = 1, const Choices& = {});
// A recurrent sublayer without its norm, a gated delta network or a state space (also one beside attention): y [n,
// hidden] -> [n, hidden], summed over tensor-parallel ranks.
Tensor recurrence(Ops&, Tensor y, const LayerWeights&, const StatePass&, int ranks = 1);
// With several residual streams, which are priced alone: what a sublayer reads, [n, hidden], and what its result makes
// of them. `h` stands for the streams.
Tensor join_streams(Ops&, Tensor h, const LayerShape&, Weight mixes, PassRef);
Tensor spread_streams(Ops&, Tensor h, Tensor result, const LayerShape&, PassRef);
// An MLP sublayer without its norm: y [n, hidden] -> [n, hidden], summed over tensor-parallel ranks. `sequences`: the
// number of sequences of the rows, which affects the number of experts read; 0: unknown, rows choose independently.
// `residual`: the input of the norm that computed y, read by experts beside a dense MLP.
Tensor mlp(Ops&, Tensor y, const LayerWeights&, int ranks = 1, int sequences = 0, std::optional<Tensor> residual = {});
}  // namespace draftline
