// SPDX-License-Identifier: Apache-2.0
#include "decoder/transformer.h"

#include <algorithm>

namespace draftline {

std::vector<LayerUse> layers_between(int from, int to) {
  std::vector<LayerUse> uses;
  for (int i = from; i < to; ++i) uses.push_back({i});
  return uses;
}

Transformer::Transformer(const TransformerShape& s, WeightStore& store, Ops& ops, int capacity,
                         const TransformerOptions& options)
    : shape(s), ranks(options.ranks), all_(layers_between(0, s.layers())) {
  // The choice of factors is vLLM's: by the longest text that may come, as keys in the cache can't be rotated again.
  for (LayerShape& layer : shape.kinds)
    if (Rope* rope = layer.rope();
        rope != nullptr && rope->scaling && rope->scaling->kind == RopeScaling::Kind::longrope)
      rope->scaling->long_text = capacity > rope->scaling->original_context;
  embedding = store.embedding(options.prefix + "embedding", s.vocabulary, s.hidden);
  for (int i = 0; i < s.layers(); ++i)
    layers.push_back(make_layer(store, options.prefix + "layers." + std::to_string(i) + ".", shape.layer(i)));
  final_norm_weight = store.vector(options.prefix + "final_norm", s.hidden);
  if (s.norm == NormKind::layer) final_norm_bias = store.vector(options.prefix + "final_norm_bias", s.hidden);
  head = store.lm_head(options.prefix + "lm_head", s.hidden, s.vocabulary, s.tied_embeddings);
  add_caches(ops, capacity, options.states);
}

namespace {

// What layers that share a cache have alike. Their order is that of the caches.
struct CacheForm {
  bool windowed = false, chunked = false, shares_choice = false, blocks = false;
  int tokens = 0, columns = 0, heads = 0;  // of the window; of a head's key and value together; of keys and values
  auto operator<=>(const CacheForm&) const = default;
};

CacheForm form_of(const LayerShape& s) {
  CacheForm f{.shares_choice = s.shares_choice(), .columns = static_cast<int>(cached_elements(s))};
  if (const auto w = s.window()) f.windowed = true, f.chunked = w->chunked, f.tokens = w->tokens;
  if (const HeadAttention* a = s.heads()) f.heads = a->heads.kv_heads, f.blocks = a->blocks.has_value();
  if (const CompressedAttention* a = s.compressed()) f.windowed = true, f.tokens = a->window, f.columns = a->head_dim;
  return f;
}

}  // namespace

void Transformer::add_caches(Ops& ops, int capacity, int most_states) {
  cache_of_layer_.resize(layers.size());
  std::map<CacheForm, std::vector<std::size_t>> alike;
  std::vector<std::size_t> recurrent;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (layers[i].shape.attends()) alike[form_of(layers[i].shape)].push_back(i);
    if (layers[i].shape.states()) recurrent.push_back(i);
  }
  for (const auto& [form, all] : alike) {
    caches.push_back(make_cache(ops, layers[all.front()].shape, count(all), capacity));
    for (int place = 0; const std::size_t i : all) cache_of_layer_[i] = {caches.back(), place++};
  }
  add_entry_caches(ops, capacity);
  if (recurrent.empty()) return;
  states = ops.state_cache(count(recurrent), shape.states().value(), most_states);
  for (int place = 0; const std::size_t i : recurrent) cache_of_layer_[i].state = place++;
}

void Transformer::add_entry_caches(Ops& ops, int capacity) {
  std::map<int, std::pair<const CompressedAttention*, int>> of_compression;  // and their layers
  for (const LayerWeights& w : layers)
    if (const CompressedAttention* a = w.shape.compressed(); a != nullptr && a->compression > 0) {
      auto& [first, count] = of_compression[a->compression];
      if (first == nullptr) first = a;
      ++count;
    }
  for (const auto& [compression, alike] : of_compression)
    caches.push_back(make_entry_cache(ops, *alike.first, alike.second, capacity));
}

bool Transformer::owns(const Cache& cache) const {
  return std::any_of(caches.begin(), caches.end(), [&](const Cache& mine) { return mine.id == cache.id; });
}

Transformer Transformer::over(const std::vector<RingOf>& rings) const {
  Transformer other = *this;
  for (const RingOf& r : rings)
    for (LayerCache& c : other.cache_of_layer_)
      if (c.cache.id == r.whole.id) c.cache = r.ring;
  return other;
}

// A LayerNorm has no fused kernel that adds the pending branch, so that is added first.
static Tensor norm(Ops& ops, Stream& x, const std::optional<Weight>& w, const std::optional<Weight>& bias,
                   float epsilon) {
  if (!w) return x.value(ops);  // the norm stands behind the sublayer
  return bias ? ops.layer_norm(x.value(ops), *w, *bias, epsilon) : x.norm(ops, *w, epsilon);
}

