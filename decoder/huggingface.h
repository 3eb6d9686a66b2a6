// SPDX-License-Identifier: Apache-2.0
// A Hugging Face model folder as a source of weights: config.json, and model.safetensors or the shards that
// model.safetensors.index.json lists. Opening the folder checks every tensor that the network will ask for, so that
// loading can only fail at the values themselves. Names and shapes follow transformers' modeling_llama, _mistral,
// _qwen2, _qwen3, _qwen3_moe, _phi3, _deepseek_v2, _deepseek_v3, _glm4_moe, _mixtral, _gemma3, _gpt_oss and _llama4 (version
// 4.57).
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "decoder/safetensors.h"
#include "decoder/weights.h"
#include "model/transformer_shape.h"

namespace draftline {

class HuggingFaceFolder : public WeightSource {
 public:
  explicit HuggingFaceFolder(std::filesystem::path folder);  // throws InputErrors with every mistake in the folder
  const TransformerShape& shape() const { return shape_; }
  const std::filesystem::path& folder() const { return folder_; }
  // A hash of the stored tensors' names, formats and shapes and of samples of their values. It does not depend on how
  // the tensors are distributed over files.
  std::uint64_t fingerprint() const;
  // Reads a tensor in parts, so that it needs little memory besides `to`. Safe to call from several threads.
  void load(const std::string& name, int in, int out, std::span<float> to) override;

 private:
  struct Part;
  struct Plan;
  static Plan whole(const std::string& name, int in, int out, std::vector<Part> parts);
  std::vector<Plan> network_plans() const;
  std::vector<Plan> layer_plans(int layer) const;
  void add_latent_plans(const std::string& ours, const std::string& theirs, std::vector<Plan>&) const;
  void add_expert_plans(const std::string& ours, const std::string& theirs, std::vector<Plan>&) const;
  void add_stacked_experts(const std::string& ours, const std::string& theirs, std::vector<Plan>&) const;

  void open_files();
  void find_trunk();
  void open_shards(const std::filesystem::path& index);
  void check_tensors() const;
  void copy(const Part&, std::span<float> to, int columns) const;

  std::filesystem::path folder_;
  TransformerShape shape_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t, std::less<>> file_of_;  // by tensor
  std::string trunk_ = "model.", head_;  // begin the names of the network's tensors, and of its LM head's
};

}  // namespace draftline
