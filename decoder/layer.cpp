// SPDX-License-Identifier: Apache-2.0
#include "decoder/layer.h"

#include <algorithm>

#include "decoder/rope.h"
#include "model/expert_load.h"

namespace draftline {

Tensor Stream::norm(Ops& ops, Weight w, float epsilon) {
  if (!delta) return ops.rms_norm(h, w, epsilon);
  const AddRmsNorm both = ops.add_rms_norm(h, *delta, w, epsilon);
  h = both.sum;
  delta.reset();
  return both.y;
}

Tensor Stream::value(Ops& ops) {
  if (delta) {
    h = ops.add(h, *delta);
    delta.reset();
  }
  return h;
}

void Stream::scale(Ops& ops, Weight w) {
  check(delta.has_value(), "a layer's scale follows what it adds");
  h = ops.add_scaled(h, *delta, w);
  delta.reset();
}

Cache make_cache(Ops& ops, const TransformerShape& s, int layers, int capacity, Window window, const LayerKind& kind) {
  if (s.latent) return ops.latent_cache(layers, *s.latent, s.has_indexer(kind), capacity);
  const AttentionHeads h = s.heads_of(kind);
  return ops.cache(layers, h.kv_heads, h.head_dim, capacity, window, h.value_dim);
}

static void make_experts(WeightStore& store, const std::string& prefix, const TransformerShape& s, LayerWeights& w) {
  const Experts& e = s.experts.value();
  if (e.beside_mlp) {
    const auto norm = [&](const std::string& name) { return store.vector(prefix + name, s.hidden); };
    w.beside_mlp =
        BesideMlpNorms{norm("mlp_own_norm"), norm("router_norm"), norm("experts_norm"), norm("experts_post_norm")};
  }
  const auto vectors = [&](const std::string& name, int count, int n) {
    return store.table(prefix + "experts." + name, count, n);
  };
  ExpertWeights& x = w.experts.emplace();
  x.router = store.table(prefix + "router", s.hidden, e.count);
  if (e.choice_bias) x.choice_bias = store.vector(prefix + "router.choice_bias", e.count);
  if (e.beside_mlp) x.expert_scale = store.vector(prefix + "router.expert_scale", e.count);
  x.gate_up = store.experts(prefix + "experts.gate_up", e.stored(), s.hidden, 2 * e.intermediate);
  x.down = store.experts(prefix + "experts.down", e.stored(), e.intermediate, s.hidden);
  if (e.bias) {
    x.router_bias = store.vector(prefix + "router.bias", e.count);
    x.gate_up_bias = vectors("gate_up_bias", e.stored(), 2 * e.intermediate);
    x.down_bias = vectors("down_bias", e.stored(), s.hidden);
  }
  if (e.shared == 0) return;
  w.shared_gate_up = store.matrix(prefix + "shared.gate_up", s.hidden, 2 * e.shared);
  w.shared_down = store.matrix(prefix + "shared.down", e.shared, s.hidden);
  if (e.shared_gate) w.shared_gate = store.table(prefix + "shared.gate", s.hidden, 1);
}

// qkv's columns: of attention queries, keys, values and the gates of its output, where it has them.
static int attention_inputs(const TransformerShape& s, const AttentionHeads& h) {
  return h.projected_columns() + (s.output_gate ? h.result_columns() : 0);
}

static void add_attention(LayerWeights& w, WeightStore& store, const std::string& prefix, const TransformerShape& s,
                          int in) {
  const AttentionHeads h = s.heads_of(w.kind);
  const int qkv = attention_inputs(s, h);
  if (s.latent) w.latent = make_latent(store, prefix, s, w.kind, in);
  else w.qkv = store.attention(prefix + "qkv", in, qkv);
  if (s.qkv_bias) w.qkv_bias = store.vector(prefix + "qkv_bias", qkv);
  if (s.qk_norm != QkNorm::none) {
    const bool whole = s.qk_norm == QkNorm::all_heads;
    w.q_norm = store.vector(prefix + "q_norm", whole ? h.q_columns() : h.head_dim);
    w.k_norm = store.vector(prefix + "k_norm", whole ? h.k_columns() : h.head_dim);
  }
  w.o = store.attention(prefix + "o", h.result_columns(), s.hidden);
  if (s.o_bias) w.o_bias = store.vector(prefix + "o_bias", s.hidden);
  if (s.has_sinks(w.kind)) w.sinks = store.vector(prefix + "sinks", h.heads);
}

static void add_delta_net(LayerWeights& w, WeightStore& store, const std::string& prefix, const TransformerShape& s) {
  const DeltaNet& d = s.delta_net.value();
  w.qkv = store.attention(prefix + "qkvz", s.hidden, d.convolved_columns() + d.value_columns());
  w.delta_net = {.gates = store.table(prefix + "gates", s.hidden, 2 * d.value_heads),
                 .convolution = store.table(prefix + "convolution", d.kernel, d.convolved_columns()),
                 .a_log = store.vector(prefix + "a_log", d.value_heads),
                 .dt_bias = store.vector(prefix + "dt_bias", d.value_heads),
                 .norm = store.vector(prefix + "delta_norm", d.value_dim)};
  w.o = store.attention(prefix + "o", d.value_columns(), s.hidden);
}

LayerWeights make_layer(WeightStore& store, const std::string& prefix, const TransformerShape& s,
                        const LayerOptions& options) {
  LayerWeights w;
  w.kind = options.kind;
  const bool biased_norm = s.norm == NormKind::layer;
  if (options.input_norm && s.norms_before()) {
    w.attention_norm = store.vector(prefix + "input_norm", s.hidden);
    if (biased_norm) w.attention_norm_bias = store.vector(prefix + "input_norm_bias", s.hidden);
  }
  if (options.kind.attention == AttentionKind::delta_net) add_delta_net(w, store, prefix, s);
  else add_attention(w, store, prefix, s, options.inputs.value_or(s.hidden));
  if (s.norms_behind()) w.attention_post_norm = store.vector(prefix + "attention_post_norm", s.hidden);
  if (!options.mlp) return w;
  if (s.norms_before()) {
    w.mlp_norm = store.vector(prefix + "mlp_norm", s.hidden);
    if (biased_norm) w.mlp_norm_bias = store.vector(prefix + "mlp_norm_bias", s.hidden);
  }
  if (s.norms_behind()) w.mlp_post_norm = store.vector(prefix + "mlp_post_norm", s.hidden);
  if (s.layer_scale) w.scale = store.vector(prefix + "scale", 1);
  if (options.kind.experts) make_experts(store, prefix, s, w);
  if (!options.kind.experts || s.experts->beside_mlp) {
    w.gate_up = store.matrix(prefix + "gate_up", s.hidden, (s.mlp == MlpKind::gelu ? 1 : 2) * s.intermediate);
    w.down = store.matrix(prefix + "down", s.intermediate, s.hidden);
  }
  return w;
}

Tensor self_attention(Ops& ops, Tensor y, const LayerWeights& w, const TransformerShape& s, PassRef pass, Cache cache,
                      int layer, int ranks, const std::optional<EntryChoice>& choice, std::optional<Tensor>* chosen) {
  if (w.latent) {
    std::optional<Tensor> own;
    const Tensor values = latent_attention(ops, y, *w.latent, s, pass, cache, layer, chosen != nullptr ? *chosen : own);
    return ops.sum_over_ranks(ops.linear(values, w.o), ranks);
  }
  const AttentionHeads h = s.heads_of(w.kind);
  const int q_cols = h.q_columns(), k_cols = h.k_columns(), v_cols = h.v_columns();
  const int values_at = h.values_are_keys ? q_cols : q_cols + k_cols;
  const auto epsilon = static_cast<float>(s.norm_epsilon);
  const Tensor qkv = ops.linear(y, w.qkv, w.qkv_bias);
  Tensor q = columns(qkv, 0, q_cols), k = columns(qkv, q_cols, k_cols);
  // A rotation leaves the norm of a head as it is, so that norms without weights may come before it.
  if (s.qk_norm == QkNorm::all_heads) {
    ops.sum_over_ranks(columns(qkv, 0, 4), ranks);  // of two sums of squares in 32 bits, which are as wide
    q = ops.rms_norm(q, w.q_norm, epsilon);
    k = ops.rms_norm(k, w.k_norm, epsilon);
  } else if (w.q_norm || (s.rotated_qk_norm && w.kind.rope)) {
    q = ops.rms_norm(q, w.q_norm, epsilon, h.head_dim);
    k = ops.rms_norm(k, w.k_norm, epsilon, h.head_dim);
  }
  Tensor v = columns(qkv, values_at, v_cols);
  if (s.value_norm) v = ops.rms_norm(v, {}, epsilon, h.value_dim);
  const Tensor rotated = ops.rope_append(q, k, v, rope_of(s, w.kind), pass, cache, layer);
  Tensor attended = ops.attend(rotated, pass, cache, layer, s.query_scale, w.sinks);
  if (choice)
    ops.select_entries(rotated, pass, cache, choice->ring, layer, choice->window, choice->pool, s.query_scale);
  if (s.output_gate) attended = ops.sigmoid_mul(attended, columns(qkv, h.projected_columns(), h.result_columns()));
  return ops.sum_over_ranks(ops.linear(attended, w.o, w.o_bias), ranks);
}

Tensor delta_net(Ops& ops, Tensor y, const LayerWeights& w, const TransformerShape& s, PassRef pass, StateCache cache,
                 int layer, int ranks) {
  const DeltaNet& d = s.delta_net.value();
  const DeltaNetWeights& own = w.delta_net.value();
  const Tensor qkvz = ops.linear(y, w.qkv), gates = ops.linear(y, own.gates);
  const Tensor qkv = ops.convolve(columns(qkvz, 0, d.convolved_columns()), own.convolution, pass, cache, layer);
  const Tensor values = ops.gated_delta_rule(qkv, gates, own.a_log, own.dt_bias, pass, cache, layer);
  const Tensor z = columns(qkvz, d.convolved_columns(), d.value_columns());
  const Tensor normed = ops.gated_rms_norm(values, z, own.norm, static_cast<float>(s.norm_epsilon), d.value_dim);
  return ops.sum_over_ranks(ops.linear(normed, w.o), ranks);
}

// The experts' part of an MLP. Replicas of the attention bring their rows together before it and take their own back.
static Tensor experts(Ops& ops, Tensor y, const ExpertWeights& w, const TransformerShape& s, int sequences,
                      std::optional<Tensor> routed = {}) {
  const Experts& e = *s.experts;
  const bool sent = e.parallel.all_to_all;
  const int replicas = e.parallel.attention_replicas;
  if (replicas == 1) return ops.mixture_of_experts(y, w, e, s.mlp, sequences, routed);
  double copies = sent ? devices_of_row(e, replicas) : replicas;
  if (const double mean = e.parallel.expert_balancedness; mean > 0)  // the busiest device receives so many more
    copies = std::min<double>(copies / mean, replicas);
  const Tensor all = ops.dispatch_rows(y, sent ? Collective::all_to_all : Collective::all_gather, replicas, copies);
  const Tensor z = ops.mixture_of_experts(all, w, e, s.mlp, sequences * replicas);
  return ops.combine_rows(z, sent ? Collective::all_to_all : Collective::reduce_scatter, replicas, copies);
}

static Tensor dense_mlp(Ops& ops, Tensor y, const LayerWeights& w, const TransformerShape& s, int ranks) {
  const Tensor wide = ops.linear(y, w.gate_up);
  const Tensor inner = s.mlp == MlpKind::gelu         ? ops.gelu(wide)
                       : s.mlp == MlpKind::gated_gelu ? ops.gelu_mul(wide)
                                                      : ops.silu_mul(wide);
  return ops.sum_over_ranks(ops.linear(inner, w.down), ranks);
}

static Tensor beside_mlp(Ops& ops, Tensor y, Tensor residual, const LayerWeights& w, const TransformerShape& s,
                         int ranks, int sequences) {
  const auto epsilon = static_cast<float>(s.norm_epsilon);
  const BesideMlpNorms& norms = *w.beside_mlp;
  const Tensor dense = ops.rms_norm(dense_mlp(ops, y, w, s, ranks), norms.mlp, epsilon);
  const Tensor sparse = experts(ops, ops.rms_norm(residual, norms.experts, epsilon), *w.experts, s, sequences,
                                ops.rms_norm(residual, norms.router, epsilon));
  return ops.add(dense, ops.rms_norm(ops.sum_over_ranks(sparse, ranks), norms.experts_post, epsilon));
}

Tensor mlp(Ops& ops, Tensor y, const LayerWeights& w, const TransformerShape& s, int ranks, int sequences,
           std::optional<Tensor> residual) {
  check(!w.beside_mlp || residual, "experts beside an MLP read the residual stream");
  if (w.beside_mlp) return beside_mlp(ops, y, *residual, w, s, ranks, sequences);
  if (w.experts) {
    const Tensor z = experts(ops, y, *w.experts, s, sequences);
    if (!w.shared_gate_up) return ops.sum_over_ranks(z, ranks);
    Tensor shared = ops.linear(ops.silu_mul(ops.linear(y, *w.shared_gate_up)), *w.shared_down);
    if (w.shared_gate) shared = ops.sigmoid_mul(shared, ops.linear(y, *w.shared_gate));
    return ops.sum_over_ranks(ops.add(z, shared), ranks);
  }
  return dense_mlp(ops, y, w, s, ranks);
}

}  // namespace draftline
