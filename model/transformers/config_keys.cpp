// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/config_keys.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/int_indexed.h"

namespace draftline::config {

std::optional<Reader> given(const Reader& in, std::string_view key) {
  auto found = in.find(key);
  if (found && found->is_null()) return std::nullopt;
  return found;
}

std::optional<Reader> given(const Reader& in, std::initializer_list<std::string_view> keys) {
  for (const auto key : keys)
    if (auto found = given(in, key)) return found;
  return std::nullopt;
}

int needed(const Reader& in, std::initializer_list<std::string_view> keys, int most) {
  const auto found = given(in, keys);
  return (found ? *found : in.at(*keys.begin())).positive_int(most);
}

void note_unpriced(const Reader& key, ConfigNetwork& s, const std::string& note) {
  s.whole.notes.push_back(note);
  key.note(note);
}

bool flag(const Reader& in, std::string_view key, bool otherwise) {
  const auto found = given(in, key);
  return found ? found->boolean() : otherwise;
}

void refuse(const Reader& in, std::string_view key, std::string why) {
  if (const auto found = given(in, key); found && found->boolean()) found->fail(std::move(why));
}

void demand(const Reader& in, std::string_view key, bool otherwise, std::string why) {
  if (const auto found = given(in, key); found ? !found->boolean() : !otherwise)
    (found ? *found : in).fail(std::move(why));
}

void demand_word(const Reader& in, std::string_view key, std::string_view word, std::string why) {
  if (const auto found = given(in, key); found && found->text() != word) found->fail(std::move(why));
}

void read_epsilon(const Reader& in, std::string_view key, double otherwise, ConfigNetwork& s) {
  const auto found = given(in, key);
  s.whole.norm_epsilon = found ? found->number(0, 1) : otherwise;
}

void read_biases(const Reader& in, ConfigNetwork& s) {
  s.attention.qkv_bias = s.attention.o_bias = flag(in, "attention_bias", false);
}

void read_tied(const Reader& in, bool otherwise, ConfigNetwork& s) {
  s.whole.tied_embeddings = flag(in, "tie_word_embeddings", otherwise);
}

double read_theta(const Reader& in) { return in.number(1, 1e12); }

void read_activation(const Reader& in, std::string_view key, std::initializer_list<std::string_view> same) {
  const auto found = given(in, key);
  if (!found) return;
  const std::string word = found->text();
  if (!found->is_string() || std::find(same.begin(), same.end(), word) != same.end()) return;
  found->fail("activation \"" + word +
              "\" is not modelled for this architecture; known: " + std::string(*same.begin()));
}

void read_heads(const Reader& in, ConfigNetwork& s, bool kv_default) {
  s.attention.heads.heads = needed(in, {"num_attention_heads"}, kMostColumns);
  const auto kv = given(in, "num_key_value_heads");
  if (kv) s.attention.heads.kv_heads = kv->positive_int(kMostColumns);
  else if (kv_default || in.has("num_key_value_heads")) s.attention.heads.kv_heads = s.attention.heads.heads;
  else s.attention.heads.kv_heads = in.at("num_key_value_heads").positive_int(kMostColumns);
}

// Of a head, in networks whose files leave out head_dim.
constexpr std::array kUsualWidths{32, 64, 80, 96, 112, 128, 256};

void read_head_dim(const Reader& in, ConfigNetwork& s, std::string_view key, int otherwise) {
  if (const auto found = given(in, key)) s.attention.heads.head_dim = found->positive_int(1 << 14);
  else if (otherwise > 0) s.attention.heads.head_dim = otherwise;
  else if (s.attention.heads.heads > 0 && s.whole.hidden % s.attention.heads.heads == 0) {
    const int width = s.attention.heads.head_dim = s.whole.hidden / s.attention.heads.heads;
    const bool toy = width < kUsualWidths.front();
    if (!toy && std::find(kUsualWidths.begin(), kUsualWidths.end(), width) == kUsualWidths.end())
      in.note("lacks \"" + std::string(key) + "\": " + std::to_string(width) +
              " columns of a head are assumed, an unusual width");
  } else if (!in.failed())
    in.fail("hidden size " + std::to_string(s.whole.hidden) + " is not divided by " +
            std::to_string(s.attention.heads.heads) + " heads, and no head_dim is given");
}

double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

static void check_heads(const Reader& in, const AttentionHeads& h, double rotary_share) {
  if (h.heads % h.kv_heads != 0)
    in.fail("the " + std::to_string(h.heads) + " heads are not a multiple of the " + std::to_string(h.kv_heads) +
            " KV heads");
  if (const int widest = std::max(h.head_dim, h.value_dim); std::int64_t{h.heads} * widest > kMostColumns)
    in.fail(std::to_string(h.heads) + " heads of " + std::to_string(widest) + " columns are more than " +
            std::to_string(kMostColumns));
  const double rotated = rotary_share * h.head_dim;
  if (static_cast<int>(rotated) % 2 != 0 || rotated < 2)
    in.fail("rope rotates pairs of columns, but " + std::to_string(rotated) +
            " columns of a head are not a whole number of pairs");
}

void check_heads(const Reader& in, const ConfigNetwork& s) {
  check_heads(in, s.heads_of({}), s.rotary_share);
  if (!in.failed() && (s.windowed_heads || s.window_rope))
    check_heads(in, s.heads_of({.attention = AttentionKind::sliding}),
                s.window_rope ? s.window_rope->share : s.rotary_share);
}

namespace {

constexpr double kMostStretch = 1e6;

double number_or(const Reader& in, std::string_view key, double otherwise, double least, double most) {
  const auto found = given(in, key);
  return found ? found->number(least, most) : otherwise;
}

int original_context(const Reader& in, const Reader& config) {
  const auto found = given(in, "original_max_position_embeddings");
  if (found) return found->positive_int(kMostPositions);
  in.note("lacks \"original_max_position_embeddings\": the text's longest is assumed");
  const auto outer = given(config, {"original_max_position_embeddings", "max_position_embeddings"});
  return outer ? outer->positive_int(kMostPositions)
               : in.at("original_max_position_embeddings").positive_int(kMostPositions);
}

// modeling_rope_utils.py: _compute_yarn_parameters, after section 3.4 of Peng et al. 2023
RopeScaling read_yarn(const Reader& in, const Reader& config) {
  RopeScaling s{.kind = RopeScaling::Kind::yarn, .factor = in.at("factor").number(1, kMostStretch)};
  s.original_context = original_context(in, config);
  s.beta_fast = number_or(in, "beta_fast", 32, 1e-6, kMostStretch);
  s.beta_slow = number_or(in, "beta_slow", 1, 1e-6, kMostStretch);
  s.whole_columns = flag(in, "truncate", true);
  if (s.beta_slow > s.beta_fast) in.fail("beta_slow must not be above beta_fast");
  const double scale = number_or(in, "mscale", 0, 0, 100), of_all = number_or(in, "mscale_all_dim", 0, 0, 100);
  s.attention_factor = number_or(
      in, "attention_factor",
      scale > 0 && of_all > 0 ? yarn_scale(s.factor, scale) / yarn_scale(s.factor, of_all) : yarn_scale(s.factor, 1),
      1e-3, 1e3);
  return s;
}

std::vector<double> read_factors(const Reader& in) {
  std::vector<double> all;
  for (const auto& f : in.items()) {
    if (all.size() >= at(kMostColumns)) break;
    all.push_back(f.number(1e-3, kMostStretch));
  }
  return all;
}

// _compute_longrope_parameters, after Ding et al. 2024
RopeScaling read_longrope(const Reader& in, const Reader& config) {
  RopeScaling s{.kind = RopeScaling::Kind::longrope};
  s.short_factors = read_factors(in.at("short_factor"));
  s.long_factors = read_factors(in.at("long_factor"));
  s.original_context = original_context(in, config);
  const auto longest = given(config, "max_position_embeddings");
  const double share = longest ? 1.0 * longest->positive_int(kMostPositions) / s.original_context : 1;
  s.factor = number_or(in, "factor", std::max(1.0, share), 1, kMostStretch);
  if (given(config, "original_max_position_embeddings")) s.factor = std::max(1.0, share);
  s.attention_factor = number_or(
      in, "attention_factor", std::sqrt(1 + std::log(s.factor) / std::log(std::max(2, s.original_context))), 1e-3, 1e3);
  return s;
}

RopeScaling read_llama3(const Reader& in) {
  RopeScaling s{.kind = RopeScaling::Kind::llama3, .factor = in.at("factor").number(1, kMostStretch)};
  s.low_frequency_factor = in.at("low_freq_factor").number(1e-6, kMostStretch);
  s.high_frequency_factor = in.at("high_freq_factor").number(1e-6, kMostStretch);
  s.original_context = in.at("original_max_position_embeddings").positive_int(kMostPositions);
  if (s.low_frequency_factor > s.high_frequency_factor) in.fail("low_freq_factor must not be above high_freq_factor");
  return s;
}

}  // namespace

void read_scaling(const Reader& in, const Reader& config, ConfigNetwork& s) {
  const auto type = given(in, {"rope_type", "type"});
  const std::string kind = type ? type->text() : "default";
  if (kind == "default" || kind == "mrope") return;  // mrope: of images; text has the usual positions
  if (kind == "dynamic")
    s.whole.notes.push_back(
        "dynamic rope scaling has no effect within max_positions, and longer contexts are not modelled");
  else if (kind == "linear") s.attention.rope.scaling = RopeScaling{.factor = in.at("factor").number(1, kMostStretch)};
  else if (kind == "llama3") s.attention.rope.scaling = read_llama3(in);
  else if (kind == "yarn") {
    s.attention.rope.scaling = read_yarn(in, config);
    if (const auto beta = given(in, "llama_4_scaling_beta"))
      s.attention.rope.growth =
          QueryGrowth{1.0 * s.attention.rope.scaling->original_context, beta->number(0, 100), 0, true};
  } else if (kind == "proportional") {
    const auto factor = given(in, "factor"), share = given(in, "partial_rotary_factor");
    s.attention.rope.scaling = RopeScaling{.kind = RopeScaling::Kind::proportional,
                                           .factor = factor ? factor->number(1, kMostStretch) : 1,
                                           .turned = share ? share->number(1e-3, 1) : 1};
  } else if (kind == "longrope" || kind == "su") s.attention.rope.scaling = read_longrope(in, config);
  else
    type->fail("rope scaling \"" + kind +
               "\" is not modelled; known: default, linear, llama3, dynamic, yarn, longrope, proportional");
}

static void read_share(const Reader& in, ConfigNetwork& s) {
  if (const auto share = given(in, "partial_rotary_factor")) s.rotary_share = share->number(1e-3, 1);
}

// transformers 5: theta and scaling in one place; perhaps one for each kind of layer.
static void read_rope_parameters(const Reader& in, const Reader& config, ConfigNetwork& s) {
  if (!in.is_object()) return in.fail("must be an object or null");
  if (const auto sliding = given(in, {"sliding_attention", "chunked_attention"})) {
    ConfigNetwork local;
    local.rotary_share = s.rotary_share;
    read_rope_parameters(*sliding, config, local);
    if (local.attention.rope.scaling) sliding->fail("scaled rope in windows is not modelled");
    s.window_rope = {local.attention.rope.theta, local.rotary_share};
  }
  const auto full = given(in, "full_attention");
  const Reader& mine = full ? *full : in;
  if (const auto theta = given(mine, "rope_theta")) s.attention.rope.theta = read_theta(*theta);
  read_scaling(mine, config, s);
  const bool all_turn_as_one =
      s.attention.rope.scaling && s.attention.rope.scaling->kind == RopeScaling::Kind::proportional;
  if (!all_turn_as_one) read_share(mine, s);
}

void read_rope(const Reader& in, ConfigNetwork& s) {
  if (const auto theta = given(in, "rope_theta")) s.attention.rope.theta = read_theta(*theta);
  read_share(in, s);
  if (const auto newer = given(in, "rope_parameters")) return read_rope_parameters(*newer, in, s);
  if (const auto scaling = given(in, "rope_scaling")) {
    if (scaling->is_object()) read_scaling(*scaling, in, s);
    else scaling->fail("must be an object or null");
  }
}

void read_positions(const Reader& in, int otherwise, ConfigNetwork& s) {
  const auto found = given(in, "max_position_embeddings");
  s.whole.max_positions = found ? found->positive_int(kMostPositions) : otherwise;
}

bool one_for_each_layer(const Reader& list, int entries, const ConfigNetwork& s) {
  if (entries == s.layers) return true;
  list.fail("has " + std::to_string(entries) + " entries for " + std::to_string(s.layers) + " layers");
  return false;
}

void read_layer_types(const Reader& in, AttentionKind windowed_kind, std::optional<int> window,
                      const WhichLayers& windowed, ConfigNetwork& s) {
  if (in.failed()) return;
  const std::string_view word = windowed_kind == AttentionKind::chunked ? "chunked_attention" : "sliding_attention";
  std::vector<bool> has_window;
  if (const auto types = given(in, "layer_types")) {
    for (const auto& type : types->items()) {
      const auto kind = type.text();
      has_window.push_back(kind == word);
      if (kind != word && kind != "full_attention")
        type.fail("layer type \"" + kind + "\" is not modelled; known: full_attention, " + std::string(word));
    }
    one_for_each_layer(*types, count(has_window), s);
  } else {
    for (int i = 0; i < s.layers; ++i) has_window.push_back(windowed(i));
  }
  if (in.failed() || !window || *window >= *s.whole.max_positions) return;
  if (std::find(has_window.begin(), has_window.end(), true) == has_window.end()) return;
  s.window = *window;
  std::vector<LayerKind> kinds;
  for (int i = 0; i < s.layers; ++i) {
    kinds.push_back(s.kind(i));
    if (has_window[at(i)]) kinds.back().attention = windowed_kind;
  }
  s.layer_kinds = std::move(kinds);
}

std::optional<int> read_window(const Reader& in, std::optional<int> otherwise) {
  if (const auto window = given(in, "sliding_window")) return window->positive_int(kMostPositions);
  return in.has("sliding_window") ? std::nullopt : otherwise;
}

void read_sliding_window(const Reader& in, std::optional<int> otherwise, ConfigNetwork& s) {
  read_layer_types(
      in, AttentionKind::sliding, read_window(in, otherwise), [](int) { return true; }, s);
}

void read_ungated(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.intermediate = needed(in, {"intermediate_size"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  read_rope(in, s);
}

void read_gated(const Reader& in, ConfigNetwork& s) {
  read_ungated(in, s);
  read_activation(in, "hidden_act", {"silu", "swish"});
}

void read_like_llama(const Reader& in, const Defaults& d, ConfigNetwork& s) {
  s.attention.rope.theta = d.theta;
  s.attention.qk_norm = d.qk_norm;
  read_gated(in, s);
  read_heads(in, s, d.kv_heads_may_lack);
  read_head_dim(in, s, "head_dim", d.head_dim);
  read_positions(in, d.positions, s);
  read_epsilon(in, "rms_norm_eps", d.epsilon, s);
  read_tied(in, false, s);
}

}  // namespace draftline::config
