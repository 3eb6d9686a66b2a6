// SPDX-License-Identifier: Apache-2.0
// A published drafter's folder as a source of weights (model/transformers/drafter_config reads its config.json).
// Opening it checks every tensor against config.json and the target, so that loading can only fail because of values.
// Tensors' names:
//   EAGLE      fc, layers.0.*, embed_tokens (EAGLE's cnets1.py)
//   EAGLE-3    midlayer.* or layers.0.*, fc, norm, lm_head, d2t, t2d, embed_tokens (cnets.py; speculators)
//   Medusa     medusa_lm_head.safetensors: 0.0.linear.*, 0.1.weight; or model.safetensors: blocks.0.layers.0.*,
//              lm_heads.0.weight (vLLM)
//   P-EAGLE    EAGLE-3's, layers.1.* .. behind its layer, mask_hidden (vLLM's llama_eagle3.py; speculators)
//   DFlash     fc, hidden_norm, norm, layers.N.*; of speculators also embed_tokens, lm_head, d2t, t2d (z-lab's
//              model.py; speculators' dflash/core.py)
//   DSpark     the same with markov_head.{markov_w1, markov_w2}, confidence_head.proj (DeepSpec's dspark; ModelOpt's
//              without these beginnings)
//   DFlash 2   DFlash's with layers.N.{attention_conv, mlp_conv}.{base_kernel, kernel_projection},
//              candidate_selector.{predecessor_codebook, successor_codebook, hidden_projection} (vLLM's
//              qwen3_dflash2.py)
//   Domino     DFlash's with prefix_gru.{weight_ih_l0, weight_hh_l0}, embed_proj.{0, 2} (jianuo-huang/Domino)
//   Gemma 4's assistant  pre_projection, post_projection, model.{norm, embed_tokens, layers.N.*}, whose layers have
//              no keys and values (transformers' gemma4_assistant)
//   MTP        behind the target's layers: model.layers.L.{enorm, hnorm, eh_proj, shared_head.norm, ..} (DeepSeek-V3);
//              model.mtp_layers.0.{token_layernorm, hidden_layernorm, input_proj, final_layernorm, ..} (MiMo);
//              mtp.{pre_fc_norm_embedding, pre_fc_norm_hidden, fc, norm, layers.0.*} (Qwen3-Next, Qwen3.5; vLLM's
//              qwen3_next_mtp.py)
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_network.h"
#include "decoder/layer.h"
#include "model/transformers/drafter_config.h"

namespace draftline {

// The fingerprint of the weights in a drafter's folder (CheckpointFiles::fingerprint()), independent of the drafter's
// target. Throws InputErrors.
std::uint64_t drafter_fingerprint(const std::filesystem::path& folder, DrafterKind);

class DrafterFolder : public WeightSource {
 public:
  // Throws InputErrors with every mistake in the folder, or if it is not a drafter for this target.
  DrafterFolder(const std::filesystem::path& folder, DrafterKind, const StoredNetwork& target);
  const DrafterConfig& config() const { return config_; }
  const std::filesystem::path& folder() const { return files_.folder(); }
  std::uint64_t fingerprint() const { return files_.fingerprint(); }
  // `name`: without the method's prefix, "layer.qkv". Safe to call from several threads.
  void load(const std::string& name, int in, int out, std::span<float> to) override;

 private:
  void add(StoredWeight w) { weights_.push_back(std::move(w)); }
  int joined_columns() const;  // of the concatenated states that EAGLE-3 and P-EAGLE read
  void add_layer(const std::string& tensors, const LayerShape&);
  void add_embedding(const std::string& tensor, const StoredNetwork& target, TensorCheck&);
  void check_head(const std::string& tensor, const StoredNetwork& target, TensorCheck&);
  void read_ids(const StoredNetwork& target, TensorCheck&);
  void add_eagle(const StoredNetwork& target, TensorCheck&);
  void add_eagle3(const StoredNetwork& target, TensorCheck&);
  void add_block_drafter(const StoredNetwork& target, TensorCheck&);
  void load_mask_state(std::span<float> to) const;
  void add_medusa(const StoredNetwork& target, TensorCheck&);
  void add_assistant(const StoredNetwork& target, TensorCheck&);
  void add_mtp(const StoredNetwork& target, TensorCheck&);

  DrafterConfig config_;
  CheckpointFiles files_;
  std::vector<StoredWeight> weights_;
  std::vector<float> id_offsets_;       // EAGLE-3: target id - draft id
  std::vector<std::string> all_zeros_;  // biases that the drafter lacks
};

}  // namespace draftline
