// SPDX-License-Identifier: Apache-2.0
// Nothing of a config.json that costs is skipped in silence.
#include "model/transformers/unread_keys.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <random>

#include "tests/catch.h"
#include "tests/model/transformers/config_text.h"
#include "tests/source_folder.h"

using namespace draftline;
using nlohmann::json;
using Pointer = json::json_pointer;

namespace {

struct Answer {
  std::optional<TransformerShape> shape;  // none: refused
  std::vector<std::string> words;         // mistakes and notes
};

Answer answer_to(const json& config) {
  const Document document = Document::from_text(config.dump(), "net/config.json");
  Answer a;
  try {
    a.shape = read_whole(document, read_transformer);
  } catch (const InputErrors& mistakes) { a.words = mistakes.messages(); }
  a.words.insert(a.words.end(), document.notes().begin(), document.notes().end());
  return a;
}

json costs_of(const HeadAttention& a) {
  return {static_cast<int>(a.qk_norm), a.value_norm, a.sinks, a.output_gate, a.heads.heads};
}
json costs_of(const LinearFormat& f) {
  return {bits_of(f.weights), f.scales.inputs, f.scales.outputs, f.scales.bits, f.inputs ? bits_of(*f.inputs) : 0};
}

// Whatever changes bytes or FLOP, but for numbers that only multiply values, and biases.
json costs_of(const TransformerShape& s) {
  json layers = json::array();
  for (const LayerShape& l : s.kinds) {
    const auto window = l.window();
    layers.push_back({attention_parameters(l), mlp_parameters(l), idle_parameters(l), cached_elements(l),
                      window ? window->tokens : 0, l.experts() ? l.experts()->per_token : 0, l.dense_mlp() != nullptr,
                      l.heads() ? costs_of(*l.heads()) : json{}, static_cast<int>(l.norms), l.parallel});
  }
  json formats = json::array();
  if (const auto& p = s.checkpoint)
    formats = {costs_of(p->attention), costs_of(p->mlp),     costs_of(p->experts),
               costs_of(p->lm_head),   bits_of(p->kv_cache), bits_of(p->activations)};
  return {layers, s.kind_of, s.vocabulary, s.hidden, s.tied_embeddings, s.mtp_modules, s.max_positions.value_or(0),
          formats};
}

// Whether the changed file says something that the file did not say, or costs as much.
bool is_told(const json& config, const Answer& before, const json& costs) {
  const Answer after = answer_to(config);
  const auto fresh = [&](const std::string& word) {
    return std::find(before.words.begin(), before.words.end(), word) == before.words.end();
  };
  return std::any_of(after.words.begin(), after.words.end(), fresh) || costs_of(after.shape.value()) == costs;
}

// Deletions that leave another whole network: of all formats, or of one of two keys that contradict each other. A toy's
// heads are narrower than any network's, so that nothing is unusual about their width.
bool is_another_network(const std::string& network, const std::string& key) {
  static const std::multimap<std::string, std::string> exempt{
      {"llama4_experts", "moe_layers"},        {"llama4", "moe_layers"}, {"llama4", "no_rope_layers"},
      {"qwen3_vl_moe", "tie_word_embeddings"}, {"mistral", "head_dim"},  {"ministral3", "head_dim"}};
  const auto [first, last] = exempt.equal_range(network);
  return key == "draftline_source" || key == "vision_config" || key == "quantization_config" ||
         std::any_of(first, last, [&](const auto& entry) { return entry.second == key; });
}

struct Config {
  std::string name;
  json text;
  std::vector<Pointer> keys;  // all, but for those of is_another_network()
};

void add_keys(const json& at, const Pointer& pointer, Config& config) {
  if (!at.is_object()) return;
  for (const auto& [key, value] : at.items()) {
    if (!is_another_network(config.name, key)) config.keys.push_back(pointer / key);
    if (key != "draftline_source" && key != "vision_config") add_keys(value, pointer / key, config);
  }
}

std::vector<Config> all_configs() {
  std::vector<Config> all;
  const auto add = [&](const std::filesystem::path& file, const std::string& name) {
    Config c{name, json::parse(std::ifstream(file)), {}};
    add_keys(c.text, Pointer(), c);
    all.push_back(std::move(c));
  };
  for (const auto& file : std::filesystem::directory_iterator(kTransformers))
    add(file.path(), file.path().stem().string());
  for (const auto& folder : std::filesystem::directory_iterator(test::kFixtures))
    if (const auto file = folder.path() / "config.json"; std::filesystem::exists(file))
      add(file, folder.path().filename().string());
  std::sort(all.begin(), all.end(), [](const Config& a, const Config& b) { return a.name < b.name; });
  return all;
}

void erase(json& config, const Pointer& key) { config[key.parent_pointer()].erase(key.back()); }
void rename(json& config, const Pointer& key) {
  json& around = config[key.parent_pointer()];
  around["my_" + key.back()] = around[key.back()];
  around.erase(key.back());
}

}  // namespace

TEST_CASE("no key of a config.json goes in silence: each is deleted, and each renamed") {
  for (const Config& c : all_configs()) {
    const Answer whole = answer_to(c.text);
    REQUIRE(whole.shape.has_value());
    const json costs = costs_of(*whole.shape);
    for (const Pointer& key : c.keys) {
      INFO(c.name << key.to_string());
      json without = c.text, renamed = c.text;
      erase(without, key);
      CHECK(is_told(without, whole, costs));
      rename(renamed, key);
      CHECK(is_told(renamed, whole, costs));
    }
  }
}

