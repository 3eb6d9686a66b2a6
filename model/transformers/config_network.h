// SPDX-License-Identifier: Apache-2.0
// A network as the keys of a config.json describe it: some keys hold for all layers, others for the layers of one kind.
// network_of() applies each rule once, and gives every layer its whole shape.
#pragma once
#include <optional>
#include <vector>

#include "model/transformers/transformer_shape.h"

namespace draftline::config {

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

// Layers are made of the prototypes `base`, `attention`, `latent`, `delta_net` and `experts`, which have what all
// layers of their kind have alike. The members below them are rules of some layers.
struct ConfigNetwork {
  TransformerShape whole;  // what is no layer's; without layers until network_of()
  int layers = 0;
  std::vector<LayerKind> layer_kinds;  // one for each layer; empty: all have full attention, and experts if it has any

  LayerShape base;                        // norms, and how sublayers are joined
  HeadAttention attention;                // heads.value_dim 0: as many columns as a key has
  std::optional<LatentAttention> latent;  // of all layers; heads then have nope_dim + rope_dim columns
  std::optional<DeltaNet> delta_net;
  MlpKind mlp = MlpKind::gated_silu;
  std::optional<Experts> experts;
  bool experts_beside_mlp = false;

  int window = 0;                                // of sliding and chunked layers, in tokens
  std::optional<AttentionHeads> windowed_heads;  // of sliding layers, where those differ (MiMo-V2)
  bool windowed_sinks = false;                   // sinks in sliding layers alone (MiMo-V2)
  double rotary_share = 1;                       // of a head's columns, in layers with rope (ChatGLM: 0.5)
  std::optional<WindowRope> window_rope;         // of sliding layers, where it differs
  bool rotated_qk_norm = false;                  // without weights, in layers with rope (Llama 4)
  std::optional<LayerKind> mtp_layer;            // of an MTP module; none: as methods/mtp_sequential builds it

  LayerKind kind(int layer) const;
  AttentionHeads heads_of(const LayerKind&) const;
  LayerShape layer_shape(const LayerKind&) const;
};

TransformerShape network_of(const ConfigNetwork&);

}  // namespace draftline::config
