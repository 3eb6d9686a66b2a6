// SPDX-License-Identifier: Apache-2.0
// A Hugging Face model folder as a source of weights: config.json and the tensors of
// decoder/checkpoint/checkpoint_files. Opening the folder checks every tensor that the network needs, so that loading
// can only fail because of values. Names and shapes follow transformers' modeling_llama, _mistral, _qwen2, _qwen3,
// _qwen3_moe, _phi3, _deepseek_v2, _deepseek_v3, _glm4_moe, _mixtral, _gemma3, _gpt_oss and _llama4 (version 4.57),
// _qwen3_5 and _qwen3_5_moe (5.23), and MiMo's own modeling_mimo, which equals Qwen2's.
// decoder/checkpoint/drafter_folder reads the weights of MTP modules.
#pragma once
#include <string>
#include <vector>

#include "core/files.h"
#include "decoder/checkpoint/stored_weights.h"
#include "decoder/weights.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

class HuggingFaceFolder : public WeightSource {
 public:
  // Throws InputErrors with every mistake in the folder.
  explicit HuggingFaceFolder(const std::filesystem::path& folder, const Files& = disk());
  const TransformerShape& shape() const { return shape_; }
  const CheckpointFiles& files() const { return files_; }
  const std::filesystem::path& folder() const { return files_.folder(); }
  std::uint64_t fingerprint() const { return files_.fingerprint(); }
  std::string embedding_tensor() const;  // [vocabulary, hidden] as stored
  std::string head_tensor() const;
  void load(const std::string& name, int in, int out, std::span<float> to) override;  // thread-safe

 private:
  std::vector<StoredWeight> network_weights() const;
  std::vector<StoredWeight> layer_weights(int layer) const;
  void find_trunk();
  void check_tensors() const;

  int mtp_modules_ = 0;  // stored behind the layers
  TransformerShape shape_;
  CheckpointFiles files_;
  std::string trunk_ = "model.", head_;  // prefixes of the names of the network's tensors and of its LM head
};

}  // namespace draftline
