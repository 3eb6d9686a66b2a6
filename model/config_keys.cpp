// SPDX-License-Identifier: Apache-2.0
#include "model/config_keys.h"

#include <algorithm>
#include <cmath>

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

void read_epsilon(const Reader& in, std::string_view key, double otherwise, TransformerShape& s) {
  const auto found = given(in, key);
  s.norm_epsilon = found ? found->number(0, 1) : otherwise;
}

void read_tied(const Reader& in, bool otherwise, TransformerShape& s) {
  s.tied_embeddings = flag(in, "tie_word_embeddings", otherwise);
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

void read_heads(const Reader& in, TransformerShape& s, bool kv_default) {
  s.heads = needed(in, {"num_attention_heads"}, kMostColumns);
  const auto kv = given(in, "num_key_value_heads");
  if (kv) s.kv_heads = kv->positive_int(kMostColumns);
  else if (kv_default || in.has("num_key_value_heads")) s.kv_heads = s.heads;
  else s.kv_heads = in.at("num_key_value_heads").positive_int(kMostColumns);
}

void read_head_dim(const Reader& in, TransformerShape& s, std::string_view key, int otherwise) {
  if (const auto found = given(in, key)) s.head_dim = found->positive_int(1 << 14);
  else if (otherwise > 0) s.head_dim = otherwise;
  else if (s.heads > 0 && s.hidden % s.heads == 0) s.head_dim = s.hidden / s.heads;
  else if (!in.failed())
    in.fail("hidden size " + std::to_string(s.hidden) + " is not divided by " + std::to_string(s.heads) +
            " heads, and no head_dim is given");
}

double yarn_scale(double factor, double mscale) { return factor <= 1 ? 1 : 0.1 * mscale * std::log(factor) + 1; }

static void read_yarn(const Reader& in, RopeScaling& s) {
  const auto number = [&](const char* key, double otherwise) {
    const auto found = given(in, key);
    return found ? found->number(0, 1e6) : otherwise;
  };
  s.kind = RopeScaling::Kind::yarn;
  s.factor = in.at("factor").number(1, 1e6);
  s.original_context = in.at("original_max_position_embeddings").positive_int(kMostPositions);
  s.beta_fast = number("beta_fast", 32);
  s.beta_slow = number("beta_slow", 1);
  if (s.beta_fast < s.beta_slow || s.beta_slow <= 0) in.fail("beta_fast must be at least beta_slow, and both above 0");
  const double mscale = number("mscale", 0), of_all = number("mscale_all_dim", 0);
  if (const auto factor = given(in, "attention_factor")) s.attention_factor = factor->number(1e-6, 1e6);
  else if (mscale > 0 && of_all > 0) s.attention_factor = yarn_scale(s.factor, mscale) / yarn_scale(s.factor, of_all);
  else s.attention_factor = yarn_scale(s.factor, 1);
}

void read_scaling(const Reader& in, TransformerShape& s) {
  const auto type = given(in, {"rope_type", "type"});
  const std::string kind = type ? type->text() : "default";
  if (kind == "default") return;
  if (kind == "dynamic") {
    s.notes.push_back(
        "dynamic rope scaling changes nothing within max_positions, and longer contexts are not modelled");
    return;
  }
  RopeScaling scaling;
  if (kind == "linear") {
    scaling.kind = RopeScaling::Kind::linear;
    scaling.factor = in.at("factor").number(1, 1e6);
  } else if (kind == "llama3") {
    scaling.kind = RopeScaling::Kind::llama3;
    scaling.factor = in.at("factor").number(1, 1e6);
    scaling.low_frequency_factor = in.at("low_freq_factor").number(1e-6, 1e6);
    scaling.high_frequency_factor = in.at("high_freq_factor").number(1e-6, 1e6);
    scaling.original_context = in.at("original_max_position_embeddings").positive_int(kMostPositions);
    if (scaling.low_frequency_factor >= scaling.high_frequency_factor)
      in.fail("low_freq_factor must be below high_freq_factor");
  } else if (kind == "yarn") {
    read_yarn(in, scaling);
  } else {
    type->fail("rope scaling \"" + kind + "\" is not modelled; known: default, linear, llama3, yarn, dynamic");
    return;
  }
  s.rope_scaling = scaling;
}

void read_rope(const Reader& in, TransformerShape& s) {
  if (const auto theta = given(in, "rope_theta")) s.rope_theta = read_theta(*theta);
  auto scaling = given(in, "rope_scaling");
  if (const auto newer = given(in, "rope_parameters")) {
    if (const auto theta = given(*newer, "rope_theta")) s.rope_theta = read_theta(*theta);
    if (newer->has("full_attention") || newer->has("sliding_attention"))
      newer->fail("rope parameters that differ between layers are not modelled");
    scaling = newer;
  }
  if (scaling) {
    if (scaling->is_object()) read_scaling(*scaling, s);
    else scaling->fail("must be an object or null");
  }
  auto share = given(in, "partial_rotary_factor");
  if (const auto newer = given(in, "rope_parameters"); newer && newer->is_object())
    if (const auto inner = given(*newer, "partial_rotary_factor")) share = inner;
  if (share) s.rotary_share = share->number(1e-3, 1);
}

void read_positions(const Reader& in, int otherwise, TransformerShape& s) {
  const auto found = given(in, "max_position_embeddings");
  s.max_positions = found ? found->positive_int(kMostPositions) : otherwise;
}

void end_at_window(int window, TransformerShape& s) {
  if (window >= *s.max_positions) return;
  s.notes.push_back("max_positions is the sliding window of " + std::to_string(window) + ", not the " +
                    std::to_string(*s.max_positions) + " of the file: beyond the window attention is not full");
  s.max_positions = window;
}

}  // namespace draftline::config
