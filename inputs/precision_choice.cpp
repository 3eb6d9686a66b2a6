// SPDX-License-Identifier: Apache-2.0
#include "inputs/precision_choice.h"

#include <utility>

#include "inputs/axes.h"

namespace draftline {

namespace {

std::string read_format(const Reader& in) { return std::string(format_named(in.word(format_names()))->name); }

std::optional<std::string> read_weights(const Reader& in) {
  if (in.is_string() && in.text() == kOfCheckpoint) return std::nullopt;
  return read_format(in);
}

DType read_wide(const Reader& in) { return format_named(in.word(kWideFormats))->activations; }

std::optional<DType> read_kv_cache(const Reader& in) {
  const std::string_view name = in.word(kCacheFormats);
  if (name == kOfCheckpoint) return std::nullopt;
  if (name == "q8_0" || name == "q4_0") return name == "q8_0" ? DType::int8 : DType::int4;
  return name.starts_with("fp8") ? DType::fp8 : format_named(name)->activations;
}

PrecisionChoice read_object(const Reader& in) {
  PrecisionChoice p;
  const auto format = [&](std::string_view key, std::string_view other, std::optional<std::string>& to) {
    if (const auto value = in.find_either(key, other)) to = read_weights(*value);
  };
  format("weights", "quantization", p.weights);
  format("draft", "draft_quantization", p.draft);
  for (auto [key, to] : {std::pair{"attention", &p.attention}, {"experts", &p.experts}, {"lm_head", &p.lm_head}})
    if (const auto value = in.find(key)) *to = read_format(*value);
  if (const auto value = in.find_either("activations", "dtype")) p.activations = read_wide(*value);
  if (const auto value = in.find_either("kv_cache", "kv_cache_dtype")) p.kv_cache = read_kv_cache(*value);
  if (const auto value = in.find("embedding")) p.embedding = read_wide(*value);
  in.done();
  return p;
}

PrecisionChoice read_choice(const Reader& in) {
  if (in.is_object()) return read_object(in);
  PrecisionChoice p;
  p.weights = read_weights(in);
  return p;
}

}  // namespace

const std::vector<std::string_view>& format_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> all;
    for (const NamedFormat& f : named_formats()) all.push_back(f.name);
    for (const NamedFormat& f : named_formats())
      if (!f.also.empty()) all.push_back(f.also);
    return all;
  }();
  return names;
}

Precision PrecisionChoice::of(const TransformerShape& target) const {
  Precision p;
  if (weights) p = format_named(*weights)->precision();
  else if (target.checkpoint) p = *target.checkpoint;
  if (activations) {
    Precision wide(*activations);
    for (auto [of, plain] : {std::pair{&p.attention, &wide.attention},
                             {&p.mlp, &wide.mlp},
                             {&p.experts, &wide.experts},
                             {&p.lm_head, &wide.lm_head},
                             {&p.draft, &wide.draft}})
      if (bits_of(of->weights) >= 16) *of = *plain;
    if (bits_of(p.kv_cache) >= 16) p.kv_cache = *activations;
    p.activations = p.embedding = *activations;
    p.embedding_scales = {};
    p.name += ",activations:" + std::string(name(*activations));
  }
  const auto named = [&](std::string_view key, const std::string& format) {
    p.name += "," + std::string(key) + ":" + format;
  };
  const auto layers = [&](std::string_view key, const std::optional<std::string>& format, LinearFormat& to) {
    if (!format || to == format_named(*format)->layers) return;
    to = format_named(*format)->layers;
    named(key, *format);
  };
  layers("attention", attention, p.attention);
  layers("experts", experts, p.experts);
  layers("lm_head", lm_head, p.lm_head);
  p.draft_given = draft.has_value();
  if (draft) {
    const LinearFormat usual = std::exchange(p.draft, format_named(*draft)->layers);
    // Layers of multi-token prediction have the target's formats unless they are given one, so that 16 bits are told
    // too.
    if (p.draft != usual || p.draft != p.mlp || p.draft != p.experts) named("draft", *draft);
  }
  const auto values = [&](std::string_view key, std::optional<DType> format, DType& to) {
    if (!format || to == *format) return;
    to = *format;
    named(key, std::string(name(*format)));
  };
  values("kv_cache", kv_cache, p.kv_cache);
  if (embedding) p.embedding_scales = {};
  values("embedding", embedding, p.embedding);
  return p;
}

std::optional<std::string> PrecisionChoice::contradiction(const TransformerShape& target) const {
  if (!target.checkpoint || !weights) return std::nullopt;
  const Precision mine = of(target);
  const Precision& own = *target.checkpoint;
  if (mine.mlp.same_products(own.mlp) && mine.attention.same_products(own.attention) &&
      mine.experts.same_products(own.experts))
    return std::nullopt;
  return "the checkpoint of " + target.name + " has weights in " + own.name + ", \"" + *weights +
         "\" is priced instead; \"auto\" selects the checkpoint's";
}

std::vector<PrecisionChoice> read_precisions(const Reader& scenario) {
  const auto in = scenario.find("precision");
  if (!in) return {PrecisionChoice{}};
  return all_combinations<PrecisionChoice>(*in, read_choice);
}

}  // namespace draftline
