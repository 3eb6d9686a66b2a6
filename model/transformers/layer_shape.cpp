// SPDX-License-Identifier: Apache-2.0
// Parameter counts and tensor-parallel shares of a layer: one function for each kind of attention and of MLP.
#include "model/transformers/layer_shape.h"

#include <algorithm>

namespace draftline {
namespace {

// ---- matrices

double matrices(const HeadAttention& a, double inputs, double hidden) {
  return inputs * a.projected_columns() + hidden * a.heads.result_columns();
}

double matrices(const LatentHeads& a, double inputs, double hidden) {
  const LatentAttention& l = a.dims;
  const double queries = l.q_rank > 0 ? l.q_rank * (inputs + a.q_columns()) : inputs * a.q_columns();
  double chosen = 0;
  if (const auto& i = l.indexer) chosen = 1.0 * l.q_rank * i->heads * i->head_dim + inputs * (i->head_dim + i->heads);
  return queries + chosen + inputs * (l.kv_rank + l.rope_dim) +
         1.0 * a.heads * (l.kv_rank * (l.nope_dim + l.value_dim) + hidden * l.value_dim);
}

// Queries, keys, values and gates; two numbers a head; the output.
double matrices(const DeltaNet& d, double inputs, double hidden) {
  return inputs * (d.convolved_columns() + d.value_columns() + 2.0 * d.value_heads) + hidden * d.value_columns();
}

double matrices(const NoMlp&, double) { return 0; }
double matrices(const DenseMlp& m, double hidden) { return hidden * (m.gate_up_columns() + m.intermediate); }
double matrices(const Experts& e, double hidden) {
  return hidden * (e.count + e.stored() * 3.0 * e.intermediate + 3.0 * e.shared + (e.shared_gate ? 1 : 0));
}
double matrices(const ExpertsBesideMlp& m, double hidden) {
  return matrices(m.dense, hidden) + matrices(m.experts, hidden);
}

// ---- vectors

double vectors(const HeadAttention& a, int hidden) {
  const AttentionHeads& h = a.heads;
  double qk_norm = 0;
  if (a.qk_norm == QkNorm::each_head) qk_norm = 2.0 * h.head_dim;
  if (a.qk_norm == QkNorm::all_heads) qk_norm = h.q_columns() + h.k_columns();
  return qk_norm + (a.qkv_bias ? h.projected_columns() : 0) + (a.sinks ? h.heads : 0) + (a.o_bias ? hidden : 0);
}
double vectors(const LatentHeads& a, int) {  // an indexer's norm has a bias
  return a.dims.q_rank + a.dims.kv_rank + (a.dims.indexer ? 2.0 * a.dims.indexer->head_dim : 0);
}
double vectors(const DeltaNet& d, int) {
  return 1.0 * d.convolved_columns() * d.kernel + 2.0 * d.value_heads + d.value_dim;
}

double vectors(const NoMlp&, int) { return 0; }
double vectors(const DenseMlp& m, int hidden) { return m.bias ? 1.0 * m.gate_up_columns() + hidden : 0; }
double vectors(const Experts& e, int hidden) {
  return (e.choice_bias ? e.count : 0) + (e.bias ? e.count * (1.0 + 2.0 * e.intermediate + hidden) : 0);
}
double vectors(const ExpertsBesideMlp& m, int hidden) {  // four norms, and a factor of each expert
  return vectors(m.dense, hidden) + vectors(m.experts, hidden) + 4.0 * hidden + m.experts.count;
}

// ---- what a token adds to a cache

double cached(const HeadAttention& a) { return a.heads.k_columns() + a.heads.v_columns(); }
double cached(const LatentHeads& a) { return a.dims.kv_rank + a.dims.rope_dim; }
double cached(const DeltaNet&) { return 0; }

// ---- shares

HeadAttention share(HeadAttention a, int ranks) {
  a.heads.heads /= ranks;
  a.heads.kv_heads = std::max(1, a.heads.kv_heads / ranks);
  return a;
}
LatentHeads share(LatentHeads a, int ranks) {
  a.heads /= ranks;
  return a;
}
DeltaNet share(DeltaNet d, int ranks) {
  d.key_heads /= ranks, d.value_heads /= ranks;
  return d;
}

NoMlp share(NoMlp m, const Parallelism&) { return m; }
DenseMlp share(DenseMlp m, const Parallelism& p) {
  m.intermediate = share_of(m.intermediate, p.tensor());
  return m;
}
Experts share(Experts e, const Parallelism& p) {
  e.parallel = p;
  e.intermediate = share_of(e.intermediate, p.expert_ranks());
  e.shared = share_of(e.shared, p.tensor());
  return e;
}
ExpertsBesideMlp share(const ExpertsBesideMlp& m, const Parallelism& p) {
  return {share(m.dense, p), share(m.experts, p)};
}

std::optional<std::string> undivided_heads(int heads, int ranks, const std::string& what) {
  if (heads % ranks == 0) return std::nullopt;
  return "divide the " + std::to_string(heads) + what;
}
std::optional<std::string> undivided(const HeadAttention& a, int ranks, const std::string& network) {
  if (const auto why = undivided_heads(a.heads.heads, ranks, " heads of " + network)) return why;
  if (ranks % a.heads.kv_heads == 0) return std::nullopt;
  return undivided_heads(a.heads.kv_heads, ranks, " KV heads of " + network + " and is not a multiple of them");
}
std::optional<std::string> undivided(const LatentHeads& a, int ranks, const std::string& network) {
  return undivided_heads(a.heads, ranks, " heads of " + network);
}
std::optional<std::string> undivided(const DeltaNet& d, int ranks, const std::string& network) {
  return undivided_heads(d.key_heads, ranks, " key heads of the delta networks of " + network);
}

}  // namespace

int share_of(int columns, int ranks) { return columns / ranks + (columns % ranks != 0); }

Bytes Indexer::key_bytes() const {
  return bytes_of(keys, head_dim) + (bits_of(keys) < 16 ? bytes_of(DType::fp32, 1) : Bytes{});
}

int Experts::stored() const { return share_of(count, parallel.expert_groups()); }

const Experts* LayerShape::experts() const {
  if (const auto* both = std::get_if<ExpertsBesideMlp>(&mlp)) return &both->experts;
  return std::get_if<Experts>(&mlp);
}

const DenseMlp* LayerShape::dense_mlp() const {
  if (const auto* both = std::get_if<ExpertsBesideMlp>(&mlp)) return &both->dense;
  return std::get_if<DenseMlp>(&mlp);
}

Rope* LayerShape::rope() {
  if (auto* a = std::get_if<HeadAttention>(&attention)) return &a->rope;
  if (auto* a = std::get_if<LatentHeads>(&attention)) return &a->rope;
  return nullptr;
}

LayerShape llama_layer(int hidden, const AttentionHeads& heads, int intermediate) {
  return {.hidden = hidden,
          .attention = HeadAttention{.heads = heads, .rope = {.columns = heads.head_dim / 2 * 2}},
          .mlp = DenseMlp{intermediate}};
}

double attention_parameters(const LayerShape& s) {
  return std::visit([&](const auto& a) { return matrices(a, s.inputs.value_or(s.hidden), s.hidden); }, s.attention);
}

double mlp_parameters(const LayerShape& s) {
  return std::visit([&](const auto& m) { return matrices(m, s.hidden); }, s.mlp);
}

double layer_parameters(const LayerShape& s) { return attention_parameters(s) + mlp_parameters(s); }

double vector_parameters(const LayerShape& s) {
  const double norm = (s.norm == NormKind::layer ? 2.0 : 1.0) * s.hidden;
  return (s.scaled ? 1 : 0) + (s.norms == NormPlacement::both ? 4 : 2) * norm +
         std::visit([&](const auto& a) { return vectors(a, s.hidden); }, s.attention) +
         std::visit([&](const auto& m) { return vectors(m, s.hidden); }, s.mlp);
}

double idle_parameters(const LayerShape& s) {
  const Experts* e = s.experts();
  if (e == nullptr) return 0;
  return (e->count - e->per_token) *
         (3.0 * s.hidden * e->intermediate + (e->bias ? 2.0 * e->intermediate + s.hidden : 0));
}

double cached_elements(const LayerShape& s) {
  return std::visit([](const auto& a) { return cached(a); }, s.attention);
}

LayerShape shard(const LayerShape& s, const Parallelism& p) {
  LayerShape one = s;
  std::visit([&](auto& a) { a = share(a, p.tensor()); }, one.attention);
  std::visit([&](auto& m) { m = share(m, p); }, one.mlp);
  return one;
}

std::optional<std::string> undivided(const LayerShape& s, int ranks, const std::string& network) {
  return std::visit([&](const auto& a) { return undivided(a, ranks, network); }, s.attention);
}

}  // namespace draftline
