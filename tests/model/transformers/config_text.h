// SPDX-License-Identifier: Apache-2.0
// Shapes from a config.json that a test writes, and what is said to a wrong one.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>

#include "model/transformers/transformer_shape.h"
#include "tests/core/messages.h"

namespace draftline {

inline const std::filesystem::path kTransformers =
    std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data" / "transformers";

inline TransformerShape shape_of(const std::string& name) {
  return read_file(kTransformers / (name + ".json"), read_transformer);
}

inline TransformerShape shape_from(const nlohmann::json& config) {
  const auto document = Document::from_text(config.dump(), "models/tiny/config.json");
  auto shape = read_transformer(document.root());
  document.finish();
  return shape;
}

inline std::string mistakes_of(const nlohmann::json& config) {
  return mistake_of([&] { shape_from(config); });
}

// Of the layer that stands for all, which must have heads.
inline const HeadAttention& heads_of(const TransformerShape& s) {
  return std::get<HeadAttention>(s.usual_layer().attention);
}
inline const Rope& rope_of(const TransformerShape& s) { return *s.usual_layer().rope(); }
inline int layers_with_window(const TransformerShape& s) {
  int count = 0;
  for (int i = 0; i < s.layers(); ++i) count += s.layer(i).window().has_value();
  return count;
}

inline nlohmann::json llama() {
  return {{"architectures", {"LlamaForCausalLM"}},
          {"hidden_size", 64},
          {"intermediate_size", 96},
          {"num_hidden_layers", 2},
          {"num_attention_heads", 4},
          {"vocab_size", 100}};
}

inline nlohmann::json with(nlohmann::json config, const char* key, nlohmann::json value) {
  config[key] = std::move(value);
  return config;
}

}  // namespace draftline
