// SPDX-License-Identifier: Apache-2.0
// Parameter counts and tensor-parallel shares of a layer: one function for each kind of attention and of MLP.
#include "model/transformers/layer_shape.h"

#include <algorithm>

namespace draftline {
namespace {

// ---- matrices

double matrices(const HeadAttention& a, double inputs, double hidden) {
  const double gates = a.gate_each_head ? inputs * a.heads.heads : 0;
  const double chosen = a.blocks ? inputs * (a.blocks->heads + 1.0) * a.blocks->head_dim : 0;
  return inputs * a.projected_columns() + hidden * a.heads.result_columns() + gates + chosen;
}

double matrices(const LatentHeads& a, double inputs, double hidden) {
  const LatentAttention& l = a.dims;
  const double queries = l.q_rank > 0 ? l.q_rank * (inputs + a.q_columns()) : inputs * a.q_columns();
  double chosen = 0;
  if (const auto& i = l.indexer)
    chosen = 1.0 * l.q_rank * i->heads * i->head_dim + inputs * ((i->pool > 1 ? 2.0 : 1.0) * i->head_dim + i->heads);
  const double gates = inputs * ((a.output_gate ? a.result_columns() : 0) + (a.gate_each_head ? a.heads : 0));
  return queries + chosen + inputs * (l.kv_rank + l.rope_dim) + gates +
         1.0 * a.heads * (l.kv_rank * (l.nope_dim + l.value_dim) + hidden * l.value_dim);
}

// Queries, keys, values and gates; two numbers a head; the output.
double matrices(const DeltaNet& d, double inputs, double hidden) {
  const double ends = inputs * d.convolved_columns() + hidden * d.value_columns();
  if (!d.column_gates) return ends + inputs * (d.value_columns() + 2.0 * d.value_heads);
  const double rank = d.column_gates->rank, values = d.value_columns();
  const double results = d.column_gates->full_rank_results ? inputs * values : rank * (inputs + values);
  const double decays = d.column_gates->full_rank_decays ? inputs * d.decays() : rank * (inputs + d.decays());
  return ends + inputs * d.value_heads + decays + results;
}

double matrices(const Mamba2& m, double inputs, double hidden) {
  return inputs * m.projected_columns() + hidden * m.columns();
}
double matrices(const Mamba1& m, double inputs, double hidden) {
  return m.columns * (2 * inputs + m.selected_columns() + m.step_rank + hidden);
}
double matrices(const LinearAttention& l, double inputs, double hidden) {  // queries, keys, values, gates
  return l.columns() * (4 * inputs + hidden);
}
double matrices(const CompressedAttention& a, double inputs, double hidden) {
  const double queries = a.q_rank * (inputs + a.q_columns()), keys = inputs * (a.head_dim + a.compressed_columns());
  double chosen = 0;
  if (const auto& i = a.indexer) chosen = i->heads * (1.0 * a.q_rank * i->head_dim + inputs);
  return queries + keys + chosen + 1.0 * a.q_columns() * a.output_rank + hidden * a.group_columns();
}
double matrices(const AttentionBesideMamba& b, double inputs, double hidden) {
  return matrices(b.attention, inputs, hidden) + matrices(b.mamba, inputs, hidden);
}
double matrices(const NoAttention&, double, double) { return 0; }

double matrices(const NoMlp&, int) { return 0; }
double matrices(const DenseMlp& m, int hidden) { return 1.0 * hidden * (m.gate_up_columns() + m.intermediate); }
double matrices(const Experts& e, int hidden) {
  const double shared = (is_gated(e.kind) ? 3.0 : 2.0) * e.shared;
  return hidden * (e.count + shared + (e.shared_gate ? 1 : 0) + 2.0 * e.latent) +
         e.stored() * e.expert_elements(hidden);
}
double matrices(const ExpertsBesideMlp& m, int hidden) {
  return matrices(m.dense, hidden) + matrices(m.experts, hidden);
}

// ---- vectors

double vectors(const HeadAttention& a, int hidden) {
  const AttentionHeads& h = a.heads;
  double qk_norm = 0;
  if (a.qk_norm == QkNorm::each_head) qk_norm = 2.0 * h.head_dim;
  if (a.qk_norm == QkNorm::all_heads) qk_norm = h.q_columns() + h.k_columns();
  const double index_norms = a.blocks ? 2.0 * a.blocks->head_dim : 0;
  return qk_norm + index_norms + (a.qkv_bias ? h.projected_columns() : 0) + (a.sinks ? h.heads : 0) +
         (a.o_bias ? hidden : 0);
}
double vectors(const LatentHeads& a, int) {  // an indexer's norm has a bias
  const auto& i = a.dims.indexer;
  return a.dims.q_rank + a.dims.kv_rank + (i ? (i->pool > 1 ? 2.0 + i->pool : 2.0) * i->head_dim : 0);
}
double vectors(const DeltaNet& d, int) {
  return 1.0 * d.convolved_columns() * d.kernel + d.value_heads + d.decays() + d.value_dim;
}
double vectors(const Mamba2& m, int) {  // a decay, a step's bias and a factor on the input for each head
  return 1.0 * m.convolved_columns() * (m.kernel + (m.convolution_bias ? 1 : 0)) + 3.0 * m.heads +
         (m.norm ? m.columns() : 0);
}
double vectors(const Mamba1& m, int) {  // steps' biases, factors on the inputs, and decays
  return m.columns * (m.kernel + (m.convolution_bias ? 1.0 : 0.0) + 2 + m.state_dim) +
         (m.norms ? m.selected_columns() : 0);
}
double vectors(const LinearAttention& l, int) { return l.columns() + (l.qk_norm ? 2.0 * l.head_dim : 0); }
double vectors(const CompressedAttention& a, int) {  // norms, sinks, and a weight for each token's place in an entry
  const double index = a.indexer ? a.indexer->head_dim : 0;
  return a.q_rank + a.head_dim + a.heads + 1.0 * a.compression * a.series() * (a.head_dim + index) +
         (a.compression > 0 ? a.head_dim + index : 0);
}
double vectors(const AttentionBesideMamba& b, int hidden) {
  return vectors(b.attention, hidden) + vectors(b.mamba, hidden);
}
double vectors(const NoAttention&, int) { return 0; }

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
double cached(const Mamba2&) { return 0; }
double cached(const Mamba1&) { return 0; }
double cached(const LinearAttention&) { return 0; }
double cached(const CompressedAttention& a) {  // the window's key, and a share of an entry
  return a.head_dim + (a.compression > 0 ? 1.0 * a.head_dim / a.compression : 0);
}
double cached(const AttentionBesideMamba& b) { return cached(b.attention); }
double cached(const NoAttention&) { return 0; }

// ---- shares

HeadAttention share(HeadAttention a, int ranks) {
  a.heads.heads /= ranks;
  a.heads.kv_heads = std::max(1, a.heads.kv_heads / ranks);
  if (a.blocks) a.blocks->heads = std::max(1, a.blocks->heads / ranks);
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
Mamba2 share(Mamba2 m, int ranks) {  // a group that is alone is on every device
  m.heads /= ranks;
  m.groups = std::max(1, m.groups / ranks);
  return m;
}
Mamba1 share(Mamba1 m, int ranks) {
  m.columns /= ranks;
  return m;
}
LinearAttention share(LinearAttention l, int ranks) {
  l.heads /= ranks;
  return l;
}
CompressedAttention share(CompressedAttention a, int ranks) {  // all devices have the key, the entries and the indexer
  a.heads /= ranks;
  a.output_groups = std::max(1, a.output_groups / ranks);
  return a;
}
AttentionBesideMamba share(const AttentionBesideMamba& b, int ranks) {
  return {share(b.attention, ranks), share(b.mamba, ranks)};
}
NoAttention share(NoAttention a, int) { return a; }

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
std::optional<std::string> undivided(const Mamba2& m, int ranks, const std::string& network) {
  if (const auto why = undivided_heads(m.heads, ranks, " heads of the state spaces of " + network)) return why;
  if (m.groups == 1) return std::nullopt;
  return undivided_heads(m.groups, ranks, " groups of the state spaces of " + network);
}
std::optional<std::string> undivided(const Mamba1& m, int ranks, const std::string& network) {
  return undivided_heads(m.columns, ranks, " columns of the state spaces of " + network);
}
std::optional<std::string> undivided(const LinearAttention& l, int ranks, const std::string& network) {
  return undivided_heads(l.heads, ranks, " heads of the linear attention of " + network);
}
std::optional<std::string> undivided(const CompressedAttention& a, int ranks, const std::string& network) {
  return undivided_heads(a.heads, ranks, " heads of " + network);
}
std::optional<std::string> undivided(const AttentionBesideMamba& b, int ranks, const std::string& network) {
  if (const auto why = undivided(b.attention, ranks, network)) return why;
  return undivided(b.mamba, ranks, network);
}
std::optional<std::string> undivided(const NoAttention&, int, const std::string&) { return std::nullopt; }

// ---- states

std::optional<StateForm> states_of(const HeadAttention&) { return std::nullopt; }
std::optional<StateForm> states_of(const LatentHeads&) { return std::nullopt; }
std::optional<StateForm> states_of(const NoAttention&) { return std::nullopt; }
std::optional<StateForm> states_of(const DeltaNet& d) { return d.form(); }
std::optional<StateForm> states_of(const Mamba2& m) { return m.form(); }
std::optional<StateForm> states_of(const Mamba1& m) { return m.form(); }
std::optional<StateForm> states_of(const LinearAttention& l) { return l.form(); }
std::optional<StateForm> states_of(const CompressedAttention&) { return std::nullopt; }
std::optional<StateForm> states_of(const AttentionBesideMamba& b) { return b.mamba.form(); }

}  // namespace

int share_of(int columns, int ranks) { return columns / ranks + (columns % ranks != 0); }

Bytes Indexer::key_bytes() const {
  return (bytes_of(keys, head_dim) + (bits_of(keys) < 16 ? bytes_of(DType::fp32, 1) : Bytes{})) / pool;
}

StateForm DeltaNet::form() const {
  return {key_heads, value_heads, key_dim, value_dim, convolved_columns(), kernel, state};
}
StateForm Mamba1::form() const { return {1, columns, state_dim, 1, columns, kernel, state, true}; }
StateForm LinearAttention::form() const { return {heads, heads, head_dim, head_dim, 0, 2, state}; }
StateForm Mamba2::form() const {
  return {groups, heads, state_dim, head_dim, convolved_columns(), kernel, state, true};
}

double Experts::expert_elements(int hidden) const {
  return 1.0 * row_columns(hidden) * (gate_up_columns() + intermediate);
}
int Experts::stored() const { return share_of(count, parallel.expert_groups()); }

const HeadAttention* LayerShape::heads() const {
  if (const auto* both = std::get_if<AttentionBesideMamba>(&attention)) return &both->attention;
  return std::get_if<HeadAttention>(&attention);
}
const Mamba2* LayerShape::mamba() const {
  if (const auto* both = std::get_if<AttentionBesideMamba>(&attention)) return &both->mamba;
  return std::get_if<Mamba2>(&attention);
}
std::optional<TextWindow> LayerShape::window() const {
  if (const CompressedAttention* a = compressed(); a != nullptr && a->compression == 0) return TextWindow{a->window};
  return heads() != nullptr ? heads()->window : std::nullopt;
}
std::optional<StateForm> LayerShape::states() const {
  return std::visit([](const auto& a) { return states_of(a); }, attention);
}

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
  if (auto* a = std::get_if<AttentionBesideMamba>(&attention)) return &a->attention.rope;
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
  const double mixes = s.streams > 1 ? s.stream_weights() * (s.stream_columns() + 1.0) + 3 : 0;
  return (s.scaled ? 1 : 0) + s.sublayers() * ((s.norms == NormPlacement::both ? 2 : 1) * norm + mixes) +
         std::visit([&](const auto& a) { return vectors(a, s.hidden); }, s.attention) +
         std::visit([&](const auto& m) { return vectors(m, s.hidden); }, s.mlp);
}

double idle_parameters(const LayerShape& s) {
  const Experts* e = s.experts();
  if (e == nullptr) return 0;
  return (e->count - e->per_token) * (e->expert_elements(s.hidden) + (e->bias ? 2.0 * e->intermediate + s.hidden : 0));
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
