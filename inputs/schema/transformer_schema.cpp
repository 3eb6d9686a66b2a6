// SPDX-License-Identifier: Apache-2.0
// The schema of a network that a scenario describes by shapes.
#include "inputs/schema/schema_parts.h"
#include "model/transformers/config_keys.h"
#include "model/transformers/described_transformer.h"

namespace draftline::schema {

namespace {

using namespace config;

Key format_of_state() { return optional("format", word(kStateFormats), "format of the states; by default bf16"); }

Json experts_shape() {
  return object({needed("count", positive_int(1 << 16), "experts of a layer"),
                 needed("per_token", positive_int(1 << 16), "experts that compute a token"),
                 needed("intermediate", positive_int(kMostColumns), "MLP columns of an expert"),
                 optional("shared", integer(0, kMostColumns), "MLP columns of the shared expert"),
                 optional("latent", positive_int(kMostColumns), "columns to which experts' rows are narrowed"),
                 optional("dense_layers", integer(0, kMostLayers), "first layers without experts")});
}

Json mamba_shape() {
  return object({needed("heads", positive_int(1 << 14), "heads"), needed("head_dim", positive_int(1 << 14), "columns"),
                 needed("state", positive_int(1 << 14), "elements of a column's state"),
                 optional("groups", positive_int(kMostColumns), "groups of heads; by default 1"),
                 optional("kernel", positive_int(kMostColumns), "tokens of the convolution; by default 4"),
                 optional("chunk", positive_int(kMostColumns), "rows of a chunk of a prompt; by default 256"),
                 format_of_state()});
}

Json delta_net_shape() {
  return object({needed("key_heads", positive_int(1 << 12), "heads of keys"),
                 needed("value_heads", positive_int(1 << 12), "heads of values"),
                 needed("key_dim", positive_int(1 << 10), "columns of a key"),
                 needed("value_dim", positive_int(1 << 10), "columns of a value"),
                 optional("kernel", positive_int(kMostColumns), "tokens of the convolution; by default 4"),
                 optional("column_gates_rank", positive_int(kMostColumns), "rank of gates per column"),
                 format_of_state()});
}

}  // namespace

Json described_transformer() {
  const Json part{{"type", "string"},
                  {"pattern", R"(^(attention|window|mamba|delta_net|mlp|experts)(\+(attention|window|mamba|delta_net|)"
                              R"(mlp|experts))*\+?$)"}};
  Json s =
      object({optional("name", text(), "name of the network, for people"),
              needed("layers", positive_int(kMostLayers), "number of layers"),
              needed("hidden", positive_int(kMostColumns), "columns of the hidden state"),
              needed("heads", positive_int(kMostColumns), "query heads"),
              needed("intermediate", positive_int(kMostColumns), "MLP columns"),
              needed("vocabulary", positive_int(kMostVocabulary), "tokens of the vocabulary"),
              optional("kv_heads", positive_int(kMostColumns), "heads of keys; by default as many as heads"),
              optional("head_dim", positive_int(kMostColumns), "columns of a head; by default hidden / heads"),
              optional("gated", boolean(), "false: MLPs without a gate"),
              optional("tied_embeddings", boolean(), "the LM head is the embedding"),
              optional("max_positions", positive_int(kMostPositions), "tokens of the longest text"),
              optional("experts", experts_shape(), "a mixture of experts"),
              optional("window", positive_int(kMostPositions), "tokens that layers with windows see"),
              optional("full_attention_every", positive_int(kMostLayers), "each so many layers one without window"),
              optional("mamba", mamba_shape(), "a selective state space (Mamba-2)"),
              optional("delta_net", delta_net_shape(), "a gated delta network"),
              optional("pattern", list(part), "parts of layers, repeated, such as \"mamba+experts\"")});
  s["dependentRequired"] = {{"full_attention_every", {"window"}}, {"mamba", {"pattern"}}, {"delta_net", {"pattern"}}};
  return s;
}

}  // namespace draftline::schema
