// SPDX-License-Identifier: Apache-2.0
// Parameter counts and tensor-parallel shares.
#include "model/transformers/transformer_shape.h"

#include <algorithm>

#include "core/errors.h"

namespace draftline {
namespace {

int share_of(int columns, int ranks) { return columns / ranks + (columns % ranks != 0); }

double norm_columns(const TransformerShape& s) { return (s.norm == NormKind::layer ? 2.0 : 1.0) * s.hidden; }

// Vectors of one layer's attention: norms, biases, sinks, convolutions.
double attention_vectors(const TransformerShape& s, const LayerKind& layer) {
  if (layer.attention == AttentionKind::delta_net) {
    const DeltaNet& d = s.delta_net.value();
    return static_cast<double>(d.convolved_columns()) * d.kernel + 2.0 * d.value_heads + d.value_dim;
  }
  const AttentionHeads h = s.heads_of(layer);
  const double sinks = s.has_sinks(layer) ? h.heads : 0, o_bias = s.o_bias ? s.hidden : 0;
  if (s.latent) {
    const double of_index = s.has_indexer(layer) ? 2.0 * s.latent->indexer->head_dim : 0;  // a norm with a bias
    return s.latent->q_rank + s.latent->kv_rank + of_index + sinks + o_bias;
  }
  const double qk_norm = s.qk_norm == QkNorm::none        ? 0
                         : s.qk_norm == QkNorm::each_head ? 2.0 * h.head_dim
                                                          : h.q_columns() + h.k_columns();
  return qk_norm + (s.qkv_bias ? h.projected_columns() : 0) + sinks + o_bias;
}

double mlp_vectors(const TransformerShape& s, bool experts) {
  if (!experts) return 0;
  const Experts& e = *s.experts;
  return (e.choice_bias ? e.count : 0) + (e.beside_mlp ? 4.0 * s.hidden + e.count : 0) +
         (e.bias ? e.count * (1.0 + 2.0 * e.intermediate + s.hidden) : 0);
}

double vector_parameters(const TransformerShape& s) {
  double sum = norm_columns(s);
  for (int i = 0; i < s.layers; ++i) {
    const LayerKind layer = s.layer(i);
    sum += (s.layer_scale ? 1 : 0) + (s.norms == NormPlacement::both ? 4 : 2) * norm_columns(s) +
           attention_vectors(s, layer) + mlp_vectors(s, layer.experts);
  }
  return sum;
}

double dense_mlp_parameters(const TransformerShape& s) {
  return (s.mlp == MlpKind::gelu ? 2.0 : 3.0) * s.hidden * s.intermediate;
}

int layers_with_experts(const TransformerShape& s) {
  int sparse = 0;
  for (int i = 0; i < s.layers; ++i) sparse += s.layer(i).experts;
  return sparse;
}

}  // namespace

LayerKind TransformerShape::layer(int index) const {
  if (layer_kinds.empty()) return {.experts = experts.has_value()};
  return layer_kinds.at(static_cast<std::size_t>(index));
}

int TransformerShape::layers_of(AttentionKind kind) const {
  int count = 0;
  for (int i = 0; i < layers; ++i) count += layer(i).attention == kind;
  return count;
}

AttentionHeads TransformerShape::heads_of(const LayerKind& layer) const {
  if (latent) return {heads, heads, head_dim, latent->value_dim};
  if (layer.attention == AttentionKind::sliding && windowed_heads) return *windowed_heads;
  return {heads, kv_heads, head_dim, value_dim.value_or(head_dim), values_are_keys};
}

bool TransformerShape::has_sinks(const LayerKind& layer) const {
  return sinks == Sinks::all || (sinks == Sinks::windowed && layer.attention == AttentionKind::sliding);
}

TransformerShape with_layers_of(const TransformerShape& s, const LayerKind& layer) {
  TransformerShape one = s;
  const AttentionHeads h = s.heads_of(layer);
  one.heads = h.heads, one.kv_heads = h.kv_heads, one.head_dim = h.head_dim;
  if (!s.latent) one.value_dim = h.value_dim;
  one.values_are_keys = h.values_are_keys;
  if (layer.attention == AttentionKind::sliding && s.window_rope) {
    one.rope_theta = s.window_rope->theta, one.rotary_share = s.window_rope->share;
    one.rope_scaling.reset();
  }
  one.sinks = s.has_sinks(layer) ? Sinks::all : Sinks::none;
  if (!layer.experts) one.experts.reset();
  one.layer_kinds.clear();
  one.windowed_heads.reset();
  one.window_rope.reset();
  return one;
}

bool all_windowed(const TransformerShape& s) { return s.layers_of(AttentionKind::sliding) == s.layers; }
bool shares_prefixes(const TransformerShape& s) { return !s.delta_net && !all_windowed(s); }

Bytes Indexer::key_bytes() const {
  return bytes_of(keys, head_dim) + (bits_of(keys) < 16 ? bytes_of(DType::fp32, 1) : Bytes{});
}

double attention_parameters(const TransformerShape& s, const LayerKind& layer) {
  const double hidden = s.hidden;
  if (layer.attention == AttentionKind::delta_net) {  // queries, keys, values, gates; two numbers a head; the output
    const DeltaNet& d = s.delta_net.value();
    return hidden * (d.convolved_columns() + 2.0 * d.value_columns() + 2.0 * d.value_heads);
  }
  const AttentionHeads h = s.heads_of(layer);
  if (s.latent) {
    const LatentAttention& l = *s.latent;
    const double queries = l.q_rank > 0 ? l.q_rank * (hidden + h.q_columns()) : hidden * h.q_columns();
    double chosen = 0;
    if (const auto& i = l.indexer; s.has_indexer(layer))
      chosen = 1.0 * l.q_rank * i->heads * i->head_dim + hidden * (i->head_dim + i->heads);
    return queries + chosen + hidden * (l.kv_rank + l.rope_dim) +
           static_cast<double>(s.heads) * (l.kv_rank * (l.nope_dim + l.value_dim) + hidden * l.value_dim);
  }
  const double read = h.projected_columns() + (s.output_gate ? h.result_columns() : 0);
  return hidden * (read + h.result_columns());
}

double mlp_parameters(const TransformerShape& s) {
  if (!s.experts) return dense_mlp_parameters(s);
  return (s.experts->beside_mlp ? dense_mlp_parameters(s) : 0) +
         s.hidden * (s.experts->count + s.experts->stored() * 3.0 * s.experts->intermediate + 3.0 * s.experts->shared +
                     (s.experts->shared_gate ? 1 : 0));
}

double layer_parameters(const TransformerShape& s) { return attention_parameters(s) + mlp_parameters(s); }

double matrix_parameters(const TransformerShape& s) {
  double sum = 0;
  for (int i = 0; i < s.layers; ++i) {
    const LayerKind layer = s.layer(i);
    sum += attention_parameters(s, layer) + (layer.experts ? mlp_parameters(s) : dense_mlp_parameters(s));
  }
  return sum;
}

double head_parameters(const TransformerShape& s) { return static_cast<double>(s.vocabulary) * s.hidden; }

double parameters(const TransformerShape& s) {
  return matrix_parameters(s) + vector_parameters(s) + (s.tied_embeddings ? 1 : 2) * head_parameters(s);
}

double active_parameters(const TransformerShape& s) {
  double idle = 0;
  if (const auto& e = s.experts)
    idle = (e->count - e->per_token) *
           (3.0 * s.hidden * e->intermediate + (e->bias ? 2.0 * e->intermediate + s.hidden : 0));
  return matrix_parameters(s) - layers_with_experts(s) * idle + vector_parameters(s) + head_parameters(s);
}

int Experts::stored() const { return parallel.expert_parallel ? share_of(count, parallel.devices) : count; }

std::optional<std::string> refuses_shards(const TransformerShape& s, const Parallelism& p) {
  const auto number = [](int n) { return std::to_string(n); };
  if (p.devices < 1) return "tensor_parallel must be at least 1, got " + number(p.devices);
  if (p.devices % p.attention_replicas != 0)
    return "data_parallel_attention " + number(p.attention_replicas) + " does not divide tensor_parallel " +
           number(p.devices) + ", the number of devices";
  if (p.attention_replicas > 1 && s.experts && s.experts->beside_mlp)
    return "data_parallel_attention is not modelled for " + s.name + ", whose experts stand beside a dense MLP";
  if ((p.expert_parallel || p.attention_replicas > 1) && !s.experts)
    return s.name + " has no experts: expert_parallel and data_parallel_attention are for mixtures of experts";
  if (p.expert_parallel && s.experts->count < p.devices)
    return number(p.devices) + " devices are more than the " + number(s.experts->count) + " experts of " + s.name;
  const int ranks = p.tensor();
  const std::string degree = "tensor_parallel " + number(ranks) + " does not ";
  const AttentionHeads wide{s.heads, s.kv_heads};
  for (const AttentionHeads& h : {wide, s.windowed_heads.value_or(wide)}) {
    if (h.heads % ranks != 0) return degree + "divide the " + number(h.heads) + " heads of " + s.name;
    if (h.kv_heads % ranks != 0 && ranks % h.kv_heads != 0)
      return degree + "divide the " + number(h.kv_heads) + " KV heads of " + s.name + " and is no multiple of them";
  }
  if (s.delta_net && s.delta_net->key_heads % ranks != 0)
    return degree + "divide the " + number(s.delta_net->key_heads) + " key heads of the delta networks of " + s.name;
  return std::nullopt;
}

TransformerShape shard(const TransformerShape& s, const Parallelism& p) {
  if (const auto why = refuses_shards(s, p)) throw InputErrors(*why);
  const int ranks = p.tensor();
  TransformerShape one = s;
  one.heads = s.heads / ranks;
  one.kv_heads = std::max(1, s.kv_heads / ranks);
  if (s.latent) one.kv_heads = one.heads;
  if (auto& h = one.windowed_heads) h->heads /= ranks, h->kv_heads = std::max(1, h->kv_heads / ranks);
  if (one.delta_net) {
    one.delta_net->key_heads = s.delta_net->key_heads / ranks;
    one.delta_net->value_heads = s.delta_net->value_heads / ranks;
  }
  one.intermediate = share_of(s.intermediate, ranks);
  one.vocabulary = share_of(s.vocabulary, ranks);
  if (one.experts) {
    one.experts->parallel = p;
    if (!p.expert_parallel) one.experts->intermediate = share_of(s.experts->intermediate, p.devices);
    one.experts->shared = share_of(s.experts->shared, ranks);
  }
  return one;
}

}  // namespace draftline
