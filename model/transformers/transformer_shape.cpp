// SPDX-License-Identifier: Apache-2.0
// What holds for all layers of a network: sums over them, and tensor-parallel shares.
#include "model/transformers/transformer_shape.h"

#include <algorithm>

#include "core/errors.h"

namespace draftline {

void TransformerShape::add_layer(const LayerShape& layer) {
  const auto found = std::find(kinds.begin(), kinds.end(), layer);
  kind_of.push_back(static_cast<int>(found - kinds.begin()));
  if (found == kinds.end()) kinds.push_back(layer);
}

void TransformerShape::resize_layers(int layers) { kind_of.resize(at(layers), kind_of.empty() ? 0 : kind_of.back()); }

const LayerShape& TransformerShape::usual_layer() const {
  for (int i = layers() - 1; i >= 0; --i)
    if (layer(i).sees_all() && !layer(i).shares_choice()) return layer(i);
  static const LayerShape none;
  return layers() > 0 ? layer(layers() - 1) : none;
}

AttentionHeads TransformerShape::usual_heads() const {
  const LayerShape& usual = usual_layer();
  if (const HeadAttention* a = usual.heads()) return a->heads;
  if (const LatentHeads* a = usual.latent()) return {a->heads, a->heads, a->head_dim(), a->dims.value_dim};
  if (const CompressedAttention* a = usual.compressed()) return {a->heads, 1, a->head_dim, a->head_dim};
  return {};
}

// What the first layer has of which `find` gives something.
template <class Find>
static auto first_of(const std::vector<LayerShape>& kinds, Find find) -> decltype(find(kinds.front())) {
  for (const LayerShape& layer : kinds)
    if (const auto* found = find(layer)) return found;
  return nullptr;
}

const Experts* TransformerShape::experts() const {
  return first_of(kinds, [](const LayerShape& l) { return l.experts(); });
}
const LatentHeads* TransformerShape::latent() const {
  return first_of(kinds, [](const LayerShape& l) { return l.latent(); });
}
std::optional<StateForm> TransformerShape::states() const {
  for (const LayerShape& layer : kinds)
    if (const auto states = layer.states()) return states;
  return std::nullopt;
}

void TransformerShape::set_expert_routing(const ExpertRouting& routing) {
  for (LayerShape& layer : kinds) {
    if (auto* e = std::get_if<Experts>(&layer.mlp)) e->routing = routing;
    if (auto* both = std::get_if<ExpertsBesideMlp>(&layer.mlp)) both->experts.routing = routing;
  }
}

TransformerShape uniform_network(std::string name, int layers, const LayerShape& layer, int vocabulary) {
  TransformerShape s;
  s.name = std::move(name);
  s.hidden = layer.hidden;
  s.vocabulary = vocabulary;
  if (const DenseMlp* mlp = layer.dense_mlp()) s.intermediate = mlp->intermediate;
  s.norm = layer.norm;
  s.norm_epsilon = layer.norm_epsilon;
  s.add_layer(layer);
  s.resize_layers(layers);
  return s;
}

bool all_windowed(const TransformerShape& s) {
  return std::all_of(s.kinds.begin(), s.kinds.end(), [](const LayerShape& l) {
    const auto window = l.window();
    return window && !window->chunked;
  });
}
bool shares_keys(const TransformerShape& s) {
  return std::any_of(s.kinds.begin(), s.kinds.end(),
                     [](const LayerShape& l) { return l.latent() != nullptr || l.compressed() != nullptr; });
}
bool shares_prefixes(const TransformerShape& s) { return !s.states() && !all_windowed(s); }

static Bytes token_bytes(const LayerShape& l, DType cache) {
  if (const auto window = l.window(); window && !window->chunked) return {};
  if (const CompressedAttention* a = l.compressed())
    return (bytes_of(cache, a->head_dim) + (a->indexer ? a->indexer->key_bytes() : Bytes{})) / a->compression;
  Bytes index;
  if (const HeadAttention* a = l.heads(); a != nullptr && a->blocks)
    index = bytes_of(a->blocks->keys, a->blocks->head_dim);
  if (const LatentHeads* a = l.latent(); a != nullptr && a->dims.indexer) index = a->dims.indexer->key_bytes();
  return bytes_of(cache, cached_elements(l)) + index;
}

Bytes token_bytes(const TransformerShape& s, DType cache) {
  Bytes sum;
  for (int i = 0; i < s.layers(); ++i) sum += token_bytes(s.layer(i), cache);
  return sum;
}

Bytes sequence_bytes(const TransformerShape& s) {
  Bytes sum;
  for (int i = 0; i < s.layers(); ++i)
    if (const auto f = s.layer(i).states())
      sum += bytes_of(f->format, f->elements()) + bytes_of(DType::bf16, 1.0 * (f->kernel - 1) * f->convolved_columns);
  return sum;
}

static double sum_over_layers(const TransformerShape& s, double (*of_layer)(const LayerShape&)) {
  double sum = 0;
  for (int i = 0; i < s.layers(); ++i) sum += of_layer(s.layer(i));
  return sum;
}

static double all_vectors(const TransformerShape& s) {
  const int streams = s.kinds.empty() ? 1 : s.kinds.back().streams;  // which are joined behind the last layer
  const double joined = streams > 1 ? streams * (1.0 * streams * s.hidden + 1) + 1 : 0;
  return (s.norm == NormKind::layer ? 2.0 : 1.0) * s.hidden + joined + sum_over_layers(s, vector_parameters);
}

double matrix_parameters(const TransformerShape& s) { return sum_over_layers(s, layer_parameters); }

double head_parameters(const TransformerShape& s) { return 1.0 * s.vocabulary * s.hidden; }

double parameters(const TransformerShape& s) {
  return matrix_parameters(s) + all_vectors(s) + (s.tied_embeddings ? 1 : 2) * head_parameters(s);
}

double active_parameters(const TransformerShape& s) {
  return matrix_parameters(s) - sum_over_layers(s, idle_parameters) + all_vectors(s) + head_parameters(s);
}

std::optional<std::string> refuses_shards(const TransformerShape& s, const Parallelism& p) {
  const auto number = [](int n) { return std::to_string(n); };
  const Experts* experts = s.experts();
  if (p.devices < 1) return "tensor_parallel must be at least 1, got " + number(p.devices);
  if (p.devices % p.attention_replicas != 0)
    return "data_parallel_attention " + number(p.attention_replicas) + " does not divide tensor_parallel " +
           number(p.devices) + ", the number of devices";
  const auto beside_mlp = [](const LayerShape& l) { return std::holds_alternative<ExpertsBesideMlp>(l.mlp); };
  if (p.attention_replicas > 1 && std::any_of(s.kinds.begin(), s.kinds.end(), beside_mlp))
    return "data_parallel_attention is not modelled for " + s.name + ", which has experts beside a dense MLP";
  if (p.attention_replicas > 1 && experts != nullptr && experts->latent > 0)
    return "data_parallel_attention is not modelled for " + s.name + ", whose experts compute narrower rows";
  if ((p.expert_parallel || p.attention_replicas > 1) && experts == nullptr)
    return s.name + " has no experts, which expert_parallel and data_parallel_attention require";
  if (p.expert_parallel && experts->count < p.expert_groups())
    return number(p.expert_groups()) + " devices are more than the " + number(experts->count) + " experts of " + s.name;
  for (const LayerShape& layer : s.kinds)
    if (const auto what = undivided(layer, p.tensor(), s.name))
      return "tensor_parallel " + number(p.tensor()) + " does not " + *what;
  return std::nullopt;
}

TransformerShape shard(const TransformerShape& s, const Parallelism& p) {
  if (const auto why = refuses_shards(s, p)) throw InputErrors(*why);
  TransformerShape one = s;
  for (LayerShape& layer : one.kinds) layer = shard(layer, p);
  if (one.mtp_layer) one.mtp_layer = shard(*one.mtp_layer, p);
  one.intermediate = share_of(s.intermediate, p.tensor());
  one.vocabulary = share_of(s.vocabulary, p.tensor());
  return one;
}

}  // namespace draftline
