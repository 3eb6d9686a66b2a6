// SPDX-License-Identifier: Apache-2.0
#include "decoder/transformer.h"

namespace draftline {

static float epsilon_of(const TransformerShape& s) { return static_cast<float>(s.norm_epsilon); }

// ---- the residual stream

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

// ---- one layer

LayerWeights make_layer(WeightStore& store, const std::string& prefix, const TransformerShape& s,
                        const LayerOptions& options) {
  LayerWeights w;
  const int qkv = s.q_columns() + 2 * s.kv_columns(), in = options.inputs.value_or(s.hidden);
  const bool biased_norm = s.norm == NormKind::layer;
  if (options.input_norm) {
    w.attention_norm = store.vector(prefix + "input_norm", s.hidden);
    if (biased_norm) w.attention_norm_bias = store.vector(prefix + "input_norm_bias", s.hidden);
  }
  w.qkv = store.attention(prefix + "qkv", in, qkv);
  if (s.qkv_bias) w.qkv_bias = store.vector(prefix + "qkv_bias", qkv);
  if (s.qk_norm) {
    w.q_norm = store.vector(prefix + "q_norm", s.head_dim);
    w.k_norm = store.vector(prefix + "k_norm", s.head_dim);
  }
  w.o = store.attention(prefix + "o", s.q_columns(), s.hidden);
  if (!options.mlp) return w;
  w.mlp_norm = store.vector(prefix + "mlp_norm", s.hidden);
  if (biased_norm) w.mlp_norm_bias = store.vector(prefix + "mlp_norm_bias", s.hidden);
  if (s.experts && options.experts) {
    const Experts& e = *s.experts;
    w.router = store.table(prefix + "router", s.hidden, e.count);
    w.gate_up = store.experts(prefix + "experts.gate_up", e.count, s.hidden, 2 * e.intermediate);
    w.down = store.experts(prefix + "experts.down", e.count, e.intermediate, s.hidden);
    if (e.shared > 0) {
      w.shared_gate_up = store.matrix(prefix + "shared.gate_up", s.hidden, 2 * e.shared);
      w.shared_down = store.matrix(prefix + "shared.down", e.shared, s.hidden);
    }
  } else {
    w.gate_up = store.matrix(prefix + "gate_up", s.hidden, (s.mlp == MlpKind::gated_silu ? 2 : 1) * s.intermediate);
    w.down = store.matrix(prefix + "down", s.intermediate, s.hidden);
  }
  return w;
}

Rope rope_of(const TransformerShape& s) {
  const int rotated = static_cast<int>(s.head_dim * s.rotary_share) / 2 * 2;
  return {s.rope_theta, rotated, s.rope_scaling};
}

Tensor self_attention(Ops& ops, Tensor y, const LayerWeights& w, const TransformerShape& s, PassRef pass, Cache cache,
                      int layer, int ranks) {
  const int q_cols = s.q_columns(), kv_cols = s.kv_columns();
  const Tensor qkv = ops.linear(y, w.qkv, w.qkv_bias);
  Tensor q = columns(qkv, 0, q_cols), k = columns(qkv, q_cols, kv_cols);
  if (w.q_norm) {
    q = ops.rms_norm(q, *w.q_norm, epsilon_of(s), s.head_dim);
    k = ops.rms_norm(k, *w.k_norm, epsilon_of(s), s.head_dim);
  }
  const Tensor rotated = ops.rope_append(q, k, columns(qkv, q_cols + kv_cols, kv_cols), rope_of(s), pass, cache, layer);
  return ops.sum_over_ranks(ops.linear(ops.attend(rotated, pass, cache, layer), w.o), ranks);
}

Tensor mlp(Ops& ops, Tensor y, const LayerWeights& w, const TransformerShape& s, int ranks, int sequences) {
  if (w.router) {
    Tensor z = ops.mixture_of_experts(y, *w.router, w.gate_up, w.down, *s.experts, sequences);
    if (w.shared_gate_up) z = ops.add(z, ops.linear(ops.silu_mul(ops.linear(y, *w.shared_gate_up)), *w.shared_down));
    return ops.sum_over_ranks(z, ranks);
  }
  const Tensor wide = ops.linear(y, w.gate_up);
  const Tensor inner = s.mlp == MlpKind::gated_silu ? ops.silu_mul(wide) : ops.gelu(wide);
  return ops.sum_over_ranks(ops.linear(inner, w.down), ranks);
}

std::vector<LayerUse> layers_between(int from, int to) {
  std::vector<LayerUse> uses;
  for (int i = from; i < to; ++i) uses.push_back({i});
  return uses;
}

// ---- the network

Transformer::Transformer(const TransformerShape& s, WeightStore& store, Ops& ops, int capacity,
                         const std::string& prefix, int tensor_parallel)
    : shape(s), ranks(tensor_parallel), all_(layers_between(0, s.layers)) {
  embedding = store.embedding(prefix + "embedding", s.vocabulary, s.hidden);
  for (int i = 0; i < s.layers; ++i)
    layers.push_back(make_layer(store, prefix + "layers." + std::to_string(i) + ".", s,
                                {.experts = s.experts && i >= s.experts->dense_layers}));
  final_norm_weight = store.vector(prefix + "final_norm", s.hidden);
  if (s.norm == NormKind::layer) final_norm_bias = store.vector(prefix + "final_norm_bias", s.hidden);
  head = store.lm_head(prefix + "lm_head", s.hidden, s.vocabulary, s.tied_embeddings);
  cache = ops.cache(s.layers, s.kv_heads, s.head_dim, capacity);
}

// A LayerNorm has no fused kernel that adds the pending branch, so that is added first.
static Tensor norm(Ops& ops, Stream& x, Weight w, const std::optional<Weight>& bias, float epsilon) {
  return bias ? ops.layer_norm(x.value(ops), w, *bias, epsilon) : x.norm(ops, w, epsilon);
}

void Transformer::run(Ops& ops, Stream& x, PassRef pass, std::span<const LayerUse> use,
                      std::map<int, Tensor>* auxiliary_states) const {
  const float epsilon = epsilon_of(shape);
  const int sequences = ops.sequences(pass);
  const auto keep_state = [&](int layer) {
    if (auxiliary_states && auxiliary_states->contains(layer)) (*auxiliary_states)[layer] = x.value(ops);
  };
  for (const LayerUse& u : use) {
    const LayerWeights& w = layers[static_cast<std::size_t>(u.layer)];
    Tensor y;
    if (u.attention) y = norm(ops, x, *w.attention_norm, w.attention_norm_bias, epsilon);
    keep_state(u.layer);  // comes after the norm, which has added the pending branch already
    Tensor attended;
    if (u.attention) attended = self_attention(ops, y, w, shape, pass, cache, u.layer, ranks);
    if (shape.parallel_attention) {
      const Tensor z = norm(ops, x, *w.mlp_norm, w.mlp_norm_bias, epsilon);
      if (u.attention) x.push(ops, attended);
      if (u.mlp) x.push(ops, mlp(ops, z, w, shape, ranks, sequences));
      continue;
    }
    if (u.attention) x.push(ops, attended);
    if (u.mlp) {
      const Tensor z = norm(ops, x, *w.mlp_norm, w.mlp_norm_bias, epsilon);
      x.push(ops, mlp(ops, z, w, shape, ranks, sequences));
    }
  }
}

Tensor Transformer::final_norm(Ops& ops, Stream& x) const {
  return norm(ops, x, final_norm_weight, final_norm_bias, epsilon_of(shape));
}

}  // namespace draftline
