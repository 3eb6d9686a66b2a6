// SPDX-License-Identifier: Apache-2.0
// The weights of a network that is stored in files, whatever their format. Tensors have the names of transformers'
// modeling_llama, _mistral, _qwen2, _qwen3, _qwen3_moe, _phi3, _deepseek_v2, _deepseek_v3, _glm4_moe, _mixtral,
// _gemma3, _gpt_oss and _llama4 (version 4.57), _qwen3_5, _qwen3_5_moe, _nemotron_h, _granitemoehybrid and _falcon_h1
// (5.23), and MiMo's own modeling_mimo, which equals Qwen2's. Opening checks every tensor that the network needs, so
// that loading can only fail because of values.
#pragma once
#include <string>
#include <vector>

#include "decoder/checkpoint/stored_weights.h"
#include "decoder/weights.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

struct StoredContents {
  TransformerShape shape;
  CheckpointFiles files;
  int mtp_modules = 0;  // stored behind the layers
};

class StoredNetwork : public WeightSource {
 public:
  const TransformerShape& shape() const { return shape_; }
  const CheckpointFiles& files() const { return files_; }
  const std::filesystem::path& folder() const { return files_.folder(); }
  std::uint64_t fingerprint() const { return files_.fingerprint(); }
  std::string embedding_tensor() const;  // [vocabulary, hidden] as stored
  std::string head_tensor() const;
  void load(const std::string& name, int in, int out, std::span<float> to) override;  // thread-safe

 protected:
  explicit StoredNetwork(StoredContents);  // throws InputErrors with every mistake in the tensors

 private:
  std::vector<StoredWeight> network_weights() const;
  std::vector<StoredWeight> layer_weights(int layer) const;
  void find_trunk();
  void check_tensors() const;

  TransformerShape shape_;
  CheckpointFiles files_;
  int mtp_modules_;
  std::string trunk_ = "model.", head_;  // prefixes of the names of the network's tensors and of its LM head
};

}  // namespace draftline
