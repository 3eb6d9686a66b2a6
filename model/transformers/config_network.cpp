// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/config_network.h"

#include "core/int_indexed.h"

namespace draftline::config {

LayerKind ConfigNetwork::kind(int layer) const {
  return layer_kinds.empty() ? LayerKind{.experts = experts.has_value()} : layer_kinds.at(at(layer));
}

AttentionHeads ConfigNetwork::heads_of(const LayerKind& kind) const {
  if (kind.attention == AttentionKind::sliding && windowed_heads) return *windowed_heads;
  AttentionHeads h = attention.heads;
  if (h.value_dim == 0) h.value_dim = h.head_dim;
  if (kind.kv_heads) h.kv_heads = *kind.kv_heads;
  return h;
}

static Rope rope_of(const ConfigNetwork& s, const LayerKind& kind, int head_dim) {
  Rope rope = s.attention.rope;
  if (rope.growth && rope.growth->rotated != kind.rope) rope.growth.reset();
  const bool windows = kind.attention == AttentionKind::sliding && s.window_rope;
  if (windows || !kind.rope) rope.scaling.reset();
  if (!kind.rope) return rope;
  if (windows) rope.theta = s.window_rope->theta;
  rope.columns = static_cast<int>(head_dim * (windows ? s.window_rope->share : s.rotary_share)) / 2 * 2;
  return rope;
}

static HeadAttention head_attention(const ConfigNetwork& s, const LayerKind& kind) {
  const bool sliding = kind.attention == AttentionKind::sliding, chunked = kind.attention == AttentionKind::chunked;
  HeadAttention a = s.attention;
  a.heads = s.heads_of(kind);
  a.rope = rope_of(s, kind, a.heads.head_dim);
  if (sliding || chunked) a.window = TextWindow{s.window, chunked};
  if (sliding && s.windowed_sinks) a.sinks = true;
  if (kind.attention != AttentionKind::blocks) a.blocks.reset();
  if (s.rotated_qk_norm && kind.rope && a.qk_norm == QkNorm::none) a.qk_norm = QkNorm::unweighted;
  return a;
}

static LatentHeads latent_heads(const ConfigNetwork& s, const LayerKind& kind) {
  const HeadAttention& all = s.attention;
  LatentHeads a{all.heads.heads, s.latent.value(),   rope_of(s, kind, all.heads.head_dim),
                all.query_scale, kind.shares_choice, s.latent_output_gate};
  a.rope.columns = a.dims.rope_dim;
  a.gate_each_head = s.latent_head_gates;
  if (kind.shares_choice) a.dims.indexer.reset();
  return a;
}

// Layers with an indexer are those whose entries overlap.
static CompressedAttention compressed_attention(const ConfigNetwork& s, const LayerKind& kind) {
  CompressedAttention a = s.compressed.value();
  a.compression = kind.compression;
  a.overlaps = kind.chosen_entries;
  if (!a.overlaps) a.indexer.reset();
  return a;
}

static void set_attention(const ConfigNetwork& s, const LayerKind& kind, LayerShape& l) {
  switch (kind.attention) {
    case AttentionKind::none: l.attention = NoAttention{}; break;
    case AttentionKind::delta_net: l.attention = s.delta_net.value(); break;
    case AttentionKind::linear: l.attention = s.linear.value(); break;
    case AttentionKind::compressed: l.attention = compressed_attention(s, kind); break;
    case AttentionKind::mamba:
      if (s.mamba1) l.attention = *s.mamba1;
      else l.attention = s.mamba.value();
      break;
    case AttentionKind::beside_mamba:
      l.attention = AttentionBesideMamba{head_attention(s, kind), s.mamba.value()};
      break;
    default:
      if (s.latent) l.attention = latent_heads(s, kind);
      else l.attention = head_attention(s, kind);
  }
}

LayerShape ConfigNetwork::layer_shape(const LayerKind& kind) const {
  LayerShape l = base;
  l.hidden = whole.hidden;
  l.norm = whole.norm;
  l.norm_epsilon = whole.norm_epsilon;
  set_attention(*this, kind, l);
  const DenseMlp dense{kind.intermediate.value_or(whole.intermediate), mlp, mlp_bias};
  if (!kind.mlp) {
    l.mlp = NoMlp{};
    return l;
  }
  l.mlp = dense;
  if (!kind.experts) return l;
  Experts e = experts.value();
  e.kind = mlp;
  if (experts_beside_mlp) l.mlp = ExpertsBesideMlp{dense, e};
  else l.mlp = e;
  return l;
}

TransformerShape network_of(const ConfigNetwork& s) {
  TransformerShape network = s.whole;
  for (int i = 0; i < s.layers; ++i) network.add_layer(s.layer_shape(s.kind(i)));
  if (s.mtp_layer) network.mtp_layer = s.layer_shape(*s.mtp_layer);
  return network;
}

}  // namespace draftline::config
