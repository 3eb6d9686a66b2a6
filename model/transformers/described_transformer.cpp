// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/described_transformer.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"

namespace draftline {

namespace {

using namespace config;

DType read_state_format(const Reader& in) {
  const auto format = in.find("format");
  return format && format->word(kStateFormats) == "fp32" ? DType::fp32 : DType::bf16;
}
int size_or(const Reader& in, std::string_view key, int otherwise) {
  const auto found = in.find(key);
  return found ? found->positive_int(kMostColumns) : otherwise;
}

Mamba2 read_mamba(const Reader& in) {
  Mamba2 m{.heads = in.at("heads").positive_int(1 << 14),
           .head_dim = in.at("head_dim").positive_int(1 << 14),
           .groups = size_or(in, "groups", 1),
           .state_dim = in.at("state").positive_int(1 << 14),
           .kernel = size_or(in, "kernel", 4),
           .chunk = size_or(in, "chunk", 256),
           .state = read_state_format(in)};
  if (m.heads % m.groups != 0) in.at("groups").fail("must divide heads, " + std::to_string(m.heads));
  in.done();
  return m;
}

DeltaNet read_delta_net(const Reader& in) {
  DeltaNet d{.key_heads = in.at("key_heads").positive_int(1 << 12),
             .value_heads = in.at("value_heads").positive_int(1 << 12),
             .key_dim = in.at("key_dim").positive_int(1 << 10),
             .value_dim = in.at("value_dim").positive_int(1 << 10),
             .kernel = size_or(in, "kernel", 4),
             .state = read_state_format(in)};
  if (const auto rank = in.find("column_gates_rank")) d.column_gates = {rank->positive_int(kMostColumns), false};
  if (d.value_heads % d.key_heads != 0)
    in.at("value_heads").fail("must be a multiple of key_heads, " + std::to_string(d.key_heads));
  in.done();
  return d;
}

// The kinds of layers, repeated: words joined by "+", such as "mamba+experts".
LayerKind read_kind(const Reader& entry, const ConfigNetwork& s) {
  LayerKind kind{.attention = AttentionKind::none, .mlp = false};
  const auto part = [&](std::string_view word, bool described) {
    if (described) return;
    entry.fail("\"" + std::string(word) + "\" requires the key \"" + std::string(word) + "\" of the network");
  };
  std::string rest = entry.text();
  while (!rest.empty()) {
    const std::string word = rest.substr(0, rest.find('+'));
    rest = rest.size() > word.size() ? rest.substr(word.size() + 1) : "";
    if (word == "mlp") kind.mlp = true;
    else if (word == "experts") part(word, s.experts.has_value()), kind.mlp = kind.experts = true;
    else if (word == "delta_net") part(word, s.delta_net.has_value()), kind.attention = AttentionKind::delta_net;
    else if (word == "mamba") {
      part(word, s.mamba.has_value());
      kind.attention = kind.attention == AttentionKind::full ? AttentionKind::beside_mamba : AttentionKind::mamba;
    } else if (word == "window" || word == "attention") {
      if (word == "window") part(word, s.window > 0);
      kind.attention = word == "window" ? AttentionKind::sliding : AttentionKind::full;
    } else {
      entry.fail("\"" + word + "\" is not known; known: attention, window, mamba, delta_net, mlp, experts");
      break;
    }
  }
  if (kind.attention == AttentionKind::none && !kind.mlp) entry.fail("a layer needs at least one part");
  return kind;
}

void read_pattern(const Reader& in, ConfigNetwork& s) {
  if (s.mamba && s.delta_net) in.fail("state spaces and delta networks in one network are not modelled");
  std::vector<LayerKind> kinds;
  for (const Reader& entry : in.items()) kinds.push_back(read_kind(entry, s));
  if (kinds.empty()) in.fail("must name the parts of at least one layer");
  if (in.failed()) return;
  const auto attends = [](const LayerKind& k) {
    return k.attention == AttentionKind::full || k.attention == AttentionKind::beside_mamba;
  };
  if (std::none_of(kinds.begin(), kinds.end(), attends)) in.fail("no layer attends to all of the text");
  s.layer_kinds.clear();
  for (int i = 0; i < s.layers; ++i) s.layer_kinds.push_back(kinds[at(i) % kinds.size()]);
}

Experts read_experts(const Reader& in, ConfigNetwork& s) {
  Experts e;
  e.count = in.at("count").positive_int(1 << 16);
  e.per_token = in.at("per_token").positive_int(1 << 16);
  e.intermediate = in.at("intermediate").positive_int(kMostColumns);
  if (const auto shared = in.find("shared")) e.shared = shared->integer(0, kMostColumns);
  if (const auto latent = in.find("latent")) e.latent = latent->positive_int(kMostColumns);
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
  if (const auto gated = in.find("gated"); gated && !gated->boolean()) s.mlp = MlpKind::squared_relu;
  if (const auto tied = in.find("tied_embeddings")) s.whole.tied_embeddings = tied->boolean();
  if (const auto most = in.find("max_positions")) s.whole.max_positions = most->positive_int(kMostPositions);
  if (in.failed()) return s.whole;
  if (const auto experts = in.find("experts")) s.experts = read_experts(*experts, s);
  read_window(in, s);
  if (const auto mamba = in.find("mamba")) s.mamba = read_mamba(*mamba);
  if (const auto delta = in.find("delta_net")) s.delta_net = read_delta_net(*delta);
  if (const auto pattern = in.find("pattern")) read_pattern(*pattern, s);
  else if (s.mamba || s.delta_net) in.fail("missing key \"pattern\", which says where \"mamba\" or \"delta_net\" are");
  check_heads(in, s);
  in.done();
  return in.failed() ? s.whole : network_of(s);
}

}  // namespace draftline
