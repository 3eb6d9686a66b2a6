// SPDX-License-Identifier: Apache-2.0
// The schema of a config.json. Each architecture has keys of its own and unused keys are allowed, so only the keys that
// most architectures share are described.
#include "inputs/schema/schema_parts.h"
#include "model/transformers/config_families.h"
#include "model/transformers/config_keys.h"

namespace draftline::schema {

namespace {

using namespace config;

// transformers writes null for an absent key.
Key shared_key(std::string_view name, const Json& value, std::string meaning) {
  return optional(name, any_of({value, Json{{"type", "null"}}}), std::move(meaning));
}

Keys shared_keys() {
  const auto columns = [] { return positive_int(kMostColumns); };
  return {shared_key("hidden_size", columns(), "columns of the hidden state"),
          shared_key("num_hidden_layers", positive_int(kMostLayers), "number of layers"),
          shared_key("num_attention_heads", columns(), "query heads"),
          shared_key("num_key_value_heads", columns(), "heads of keys"),
          shared_key("head_dim", columns(), "columns of a head"),
          shared_key("vocab_size", positive_int(kMostVocabulary), "tokens of the vocabulary"),
          shared_key("max_position_embeddings", positive_int(kMostPositions), "tokens of the longest text"),
          shared_key("tie_word_embeddings", boolean(), "the LM head is the embedding")};
}

}  // namespace

Json config_file() {
  Json architectures = Json::array(), types = Json::array();
  for (const Family& f : families()) {
    architectures.push_back(f.architecture);
    types.push_back(f.model_type);
  }
  Json names = list(any_of({Json{{"enum", architectures}}, text()}));
  Json source = object({needed("source", text(), "a key of data/sources.json"),
                        needed("locator", text(), "the place in the source"), optional("note", text(), "for people"),
                        optional("defaults", Json::object(), "keys that the published file lacks")});
  source["additionalProperties"] = true;
  Keys keys{shared_key("architectures", names, "the class of the network; the first is read"),
            shared_key("model_type", any_of({Json{{"enum", types}}, text()}), "the family, where architectures lacks"),
            optional("draftline_source", source, "of a file that is shipped: where it is from")};
  Json s = object(std::move(keys) + shared_keys());
  s["additionalProperties"] = true;
  s["anyOf"] = {{{"required", {"architectures"}}}, {{"required", {"model_type"}}}};
  return s;
}

}  // namespace draftline::schema
