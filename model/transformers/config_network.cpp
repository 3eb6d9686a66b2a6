// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/config_network.h"

#include "core/int_indexed.h"

namespace draftline::config {

LayerKind ConfigNetwork::layer(int index) const {
  if (layer_kinds.empty()) return {.experts = experts.has_value()};
  return layer_kinds.at(at(index));
}

AttentionHeads ConfigNetwork::heads_of(const LayerKind& kind) const {
  if (kind.attention == AttentionKind::sliding && windowed_heads) return *windowed_heads;
  return {heads, kv_heads, head_dim, value_dim.value_or(head_dim), values_are_keys};
}

static Rope rope_of(const ConfigNetwork& s, const LayerKind& kind, int head_dim) {
  const auto growth = s.query_growth && s.query_growth->rotated == kind.rope ? s.query_growth : std::nullopt;
  if (!kind.rope) return {s.rope_theta, 0, {}, growth};
  const auto rotated = [&](double share) { return static_cast<int>(head_dim * share) / 2 * 2; };
  if (kind.attention == AttentionKind::sliding && s.window_rope)
    return {s.window_rope->theta, rotated(s.window_rope->share), {}, growth};
  return {s.rope_theta, rotated(s.rotary_share), s.rope_scaling, growth};
}

static HeadAttention head_attention(const ConfigNetwork& s, const LayerKind& kind) {
  const bool sliding = kind.attention == AttentionKind::sliding, chunked = kind.attention == AttentionKind::chunked;
  HeadAttention a{.heads = s.heads_of(kind),
                  .qk_norm = s.qk_norm,
                  .value_norm = s.value_norm,
                  .qkv_bias = s.qkv_bias,
                  .o_bias = s.o_bias,
                  .sinks = s.sinks == Sinks::all || (s.sinks == Sinks::windowed && sliding),
                  .output_gate = s.output_gate,
                  .query_scale = s.query_scale,
                  .value_scale = s.value_scale};
  if (sliding || chunked) a.window = TextWindow{s.window, chunked};
  a.rope = rope_of(s, kind, a.heads.head_dim);
  if (s.rotated_qk_norm && kind.rope && s.qk_norm == QkNorm::none) a.qk_norm = QkNorm::unweighted;
  return a;
}

static LatentHeads latent_heads(const ConfigNetwork& s, const LayerKind& kind) {
  LatentHeads a{s.heads, s.latent.value(), rope_of(s, kind, s.head_dim), s.query_scale, kind.shares_choice};
  a.rope.columns = a.dims.rope_dim;
  if (kind.shares_choice) a.dims.indexer.reset();
  return a;
}

LayerShape ConfigNetwork::layer_shape(const LayerKind& kind) const {
  LayerShape l{.hidden = whole.hidden,
               .norm = whole.norm,
               .norm_epsilon = whole.norm_epsilon,
               .norms = norms,
               .parallel = parallel_attention,
               .scaled = layer_scale};
  if (kind.attention == AttentionKind::delta_net) l.attention = delta_net.value();
  else if (latent) l.attention = latent_heads(*this, kind);
  else l.attention = head_attention(*this, kind);
  const DenseMlp dense{whole.intermediate, mlp};
  if (!kind.experts) {
    l.mlp = dense;
    return l;
  }
  Experts e = experts.value();
  e.kind = mlp;
  if (experts_beside_mlp) l.mlp = ExpertsBesideMlp{dense, e};
  else l.mlp = e;
  return l;
}

TransformerShape network_of(const ConfigNetwork& s) {
  TransformerShape network = s.whole;
  for (int i = 0; i < s.layers; ++i) network.add_layer(s.layer_shape(s.layer(i)));
  if (s.mtp_layer) network.mtp_layer = s.layer_shape(*s.mtp_layer);
  return network;
}

}  // namespace draftline::config
