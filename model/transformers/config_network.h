// SPDX-License-Identifier: Apache-2.0
// A network in the form of the keys of a config.json: some keys apply to all layers, others to the layers of one kind.
// network_of() builds the complete shape of every layer.
#pragma once
#include <optional>
#include <vector>

#include "model/transformers/transformer_shape.h"

namespace draftline::config {

enum class AttentionKind {
  full,
  sliding,
  chunked,
  delta_net,
  mamba,
  beside_mamba,
  none,
  compressed,  // DeepSeek-V4
  blocks,      // the best blocks of tokens alone (MiniMax-M3)
  linear       // with a fixed decay (Ling 2.5)
};

struct LayerKind {  // how a layer differs from others of its network
  AttentionKind attention = AttentionKind::full;
  bool experts = false;                                 // whether its MLP is the mixture of experts
  bool rope = true;                                     // whether queries and keys are rotated
  bool shares_choice = false;                           // LatentHeads::shares_choice
  bool mlp = true;                                      // whether it has an MLP, dense or of experts
  bool chosen_entries = false;                          // whether an indexer chooses among compressed entries
  int compression = 0;                                  // CompressedAttention::compression
  std::optional<int> kv_heads = {}, intermediate = {};  // where they are not those of all
  bool operator==(const LayerKind&) const = default;
};

struct WindowRope {  // unscaled rope of layers with a sliding window (Gemma 3, MiMo-V2)
  double theta = 10000;
  double share = 1;  // share of a head's columns that are rotated
};

// Layers are made of the prototypes `base`, `attention`, `latent`, `delta_net`, `mamba` and `experts`, which have what
// all layers of their kind have alike. The members below them are rules of some layers.
struct ConfigNetwork {
  TransformerShape whole;  // everything outside the layers; has no layers until network_of()
  int layers = 0;
  std::vector<LayerKind> layer_kinds;  // one for each layer; empty: all have full attention, and experts if it has any

  LayerShape base;                        // norms, and how sublayers are joined
  HeadAttention attention;                // heads.value_dim 0: as many columns as a key has
  std::optional<LatentAttention> latent;  // in all layers that attend; heads then have nope_dim + rope_dim columns
  bool latent_output_gate = false;        // LatentHeads::output_gate
  bool latent_head_gates = false;         // LatentHeads::gate_each_head
  std::optional<DeltaNet> delta_net;
  std::optional<Mamba2> mamba;
  std::optional<Mamba1> mamba1;  // of layers of the kind `mamba`, too
  std::optional<CompressedAttention> compressed;
  std::optional<LinearAttention> linear;
  MlpKind mlp = MlpKind::gated_silu;
  bool mlp_bias = false;  // of a dense MLP
  std::optional<Experts> experts;
  bool experts_beside_mlp = false;

  int window = 0;                                // in sliding and chunked layers, in tokens
  std::optional<AttentionHeads> windowed_heads;  // of sliding layers, where those differ (MiMo-V2)
  bool windowed_sinks = false;                   // sinks in sliding layers alone (MiMo-V2)
  double rotary_share = 1;                       // of a head's columns, in layers with rope (ChatGLM: 0.5)
  std::optional<WindowRope> window_rope;         // for sliding layers, if it differs
  bool rotated_qk_norm = false;                  // without weights, in layers with rope (Llama 4)
  std::optional<LayerKind> mtp_layer;  // layer of an MTP module; none: the layer that methods/mtp_sequential builds

  LayerKind kind(int layer) const;
  AttentionHeads heads_of(const LayerKind&) const;
  LayerShape layer_shape(const LayerKind&) const;
};

TransformerShape network_of(const ConfigNetwork&);

}  // namespace draftline::config