TEST_CASE("500 configs that lack keys and have keys of others lose nothing in silence") {
  const std::vector<Config> all = all_configs();
  std::minstd_rand random(7);
  const auto any = [&](const auto& list) -> const auto& { return list[random() % list.size()]; };
  std::size_t told = 0;
  for (int i = 0; i < 500; ++i) {
    const Config& c = any(all);
    const Answer whole = answer_to(c.text);
    json changed = c.text;
    std::string what;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) {
      const Pointer key = any(c.keys);
      if (!changed.contains(key)) continue;
      what += " " + key.to_string();
      if (random() % 2 == 0) erase(changed, key);
      else rename(changed, key);
    }
    const Config& other = any(all);
    const Pointer foreign = any(other.keys);  // a key that the network's own reader may use: then it may cost
    INFO(c.name << what << ", " << foreign.to_string());
    CHECK(is_told(changed, whole, costs_of(*whole.shape)));
    const std::string key = foreign.back();
    if (!config::shapes_network(key) || other.text[foreign].is_boolean()) continue;
    json more = c.text;
    json& text = more.contains("text_config") ? more["text_config"] : more;
    if (text.contains(key) || more.contains(key)) continue;
    text[key] = other.text[foreign];
    const Answer after = answer_to(more);
    told += !after.words.empty();
  }
  CHECK(told > 0);
}

// Parts of shipped networks that are not priced as they are.
static bool says_unpriced(const std::string& word) {
  return contains(word, "choose experts by a table") || contains(word, "choices of the router pass a row on") ||
         contains(word, "attention over the outputs of blocks");
}

TEST_CASE("shipped networks and fixtures are read without a word, but for what is not priced or a small one lacks") {
  for (const Config& c : all_configs())
    for (const std::string& word : answer_to(c.text).words) {
      INFO(c.name << ": " << word);
      if (says_unpriced(word)) continue;
      CHECK((contains(word, "lacks ") || contains(word, "none of its layers has them")));
      CHECK(!std::filesystem::exists(kTransformers / (c.name + ".json")));
    }
}

TEST_CASE("a key that nobody reads is named, and refused if its name shapes a network") {
  json c = with(llama(), "num_key_value_heads", 2);
  const auto words = [&](const char* key, json value) {
    const Answer a = answer_to(with(c, key, std::move(value)));
    const auto about = [&](const std::string& word) { return contains(word, std::string("#/") + key + ": "); };
    const auto found = std::find_if(a.words.begin(), a.words.end(), about);
    return found == a.words.end() ? "" : (a.shape ? "note: " : "refused: ") + found->substr(found->find(": ") + 2);
  };
  CHECK(words("mamba_d_ssm", 4096).starts_with("refused: shapes a network"));  // Falcon-H1, renamed
  CHECK(words("shared_expert_intermediate_size", 5632).starts_with("refused: "));
  CHECK(words("sparse_attention_config", {{"block_dim", 64}}).starts_with("refused: "));
  CHECK(words("embedding_multiplier", 12).starts_with("note: is not used"));
  CHECK(words("hybrid_override_pattern", "M-M*").starts_with("note: is not used"));
  for (const char* neutral : {"mamba_d_ssm", "num_experts"}) CHECK(words(neutral, nullptr).empty());
  CHECK(words("mamba_d_ssm", 0).empty());
  CHECK(words("layer_types", {"full_attention", "full_attention"}).empty());
  CHECK(words("layer_types", {"full_attention", "sliding_attention"}).starts_with("refused: "));
  CHECK(words("sliding_window", 32).starts_with("refused: "));
  c["use_sliding_window"] = false;  // a Qwen2 that is called a Llama
  CHECK(words("sliding_window", 32).empty());
  CHECK(words("bos_token_id", 7).empty());
  CHECK(words("attention_dropout", 0.1).empty());
}

TEST_CASE("Qwen3's experts are in layers with a window too") {
  json c = json::parse(std::ifstream(kTransformers / "qwen3-30b-a3b.json"));
  const double all = parameters(shape_from(c));
  json types = json::array();
  for (int i = 0; i < 48; ++i) types.push_back(i % 4 == 0 ? "full_attention" : "sliding_attention");
  c["layer_types"] = types;
  c["sliding_window"] = 512;
  const TransformerShape s = shape_from(c);
  CHECK(parameters(s) == all);
  CHECK(layers_with_window(s) == 36);
}

TEST_CASE("Infinity and NaN, as Python writes them, may stand in keys that nobody reads") {
  const std::string text = with(llama(), "num_key_value_heads", 2).dump();
  const auto read = [](const std::string& config) {
    return read_whole(Document::from_text(config, "net/config.json", disk(), JsonDialect::python), read_transformer);
  };
  const std::string more =
      text.substr(0, text.size() - 1) + R"(, "time_step_limit": [0.0, Infinity], "a": [NaN, -Infinity]})";
  CHECK(read(more) == read(text));
  CHECK_THROWS_AS(read(text.substr(0, text.size() - 1) + R"(, "rms_norm_eps": NaN})"), InputErrors);
  CHECK_THROWS_AS(Document::from_text(more, "net/scenario.json"), InputErrors);
}