void Transformer::commit(Ops& ops, Tensor path, const Rows& rows, const BatchSlots& slots,
                         std::optional<Tensor> counts) const {
  for (const Cache& cache : caches)
    if (cache.every == 1) ops.commit(cache, path, rows, slots);  // an entry is made of accepted tokens alone
  if (states && counts) ops.commit_states(*states, path, *counts, rows, slots);
}

Tensor Transformer::attention(Ops& ops, Tensor y, int layer, PassRef pass, const PromptSelection* selection,
                              std::optional<Tensor>& chosen) const {
  const auto index = at(layer);
  const LayerCache& at = cache_of_layer_[index];
  std::optional<Tensor> recurrent;
  if (layers[index].shape.states()) recurrent = recurrence(ops, y, layers[index], {pass, *states, at.state}, ranks);
  if (!layers[index].shape.attends()) return recurrent.value();
  if (layers[index].shape.shares_choice() && !chosen)
    throw InputErrors(shape.name + ": layer " + std::to_string(layer) +
                      " reads the tokens that an indexer before it chose, and no layer with one has run");
  Choices choices{.tokens = &chosen};
  if (selection != nullptr)
    for (const RingOf& r : selection->rings)
      if (r.whole.id == at.cache.id) choices.entries = {r.ring, selection->window, selection->pool};
  const Tensor attended = self_attention(ops, y, layers[index], {pass, at.cache, at.layer}, ranks, choices);
  return recurrent ? ops.add(attended, *recurrent) : attended;
}

void Transformer::run(Ops& ops, Stream& x, PassRef pass, std::span<const LayerUse> use,
                      std::map<int, Tensor>* auxiliary_states, const PromptSelection* selection) const {
  const int sequences = ops.sequences(pass);
  const auto keep_state = [&](int layer) {
    if (auxiliary_states && auxiliary_states->contains(layer)) (*auxiliary_states)[layer] = x.value(ops);
  };
  std::optional<Tensor> chosen;  // by the last indexer
  for (const LayerUse& u : use) {
    const LayerWeights& w = layers[at(u.layer)];
    const bool attends = u.attention && w.shape.has_attention(), has_mlp = u.mlp && w.shape.has_mlp();
    const auto epsilon = single(w.shape.norm_epsilon);
    const auto post_norm = [&](Tensor y, const std::optional<Weight>& weight) {
      return weight ? ops.rms_norm(y, weight, epsilon) : y;
    };
    if (w.shape.streams > 1) {
      keep_state(u.layer);
      run_streams(ops, x, pass, {u.layer, attends, has_mlp}, chosen);
      continue;
    }
    Tensor y;
    if (attends) y = norm(ops, x, w.attention_norm, w.attention_norm_bias, epsilon);
    keep_state(u.layer);  // comes after the norm, which has added the pending branch already
    Tensor attended;
    if (attends) attended = attention(ops, y, u.layer, pass, selection, chosen);
    if (w.shape.parallel) {
      const Tensor z = norm(ops, x, w.mlp_norm, w.mlp_norm_bias, epsilon);
      if (attends) x.push(ops, attended);
      if (has_mlp) x.push(ops, mlp(ops, z, w, ranks, sequences));
      continue;
    }
    if (attends) x.push(ops, post_norm(attended, w.attention_post_norm));
    if (has_mlp) {
      const Tensor z = norm(ops, x, w.mlp_norm, w.mlp_norm_bias, epsilon);
      x.push(ops, post_norm(mlp(ops, z, w, ranks, sequences, x.h), w.mlp_post_norm));
    }
    if (w.scale && (attends || has_mlp)) x.scale(ops, *w.scale);
  }
}

void Transformer::run_streams(Ops& ops, Stream& x, PassRef pass, const LayerUse& use,
                              std::optional<Tensor>& chosen) const {
  const LayerWeights& w = layers[at(use.layer)];
  const auto epsilon = single(w.shape.norm_epsilon);
  const auto sublayer = [&](const std::optional<Weight>& mixes, const std::optional<Weight>& norm, auto result) {
    const Tensor h = x.value(ops), joined = join_streams(ops, h, w.shape, *mixes, pass);
    x.h = spread_streams(ops, h, result(ops.rms_norm(joined, norm, epsilon)), w.shape, pass);
  };
  if (use.attention)
    sublayer(w.attention_streams, w.attention_norm,
             [&](Tensor y) { return attention(ops, y, use.layer, pass, nullptr, chosen); });
  if (use.mlp)
    sublayer(w.mlp_streams, w.mlp_norm, [&](Tensor y) { return mlp(ops, y, w, ranks, ops.sequences(pass)); });
}

Tensor Transformer::logits(Ops& ops, Tensor normed) const {
  const Tensor all = ops.gather_over_ranks(ops.linear(normed, head), ranks);
  return shape.logit_cap ? ops.soft_cap(all, *shape.logit_cap) : all;
}

Tensor Transformer::final_norm(Ops& ops, Stream& x) const {
  return norm(ops, x, final_norm_weight, final_norm_bias, single(shape.norm_epsilon));
}

}  // namespace draftline
