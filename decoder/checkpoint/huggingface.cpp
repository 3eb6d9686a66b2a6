// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/huggingface.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/reader.h"
#include "decoder/checkpoint/stored_layer.h"

namespace draftline {

namespace {

constexpr auto kArchitectures = std::to_array<std::string_view>({"LlamaForCausalLM",
                                                                 "MistralForCausalLM",
                                                                 "Mistral3ForConditionalGeneration",
                                                                 "Qwen2ForCausalLM",
                                                                 "Qwen3ForCausalLM",
                                                                 "Qwen3MoeForCausalLM",
                                                                 "Qwen2VLForConditionalGeneration",
                                                                 "Qwen2_5_VLForConditionalGeneration",
                                                                 "Qwen3VLForConditionalGeneration",
                                                                 "Qwen3VLMoeForConditionalGeneration",
                                                                 "MiniMaxM2ForCausalLM",
                                                                 "MiMoForCausalLM",
                                                                 "Phi3ForCausalLM",
                                                                 "Gemma3ForCausalLM",
                                                                 "Gemma4ForCausalLM",
                                                                 "Gemma4ForConditionalGeneration",
                                                                 "Gemma4UnifiedForConditionalGeneration",
                                                                 "GptOssForCausalLM",
                                                                 "MiMoV2FlashForCausalLM",
                                                                 "Llama4ForCausalLM",
                                                                 "Llama4ForConditionalGeneration",
                                                                 "DeepseekV2ForCausalLM",
                                                                 "DeepseekV3ForCausalLM",
                                                                 "DeepseekV32ForCausalLM",
                                                                 "GlmMoeDsaForCausalLM",
                                                                 "KimiK25ForConditionalGeneration",
                                                                 "Kimi_K25ForConditionalGeneration",
                                                                 "Glm4MoeLiteForCausalLM",
                                                                 "Ministral3ForCausalLM",
                                                                 "Gemma3ForConditionalGeneration",
                                                                 "Glm4MoeForCausalLM",
                                                                 "MixtralForCausalLM",
                                                                 "HYV3ForCausalLM",
                                                                 "Dots1ForCausalLM",
                                                                 "SeedOssForCausalLM",
                                                                 "SmolLM3ForCausalLM",
                                                                 "Ernie4_5ForCausalLM",
                                                                 "Olmo2ForCausalLM",
                                                                 "Olmo3ForCausalLM",
                                                                 "Exaone4ForCausalLM",
                                                                 "Qwen3NextForCausalLM",
                                                                 "Qwen3_5ForCausalLM",
                                                                 "Qwen3_5ForConditionalGeneration",
                                                                 "Qwen3_5MoeForCausalLM",
                                                                 "Qwen3_5MoeForConditionalGeneration"});

std::filesystem::path checked(const std::filesystem::path& folder, const Files& files) {
  if (!files.is_folder(folder)) throw InputErrors(printable(folder.string(), 1000) + ": no such folder");
  return folder;
}

TransformerShape read_shape(const std::filesystem::path& config, const Files& files, int& mtp_modules) {
  const Document document = Document::from_file(config, files, JsonDialect::python);
  const Reader root = document.root();
  TransformerShape shape = read_transformer(root);
  if (const auto modules = root.find("num_nextn_predict_layers"); modules && modules->is_number())
    mtp_modules = modules->integer(0, 64);
  if (!root.failed() &&
      std::find(kArchitectures.begin(), kArchitectures.end(), shape.architecture) == kArchitectures.end()) {
    std::string known;
    for (const auto name : kArchitectures) known += (known.empty() ? "" : ", ") + std::string(name);
    root.at("architectures")
        .fail("the weights of " + shape.architecture + " can't be loaded; those of " + known + " can");
  }
  document.finish();
  return shape;
}

std::string layer_prefix(int layer) { return "layers." + std::to_string(layer) + "."; }

}  // namespace

HuggingFaceFolder::HuggingFaceFolder(const std::filesystem::path& folder, const Files& files)
    : shape_(read_shape(checked(folder, files) / "config.json", files, mtp_modules_)), files_(folder, "model", files) {
  find_trunk();
  check_tensors();
}

// The text tower of a network that also sees has a name of its own: one on the hub, another since transformers 5.
void HuggingFaceFolder::find_trunk() {
  using Names = std::pair<const char*, const char*>;
  for (const auto& [trunk, head] :
       {Names{"language_model.model.", "language_model."}, Names{"model.language_model.", ""}})
    if (files_.has(std::string(trunk) + "embed_tokens.weight")) trunk_ = trunk, head_ = head;
}

std::string HuggingFaceFolder::embedding_tensor() const { return trunk_ + "embed_tokens.weight"; }
std::string HuggingFaceFolder::head_tensor() const {
  return shape_.tied_embeddings ? embedding_tensor() : head_ + "lm_head.weight";
}

std::vector<StoredWeight> HuggingFaceFolder::network_weights() const {
  const int hidden = shape_.hidden, vocabulary = shape_.vocabulary;
  return {stored_table("embedding", embedding_tensor(), vocabulary, hidden),
          stored_norm(shape_.architecture, "final_norm", trunk_ + "norm", hidden),
          stored_matrix("lm_head", head_tensor(), hidden, vocabulary)};
}

std::vector<StoredWeight> HuggingFaceFolder::layer_weights(int layer) const {
  return stored_layer(files_, shape_.architecture, shape_.layer(layer), layer_prefix(layer),
                      trunk_ + layer_prefix(layer));
}

void HuggingFaceFolder::check_tensors() const {
  TensorCheck check({files_, shape_.checkpoint});
  check.expect(network_weights());
  for (int layer = 0; layer < shape_.layers() && !check.enough(); ++layer) check.expect(layer_weights(layer));
  // No computation reads rotary frequencies, which older files hold, nor what is not part of the network.
  check.refuse_others([&](const std::string& tensor) {
    const auto of_mtp = [&](int module) { return tensor.starts_with(trunk_ + layer_prefix(shape_.layers() + module)); };
    bool ignored = !tensor.starts_with(trunk_) || tensor.ends_with("rotary_emb.inv_freq");
    for (int layer = 0; layer < shape_.layers(); ++layer)  // the file has an indexer, but was told to share a choice
      ignored = ignored || (shape_.layer(layer).shares_choice() &&
                            tensor.starts_with(trunk_ + layer_prefix(layer) + "self_attn.indexer."));
    if (shape_.mtp_modules > 0) ignored = ignored || tensor.starts_with(trunk_ + "mtp.");
    if (mtp_modules_ > 0) ignored = ignored || tensor.starts_with(trunk_ + "mtp_layers.");
    for (int module = 0; module < mtp_modules_; ++module) ignored = ignored || of_mtp(module);
    return ignored;
  });
  check.finish();
}

void HuggingFaceFolder::load(const std::string& name, int in, int out, std::span<float> to) {
  constexpr std::string_view kLayers = "layers.";
  std::optional<int> layer;
  if (int number = 0;
      name.starts_with(kLayers) &&
      std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), number).ec == std::errc())
    layer = number;
  const bool in_layer = layer && *layer >= 0 && *layer < shape_.layers();
  load_stored({files_, shape_.checkpoint}, in_layer ? layer_weights(*layer) : network_weights(), name, in, out, to);
}

}  // namespace draftline
