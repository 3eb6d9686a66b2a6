// SPDX-License-Identifier: Apache-2.0
// The reading of config.json: whose it is, then its family's keys, then what must hold whichever the family.

#include <cmath>

#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "model/transformers/config_families.h"
#include "model/transformers/config_keys.h"
#include "model/transformers/quantization_config.h"
#include "model/transformers/unread_keys.h"

namespace draftline {
namespace {

const config::Family* family_with_type(const std::string& model_type) {
  for (const auto& f : config::families())
    if (f.model_type == model_type || std::string(f.model_type) + "_text" == model_type) return &f;
  return nullptr;
}

// The family of a text tower that names one which is known; else null.
const config::Family* known_family(const Reader& text) {
  if (const auto names = config::given(text, "architectures"); names && names->size() > 0 && names->item(0).is_string())
    if (const auto* f = config::family(names->item(0).text())) return f;
  const auto type = config::given(text, "model_type");
  return type && type->is_string() ? family_with_type(type->text()) : nullptr;
}

const config::Family* family_of(const Reader& in, std::string& word) {
  Reader place = in;
  if (const auto list = config::given(in, "architectures")) {
    const auto names = list->items();
    if (names.empty()) {
      if (list->is_array()) list->fail("must name the architecture");
      return nullptr;
    }
    place = names.front();
    word = place.text();
    if (const auto* f = config::family(word)) return f;
  } else if (const auto type = config::given(in, "model_type")) {
    place = *type;
    word = place.text();
    for (const auto& f : config::families())
      if (f.model_type == word) {
        word = f.architecture;
        return &f;
      }
  } else {
    place = in.at("architectures");  // notes that it is missing
    return nullptr;
  }
  if (const auto text = config::text_tower(in); text && text->is_object())
    if (const auto* f = known_family(*text)) {
      in.note("the text of \"" + printable(word, 100) + "\" alone is priced, as " + std::string(f->architecture));
      word = f->architecture;
      return f;
    }
  if (const config::Unmodelled* u = config::unmodelled(word)) {
    place.fail("\"" + word + "\" has " + std::string(u->part) + ", which is not modelled; " + std::string(u->instead));
    return nullptr;
  }
  std::string known;
  for (const auto& f : config::families()) known += (known.empty() ? "" : ", ") + std::string(f.architecture);
  if (place.is_string())
    place.fail(
        "unknown architecture \"" + word + "\"; known: " + known +
        ". In a copy of the file, give a known architecture with the same layers (docs/recipes/your_network.md)");
  return nullptr;
}

std::string name_of(const std::filesystem::path& file) {
  const auto stem = file.stem().string();
  const auto folder = file.parent_path().filename().string();
  return stem == "config" && !folder.empty() ? folder : stem;
}

}  // namespace

// The text of a network that also sees may be of any family: it says of which. Null, and a mistake, if it is unknown.
static const config::Family* family_of_text(const config::Family& whole, const Reader& text) {
  const auto type = config::given(text, "model_type");
  if (!type) return &whole;
  const std::string word = type->text();
  for (const config::Family& f : config::families())
    if (f.model_type == word) return &f;
  const bool own =
      word == std::string(whole.model_type) + "_text" || (word == "kimi_k2" && whole.model_type == "kimi_k25");
  if (own) return &whole;
  type->fail("the text network \"" + word + "\" is not modelled");
  return nullptr;
}

std::optional<Reader> config::text_tower(const Reader& in) {
  for (const std::string_view key : {"text_config", "llm_config", "language_config"})
    if (const auto text = given(in, key)) {
      const auto inner = text->is_object() ? text_tower(*text) : std::nullopt;
      return inner ? inner : text;
    }
  if (!in.is_object() || in.json().contains("hidden_size")) return std::nullopt;
  for (const std::string_view key : {"thinker_config", "language_model", "model_config", "decoder_config"})
    if (const auto part = given(in, key); part && part->is_object())
      if (const auto text = text_tower(*part)) return text;
  return std::nullopt;
}

static void check_experts(const Reader& in, const config::ConfigNetwork& s) {
  bool any = !s.experts;
  for (int i = 0; i < s.layers; ++i) any = any || s.kind(i).experts;
  if (!any) in.note("has experts by its keys, but none of its layers has them");
}

static TransformerShape read_shape(const Reader& in, const config::Family* family, std::string architecture) {
  config::ConfigNetwork config;
  config.whole.name = name_of(in.file());
  config.whole.architecture = std::move(architecture);
  if (!family) return config.whole;
  // A network that also sees or hears keeps the keys of its text tower apart.
  const auto tower = config::text_tower(in);
  if (tower && !tower->is_object()) tower->fail("must be an object");
  if (tower) family = family_of_text(*family, *tower);
  if (!family) return config.whole;
  family->read(tower.value_or(in), config);
  if (in.failed()) return config.whole;
  check_experts(in, config);
  if (tower && config::given(in, "tie_word_embeddings")) config::read_tied(in, config.whole.tied_embeddings, config);
  config::check_heads(in, config);
  if (const auto& r = config.attention.rope.scaling; r && r->kind == RopeScaling::Kind::longrope)
    for (const auto* factors : {&r->short_factors, &r->long_factors})
      if (2.0 * count(*factors) != std::floor(config.rotary_share * config.attention.heads.head_dim))
        in.fail("longrope has " + std::to_string(factors->size()) + " factors for " +
                std::to_string(static_cast<int>(config.rotary_share * config.attention.heads.head_dim) / 2) +
                " pairs of columns of a head");
  TransformerShape s = in.failed() ? config.whole : network_of(config);
  // vLLM's and transformers' rule: YaRN stretches the original context, whatever max_position_embeddings says.
  if (const auto& r = config.attention.rope.scaling; r && r->kind == RopeScaling::Kind::yarn && s.max_positions)
    s.max_positions = std::max(
        *s.max_positions,
        static_cast<int>(std::min(r->factor * r->original_context, static_cast<double>(config::kMostPositions))));
  const auto modules = config::given(tower.value_or(in), {"num_nextn_predict_layers", "mtp_num_hidden_layers"});
  if (modules) s.mtp_modules = modules->integer(0, 64);
  else if (s.architecture == "Qwen3NextForCausalLM") s.mtp_modules = 1;              // which doesn't say so
  else if (s.architecture == "MiMoV2FlashForCausalLM") s.mtp_modules = 3;            // likewise
  const bool formats_of_tower = tower && !config::given(in, "quantization_config");  // Kimi-K2.5
  s.checkpoint = read_checkpoint_precision(formats_of_tower ? *tower : in, s);
  if (const auto origin = config::given(in, "draftline_source"); origin && origin->is_object()) {
    s.source = origin->at("source").text() + ", " + origin->at("locator").text();
    if (const auto note = config::given(*origin, "note")) s.notes.push_back(note->text());
  }
  return s;
}

static std::string_view model_type_of(const config::Family& whole, const std::optional<Reader>& text) {
  const config::Family* family = text ? family_of_text(whole, *text) : &whole;
  return family ? family->model_type : whole.model_type;
}

TransformerShape read_transformer(Reader in) {
  std::string architecture;
  const config::Family* family = family_of(in, architecture);
  TransformerShape shape = read_shape(in, family, architecture);
  if (family != nullptr) {
    const auto text = config::text_tower(in);
    config::report_unread(in, text, model_type_of(*family, text));
  }
  return shape;
}

TransformerShape config::read_transformer_as(std::string_view architecture, const Reader& in) {
  return read_shape(in, family(architecture), std::string(architecture));
}

}  // namespace draftline
