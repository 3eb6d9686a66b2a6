// SPDX-License-Identifier: Apache-2.0
// A network as the keys of a config.json describe it: some keys hold for all layers, others for the layers of one kind.
// network_of() applies each rule once, and gives every layer its whole shape.
#pragma once
#include <optional>
#include <vector>

#include "model/transformers/transformer_shape.h"

namespace draftline::config {

// Which layers have sinks: all (gpt-oss), or those with a sliding window (MiMo-V2).
enum class Sinks { none, windowed, all };
enum class AttentionKind { full, sliding, chunked, delta_net };

struct LayerKind {  // how a layer differs from others of its network
  AttentionKind attention = AttentionKind::full;
  bool experts = false;        // whether its MLP is the mixture of experts
  bool rope = true;            // whether queries and keys are rotated
  bool shares_choice = false;  // as of LatentHeads
  bool operator==(const LayerKind&) const = default;
};

struct WindowRope {  // in layers with a sliding window, where it is not scaled (Gemma 3, MiMo-V2)
  double theta = 10000;
  double share = 1;  // of a head's columns that are rotated
};

struct ConfigNetwork {
  TransformerShape whole;  // what is no layer's; without layers until network_of()
  int layers = 0;
  std::vector<LayerKind> layer_kinds;  // one for each layer; empty: all have full attention, and experts if it has any

  // Attention.
  int heads = 0, kv_heads = 0, head_dim = 0;
  std::optional<int> value_dim;                  // none: as many columns as a key has
  bool values_are_keys = false;                  // in layers without a window
  std::optional<AttentionHeads> windowed_heads;  // of layers with a sliding window, where those differ (MiMo-V2)
  std::optional<LatentAttention> latent;         // of all layers; heads then have nope_dim + rope_dim columns
  std::optional<DeltaNet> delta_net;             // of layers of that kind
  int window = 0;                                // of sliding and chunked layers, in tokens
  Sinks sinks = Sinks::none;
  bool qkv_bias = false, o_bias = false, output_gate = false, value_norm = false;
  QkNorm qk_norm = QkNorm::none;
  bool rotated_qk_norm = false;  // without weights, in layers with rope (Llama 4)
  std::optional<double> query_scale;
  double value_scale = 1;

  // Rope.
  double rope_theta = 10000;
  double rotary_share = 1;  // of a head's columns (ChatGLM: 0.5)
  std::optional<RopeScaling> rope_scaling;
  std::optional<WindowRope> window_rope;  // of sliding layers, where it differs
  std::optional<QueryGrowth> query_growth;

  // MLPs and the rest of a layer.
  MlpKind mlp = MlpKind::gated_silu;
  std::optional<Experts> experts;
  bool experts_beside_mlp = false;
  NormPlacement norms = NormPlacement::before;
  bool parallel_attention = false, layer_scale = false;
  std::optional<LayerKind> mtp_layer;  // of an MTP module; none: as methods/mtp_sequential builds it

  LayerKind layer(int index) const;
  AttentionHeads heads_of(const LayerKind&) const;
  LayerShape layer_shape(const LayerKind&) const;
};

TransformerShape network_of(const ConfigNetwork&);

}  // namespace draftline::config
