// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/described_transformer.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"

namespace draftline {

namespace {

using namespace config;

Experts read_experts(const Reader& in, ConfigNetwork& s) {
  Experts e;
  e.count = in.at("count").positive_int(1 << 16);
  e.per_token = in.at("per_token").positive_int(1 << 16);
  e.intermediate = in.at("intermediate").positive_int(kMostColumns);
  if (const auto shared = in.find("shared")) e.shared = shared->integer(0, kMostColumns);
  if (e.per_token > e.count) in.at("per_token").fail("must be at most count, " + std::to_string(e.count));
  if (too_many_rows(e, s.whole.hidden)) in.at("count").fail(kTooManyRows);
  const auto dense = in.find("dense_layers");
  const int first = dense ? dense->integer(0, kMostLayers) : 0;
  if (first >= s.layers && s.layers > 0) dense->fail("leaves none of the " + std::to_string(s.layers) + " layers");
  for (int i = 0; i < s.layers; ++i) s.layer_kinds.push_back({.experts = i >= first});
  in.done();
  return e;
}

void read_window(const Reader& in, ConfigNetwork& s) {
  const auto window = in.find("window"), every = in.find("full_attention_every");
  if (!window) {
    if (every) every->fail("requires \"window\"");
    return;
  }
  s.window = window->positive_int(kMostPositions);
  const int full = every ? every->positive_int(kMostLayers) : 0;  // 0: no layer has full attention
  if (s.layer_kinds.empty()) s.layer_kinds.resize(at(std::max(0, s.layers)));
  for (std::size_t i = 0; i < s.layer_kinds.size(); ++i)
    if (full == 0 || (i + 1) % at(full) != 0) s.layer_kinds[i].attention = AttentionKind::sliding;
}

}  // namespace

TransformerShape read_described_transformer(const Reader& in) {
  ConfigNetwork s;
  const auto name = in.find("name");
  s.whole.name = name ? name->text() : "described";
  s.whole.source = "described in the scenario";
  s.layers = in.at("layers").positive_int(kMostLayers);
  s.whole.hidden = in.at("hidden").positive_int(kMostColumns);
  s.attention.heads.heads = in.at("heads").positive_int(kMostColumns);
  s.whole.intermediate = in.at("intermediate").positive_int(kMostColumns);
  s.whole.vocabulary = in.at("vocabulary").positive_int(kMostVocabulary);
  const auto kv_heads = in.find("kv_heads");
  s.attention.heads.kv_heads = kv_heads ? kv_heads->positive_int(kMostColumns) : s.attention.heads.heads;
  read_head_dim(in, s);
  if (const auto gated = in.find("gated"); gated && !gated->boolean()) s.mlp = MlpKind::gelu;
  if (const auto tied = in.find("tied_embeddings")) s.whole.tied_embeddings = tied->boolean();
  if (const auto most = in.find("max_positions")) s.whole.max_positions = most->positive_int(kMostPositions);
  if (in.failed()) return s.whole;
  if (const auto experts = in.find("experts")) s.experts = read_experts(*experts, s);
  if (s.experts && s.mlp == MlpKind::gelu) in.at("gated").fail("experts without a gate are not modelled");
  read_window(in, s);
  check_heads(in, s);
  in.done();
  return in.failed() ? s.whole : network_of(s);
}

}  // namespace draftline
