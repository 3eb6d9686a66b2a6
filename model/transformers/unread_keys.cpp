// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/unread_keys.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string>

#include "core/json_parse.h"

namespace draftline::config {

namespace {

using nlohmann::json;

// Parts of names. A number that has one of the latter only multiplies values.
constexpr std::string_view kShapingWords =
    "expert experts moe layer layers head heads dim dims rank ranks state states ssm mamba conv conv1d window windows "
    "group groups quant quantization quantized bits hidden intermediate ffn mlp kv latent lora pattern mtp nextn";
// Objects that contain the text's keys.
constexpr std::string_view kTowers =
    "text_config llm_config language_config thinker_config language_model model_config decoder_config";
constexpr std::string_view kValueWords =
    "eps epsilon theta scale scaling coef coefficient coeff alpha beta multiplier multipliers dropout pdrop std noise "
    "jitter softcapping temperature limit init initializer dtype";

template <class Act>
void each_part(std::string_view words, char between, Act act) {
  while (!words.empty()) {
    const std::size_t end = std::min(words.find(between), words.size());
    if (end > 0) act(words.substr(0, end));
    words.remove_prefix(std::min(end + 1, words.size()));
  }
}

template <class Act>
bool any_part(std::string_view key, Act act) {
  while (!key.empty()) {
    const std::size_t end = std::min(key.find_first_of("_.-"), key.size());
    if (act(key.substr(0, end))) return true;
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return false;
}

// Says that a feature is absent: null, false, 0, "", or only such things. One group is no grouping, and full attention
// no kind of its own.
bool is_neutral(std::string_view key, const json& v) {
  if (key == "layer_types" && v.is_string()) return v == "full_attention";
  if (v.is_structured()) return std::all_of(v.begin(), v.end(), [&](const json& one) { return is_neutral(key, one); });
  if (v.is_string()) return v.get_ref<const std::string&>().empty();
  if (v.is_number()) {
    const bool groups = any_part(key, [](std::string_view part) { return part == "group" || part == "groups"; });
    return v == 0 || (groups && v == 1);
  }
  return v.is_null() || v == false;
}

bool shapes_within(const json& v) {
  if (v.is_array()) return std::any_of(v.begin(), v.end(), shapes_within);
  if (!v.is_object()) return false;
  for (const auto& [key, value] : v.items())
    if ((shapes_network(key) && !is_neutral(key, value)) || shapes_within(value)) return true;
  return false;
}

// MLX writes its formats under two names.
bool is_repeated(const json& config, std::string_view key) {
  return key == "quantization" && config.contains("quantization_config") &&
         config.at("quantization_config") == config.at("quantization");
}

struct UnreadKeys {
  const KeysOf& all;
  const KeysOf& family;
  bool known(std::string_view key) const { return costs_nothing(all, key) || costs_nothing(family, key); }

  void key(const std::string& key, const Reader& in) const {
    const json& value = in.json();
    if (known(key) || is_neutral(key, value)) return;
    const bool shapes = shapes_network(key);
    if (!value.is_number() && !value.is_structured()) {
      if (shapes) in.note("is not used for this architecture, though it may shape the network");
    } else if (shapes || shapes_within(value)) {
      in.fail(
          "shapes a network, but is not modelled for this architecture; if it costs nothing, remove it in a copy of "
          "the file (docs/recipes/your_network.md)");
    } else {
      in.note("is not used: it is priced as if it cost nothing");
    }
  }

  // Also within objects of which some keys were read.
  void object(const Reader& in) const {
    const auto unread = in.unread_entries();
    const bool no_windows = in.json().contains("use_sliding_window") && in.json().at("use_sliding_window") == false;
    for (const auto& [name, value] : unread)
      if ((!no_windows || name != "sliding_window") && !is_repeated(in.json(), name)) key(name, value);
    for (const auto& [name, value] : in.peek_entries()) {
      const bool read = std::none_of(unread.begin(), unread.end(), [&](const auto& e) { return e.first == name; });
      if (!read || !value.is_object() || known(name)) continue;
      if (name == "quantization_config" || name == "quantization") formats(value);
      else if (!has_word(kTowers, name)) object(value);
    }
  }
  void formats(const Reader& in) const { UnreadKeys{all, keys_of("quantization_config")}.object(in); }

  // Keys that files of the family have, but this file lacks. A shipped file names those that were never there.
  void absent(const Reader& whole, const Reader& in) const {
    const json &root = whole.json(), source = root.value("draftline_source", json::object());
    const json never = source.is_object() ? source.value("defaults", json::array()) : json::array();
    const auto has = [&](std::string_view key) {
      return in.json().contains(key) || root.contains(key) || std::find(never.begin(), never.end(), key) != never.end();
    };
    std::string lacks;
    for (const KeysOf* keys : {&all, &family})
      each_part(keys->present, ' ', [&](std::string_view synonyms) {
        bool any = false;
        each_part(synonyms, '|', [&](std::string_view key) { any = any || has(key); });
        const std::string first(synonyms.substr(0, synonyms.find('|')));
        if (!any) lacks += (lacks.empty() ? "\"" : ", \"") + first + "\"";
      });
    if (!lacks.empty()) in.note("lacks " + lacks + ": the defaults of the transformers library are assumed");
  }
};

}  // namespace

bool has_word(std::string_view words, std::string_view word) {
  for (std::size_t at = words.find(word); at != std::string_view::npos; at = words.find(word, at + 1)) {
    const bool begins = at == 0 || words[at - 1] == ' ';
    const std::size_t end = at + word.size();
    if (begins && (end == words.size() || words[end] == ' ')) return true;
  }
  return false;
}

bool shapes_network(std::string_view key) {
  const auto has_one_of = [&](std::string_view words) {
    return any_part(key, [&](std::string_view part) { return has_word(words, part); });
  };
  return has_one_of(kShapingWords) && !has_one_of(kValueWords);
}

void report_unread(const Reader& in, const std::optional<Reader>& text, std::string_view model_type) {
  if (in.failed()) return;
  const UnreadKeys report{keys_of_all(), keys_of(model_type)};
  report.absent(in, text.value_or(in));
  if (!text) return report.object(in);
  report.object(*text);
  for (const auto& [key, value] : in.unread_entries()) {
    const bool repeated = text->json().contains(key) && text->json().at(key) == value.json();
    if (!repeated) report.key(key, value);
  }
  for (const auto& [key, value] : in.peek_entries())
    if (key == "quantization_config" && value.is_object()) report.formats(value);
}

}  // namespace draftline::config
