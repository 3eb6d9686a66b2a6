// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/huggingface.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/reader.h"

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
                                                                 "Qwen3_5MoeForConditionalGeneration",
                                                                 "NemotronHForCausalLM",
                                                                 "GraniteMoeHybridForCausalLM",
                                                                 "FalconH1ForCausalLM"});

std::filesystem::path checked(const std::filesystem::path& folder, const Files& files) {
  if (!files.is_folder(folder)) throw InputErrors(printable(folder.string(), 1000) + ": no such folder");
  return folder;
}

StoredContents read_folder(const std::filesystem::path& folder, const Files& files) {
  const Document document = Document::from_file(checked(folder, files) / "config.json", files, JsonDialect::python);
  const Reader root = document.root();
  TransformerShape shape = read_transformer(root);
  const auto modules = root.find("num_nextn_predict_layers");
  const int mtp_modules = modules && modules->is_number() ? modules->integer(0, 64) : 0;
  if (!root.failed() &&
      std::find(kArchitectures.begin(), kArchitectures.end(), shape.architecture) == kArchitectures.end()) {
    std::string known;
    for (const auto name : kArchitectures) known += (known.empty() ? "" : ", ") + std::string(name);
    root.at("architectures")
        .fail("the weights of " + shape.architecture + " can't be loaded; those of " + known + " can");
  }
  document.finish();
  return {std::move(shape), CheckpointFiles(folder, "model", files), mtp_modules};
}

}  // namespace

HuggingFaceFolder::HuggingFaceFolder(const std::filesystem::path& folder, const Files& files)
    : StoredNetwork(read_folder(folder, files)) {}

}  // namespace draftline
