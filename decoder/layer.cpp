// SPDX-License-Identifier: Apache-2.0
#include "decoder/layer.h"

#include <algorithm>

#include "model/expert_load.h"

namespace draftline {

Tensor Stream::norm(Ops& ops, Weight w, float epsilon) {
  if (!delta) return ops.rms_norm(h, w, epsilon);
  const AddRmsNorm both = ops.add_rms_norm(h, *delta, w, epsilon);
  h = both.sum;
  delta.reset();
  return both.y;
}

Tensor Stream::value(Ops& ops) {
  if (delta) {
    h = ops.add(h, *delta);
    delta.reset();
  }
  return h;
}

void Stream::scale(Ops& ops, Weight w) {
  check(delta.has_value(), "a layer's scale follows what it adds");
  h = ops.add_scaled(h, *delta, w);
  delta.reset();
}

static Cache make_cache(Ops& ops, const HeadAttention& a, int layers, int capacity) {
  Window window;
  if (a.window) window.tokens = a.window->tokens, window.chunked = a.window->chunked;
  if (const auto& b = a.blocks)
    return ops.cache_of({.layers = layers,
                         .kv_heads = a.heads.kv_heads,
                         .head_dim = a.heads.head_dim,
                         .value_dim = a.heads.value_dim,
                         .indexer = Indexer{.heads = b->heads, .head_dim = b->head_dim, .keys = b->keys}},
                        capacity);
  return ops.cache(layers, a.heads.kv_heads, a.heads.head_dim, capacity, window, a.heads.value_dim);
}
static Cache make_cache(Ops& ops, const LatentHeads& a, int layers, int capacity) {
  return ops.latent_cache(layers, a.dims, a.dims.indexer.has_value(), capacity);
}
static Cache make_cache(Ops& ops, const CompressedAttention& a, int layers, int capacity) {
  return make_window_cache(ops, a, layers, capacity);
}
static Cache make_cache(Ops& ops, const AttentionBesideMamba& b, int layers, int capacity) {
  return make_cache(ops, b.attention, layers, capacity);
}
constexpr auto kNoCache = "the layer has no cache of keys and values";
static Cache make_cache(Ops&, const DeltaNet&, int, int) { throw Bug(kNoCache); }
static Cache make_cache(Ops&, const Mamba2&, int, int) { throw Bug(kNoCache); }
static Cache make_cache(Ops&, const Mamba1&, int, int) { throw Bug(kNoCache); }
static Cache make_cache(Ops&, const LinearAttention&, int, int) { throw Bug(kNoCache); }
static Cache make_cache(Ops&, const NoAttention&, int, int) { throw Bug(kNoCache); }

Cache make_cache(Ops& ops, const LayerShape& s, int layers, int capacity) {
  return std::visit([&](const auto& a) { return make_cache(ops, a, layers, capacity); }, s.attention);
}

namespace {

// The weights of one layer, made one after another, kind by kind.
struct LayerMaker {
  WeightStore& store;
  const std::string& prefix;
  const LayerShape& shape;
  LayerWeights w = {};

  int inputs() const { return shape.inputs.value_or(shape.hidden); }
  Weight norm(const std::string& name) { return store.vector(prefix + name, shape.hidden); }

  void add(const HeadAttention& a) {
    const AttentionHeads& h = a.heads;
    w.qkv = store.attention(prefix + "qkv", inputs(), a.projected_columns());
    if (a.qkv_bias) w.qkv_bias = store.vector(prefix + "qkv_bias", a.projected_columns());
    if (a.qk_norm == QkNorm::each_head || a.qk_norm == QkNorm::all_heads) {
      const bool whole = a.qk_norm == QkNorm::all_heads;
      w.q_norm = store.vector(prefix + "q_norm", whole ? h.q_columns() : h.head_dim);
      w.k_norm = store.vector(prefix + "k_norm", whole ? h.k_columns() : h.head_dim);
    }
    w.o = store.attention(prefix + "o", h.result_columns(), shape.hidden);
    if (a.o_bias) w.o_bias = store.vector(prefix + "o_bias", shape.hidden);
    if (a.sinks) w.sinks = store.vector(prefix + "sinks", h.heads);
    if (a.gate_each_head) w.head_gates = store.attention(prefix + "head_gates", inputs(), h.heads);
    if (const auto& b = a.blocks)
      w.blocks = BlockWeights{.index = store.table(prefix + "indexer", inputs(), (b->heads + 1) * b->head_dim),
                              .norms = store.vector(prefix + "indexer.norms", 2 * b->head_dim)};
  }
  void add(const LatentHeads& a) {
    w.latent = make_latent(store, prefix, a, inputs());
    if (a.output_gate) w.latent_gate = store.attention(prefix + "output_gate", inputs(), a.result_columns());
    if (a.gate_each_head) w.head_gates = store.attention(prefix + "head_gates", inputs(), a.heads);
    w.o = store.attention(prefix + "o", a.result_columns(), shape.hidden);
  }
  void add(const DeltaNet& d) {
    const auto& gates = d.column_gates;
    const bool beside = !gates || gates->full_rank_results;  // the gates of results come from qkv's matrix
    w.qkv = store.attention(prefix + "qkvz", shape.hidden, d.convolved_columns() + (beside ? d.value_columns() : 0));
    w.delta_net = {.gates = store.table(prefix + "gates", shape.hidden, (gates ? 1 : 2) * d.value_heads),
                   .convolution = store.table(prefix + "convolution", d.kernel, d.convolved_columns()),
                   .a_log = store.vector(prefix + "a_log", d.value_heads),
                   .dt_bias = store.vector(prefix + "dt_bias", d.decays()),
                   .norm = store.vector(prefix + "delta_norm", d.value_dim)};
    if (gates && gates->full_rank_decays) {
      w.delta_net->decays = store.attention(prefix + "decays", shape.hidden, d.decays());
    } else if (gates) {
      w.delta_net->narrow = store.attention(prefix + "narrow", shape.hidden, (beside ? 1 : 2) * gates->rank);
      w.delta_net->decays = store.attention(prefix + "decays", gates->rank, d.decays());
      if (!beside) w.delta_net->results = store.attention(prefix + "result_gates", gates->rank, d.value_columns());
    }
    w.o = store.attention(prefix + "o", d.value_columns(), shape.hidden);
  }
  void add(const Mamba2& m) {
    MambaWeights& own = w.mamba.emplace();
    own.in = store.attention(prefix + "mamba.in", shape.hidden, m.projected_columns());
    own.convolution = store.table(prefix + "mamba.convolution", m.kernel, m.convolved_columns());
    if (m.convolution_bias)
      own.convolution_bias = store.vector(prefix + "mamba.convolution_bias", m.convolved_columns());
    own.heads = {.a_log = store.vector(prefix + "mamba.a_log", m.heads),
                 .skip = store.vector(prefix + "mamba.skip", m.heads),
                 .dt_bias = store.vector(prefix + "mamba.dt_bias", m.heads)};
    if (m.norm) own.norm = store.vector(prefix + "mamba.norm", m.columns());
    own.out = store.attention(prefix + "mamba.out", m.columns(), shape.hidden);
  }
  void add(const Mamba1& m) {
    MambaWeights& own = w.mamba.emplace();
    own.in = store.attention(prefix + "mamba.in", shape.hidden, 2 * m.columns);
    own.convolution = store.table(prefix + "mamba.convolution", m.kernel, m.columns);
    if (m.convolution_bias) own.convolution_bias = store.vector(prefix + "mamba.convolution_bias", m.columns);
    own.select = store.attention(prefix + "mamba.select", m.columns, m.selected_columns());
    own.steps = store.attention(prefix + "mamba.steps", m.step_rank, m.columns);
    own.heads = {.a_log = store.table(prefix + "mamba.a_log", m.state_dim, m.columns),
                 .skip = store.vector(prefix + "mamba.skip", m.columns),
                 .dt_bias = store.vector(prefix + "mamba.dt_bias", m.columns)};
    if (m.norms) own.norm = store.vector(prefix + "mamba.norms", m.selected_columns());
    own.out = store.attention(prefix + "mamba.out", m.columns, shape.hidden);
  }
  void add(const LinearAttention& l) {
    w.qkv = store.attention(prefix + "qkvz", shape.hidden, 4 * l.columns());
    if (l.qk_norm) w.q_norm = store.vector(prefix + "qk_norm", 2 * l.head_dim);
    w.linear_norm = store.vector(prefix + "linear_norm", l.columns());
    w.o = store.attention(prefix + "o", l.columns(), shape.hidden);
  }
  void add(const CompressedAttention& a) {
    w.compressed = make_compressed(store, prefix, a, inputs());
    w.o = store.attention(prefix + "o", a.group_columns(), shape.hidden);
  }
  void add(const AttentionBesideMamba& b) {
    add(b.attention);
    add(b.mamba);
  }
  void add(const NoAttention&) {}

  void add(const NoMlp&) {}
  void add(const DenseMlp& m) {
    w.gate_up = store.matrix(prefix + "gate_up", shape.hidden, m.gate_up_columns());
    w.down = store.matrix(prefix + "down", m.intermediate, shape.hidden);
  }
  void add(const Experts& e) {
    add(e, false);
    if (e.shared == 0) return;
    w.shared_gate_up = store.matrix(prefix + "shared.gate_up", shape.hidden, (is_gated(e.kind) ? 2 : 1) * e.shared);
    w.shared_down = store.matrix(prefix + "shared.down", e.shared, shape.hidden);
    if (e.shared_gate) w.shared_gate = store.table(prefix + "shared.gate", shape.hidden, 1);
  }
  void add(const ExpertsBesideMlp& m) {
    w.beside_mlp =
        BesideMlpNorms{norm("mlp_own_norm"), norm("router_norm"), norm("experts_norm"), norm("experts_post_norm")};
    add(m.experts, true);
    add(m.dense);
  }
  void add(const Experts& e, bool scaled_each) {
    const int hidden = e.row_columns(shape.hidden);
    const auto vectors = [&](const std::string& name, int count, int n) {
      return store.table(prefix + "experts." + name, count, n);
    };
    ExpertWeights& x = w.experts.emplace();
    x.router = store.table(prefix + "router", shape.hidden, e.count);
    if (e.latent > 0) {
      w.narrow = store.matrix(prefix + "experts.narrow", shape.hidden, e.latent);
      w.widen = store.matrix(prefix + "experts.widen", e.latent, shape.hidden);
    }
    if (e.choice_bias) x.choice_bias = store.vector(prefix + "router.choice_bias", e.count);
    if (scaled_each) x.expert_scale = store.vector(prefix + "router.expert_scale", e.count);
    x.gate_up = store.experts(prefix + "experts.gate_up", e.stored(), hidden, e.gate_up_columns());
    x.down = store.experts(prefix + "experts.down", e.stored(), e.intermediate, hidden);
    if (!e.bias) return;
    x.router_bias = store.vector(prefix + "router.bias", e.count);
    x.gate_up_bias = vectors("gate_up_bias", e.stored(), e.gate_up_columns());
    x.down_bias = vectors("down_bias", e.stored(), hidden);
  }
};

}  // namespace

LayerWeights make_layer(WeightStore& store, const std::string& prefix, const LayerShape& s) {
  LayerMaker maker{store, prefix, s};
  LayerWeights& w = maker.w;
  w.shape = s;
  const bool biased_norm = s.norm == NormKind::layer;
  if (s.input_norm && s.norms_before() && s.has_attention()) {
    w.attention_norm = maker.norm("input_norm");
    if (biased_norm) w.attention_norm_bias = maker.norm("input_norm_bias");
  }
  std::visit([&](const auto& attention) { maker.add(attention); }, s.attention);
  if (s.norms_behind() && s.has_attention()) w.attention_post_norm = maker.norm("attention_post_norm");
  if (s.streams > 1) {
    const int columns = s.stream_columns();
    if (s.has_attention()) w.attention_streams = store.table(prefix + "attention_streams", columns, s.stream_weights());
    if (s.has_mlp()) w.mlp_streams = store.table(prefix + "mlp_streams", columns, s.stream_weights());
  }
  if (!s.has_mlp()) return std::move(w);
  if (s.norms_before()) {
    w.mlp_norm = maker.norm("mlp_norm");
    if (biased_norm) w.mlp_norm_bias = maker.norm("mlp_norm_bias");
  }
  if (s.norms_behind()) w.mlp_post_norm = maker.norm("mlp_post_norm");
  if (s.scaled) w.scale = store.vector(prefix + "scale", 1);
  std::visit([&](const auto& mlp) { maker.add(mlp); }, s.mlp);
  return std::move(w);
}

// A gate for each head of a result.
static Tensor gated_heads(Ops& ops, Tensor values, Tensor y, Weight gates) {
  const int heads = gates.out, rows = values.rows, columns = values.cols;
  const Tensor gate = reshape(ops.linear(y, gates), rows * heads, 1);
  return reshape(ops.sigmoid_mul(reshape(values, rows * heads, columns / heads), gate), rows, columns);
}

// Attention to the best blocks of tokens, priced alone (vLLM: the kernels of MiniMax-M3's sparse attention). q:
// rotated.
static Tensor attend_to_blocks(Ops& ops, Tensor y, Tensor q, const LayerWeights& w, const LayerPass& at) {
  const HeadAttention& a = *w.shape.heads();
  const BlockIndexer& b = *a.blocks;
  const Pass& p = ops.details(at.pass);
  const Bytes key = bytes_of(b.keys, b.head_dim), index = p.index_bytes();
  const int rows = p.rows.total, widest = p.rows.widest;
  const bool masked = !p.is_causal();
  const std::string_view name = attention_key(p);
  const Tensor all = ops.linear(y, w.blocks->index);
  const Copy turned{
      .read = all.bytes() + index, .written = all.bytes() + 1.0 * rows * key, .op = ElementOp::rope_append};
  const Tensor heads = ops.priced_alone({"index_append", {all}, w.blocks->norms, at.pass, turned, {}, all}, all.cols);
  const Attention scores =
      scores_of({b.heads, b.head_dim, b.heads * b.top_k, b.keys, key}, ops.details(at.pass), y.dtype);
  const Tensor chosen = ops.priced_alone({"select_tokens", {heads}, {}, at.pass, scores, {}, heads}, b.heads * b.top_k);
  const Attention k{.sequences = rows,
                    .rows = rows,
                    .widest = std::min(widest, 1),
                    .heads = a.heads.heads,
                    .kv_heads = a.heads.kv_heads,
                    .head_dim = a.heads.head_dim,
                    .cache = at.cache.dtype,
                    .activations = q.dtype,
                    .masked = masked,
                    .index_bytes = index + chosen.bytes(),
                    .value_dim = a.heads.value_dim,
                    .gathers = true};
  const Window read{.tokens = b.tokens(), .chosen = true};
  return ops.priced_alone({name, {q, chosen}, {}, at.pass, k, read, q}, a.heads.result_columns());
}

static Tensor head_attention(Ops& ops, Tensor y, const LayerWeights& w, const LayerPass& at, int ranks,
                             const std::optional<EntryChoice>& choice) {
  const HeadAttention& a = *w.shape.heads();
  const AttentionHeads& h = a.heads;
  const int q_cols = h.q_columns(), k_cols = h.k_columns(), v_cols = h.v_columns();
  const int values_at = h.values_are_keys ? q_cols : q_cols + k_cols;
  const float epsilon = epsilon_of(w);
  const Tensor qkv = ops.linear(y, w.qkv, w.qkv_bias);
  Tensor q = columns(qkv, 0, q_cols), k = columns(qkv, q_cols, k_cols);
  // A rotation leaves the norm of a head as it is, so that norms without weights may come before it.
  if (a.qk_norm == QkNorm::all_heads) {
    ops.sum_over_ranks(columns(qkv, 0, 4), ranks);  // of two sums of squares in 32 bits, which are as wide
    q = ops.rms_norm(q, w.q_norm, epsilon);
    k = ops.rms_norm(k, w.k_norm, epsilon);
  } else if (a.qk_norm != QkNorm::none) {
    q = ops.rms_norm(q, w.q_norm, epsilon, h.head_dim);
    k = ops.rms_norm(k, w.k_norm, epsilon, h.head_dim);
  }
  Tensor v = columns(qkv, values_at, v_cols);
  if (a.value_norm) v = ops.rms_norm(v, {}, epsilon, h.value_dim);
  const Tensor rotated = ops.rope_append(q, k, v, a.rope, at);
  Tensor attended =
      a.blocks ? attend_to_blocks(ops, y, rotated, w, at) : ops.attend(rotated, at, a.query_scale, w.sinks);
  if (choice) ops.select_entries(rotated, at, choice->ring, choice->window, choice->pool, a.query_scale);
  if (a.output_gate) attended = ops.sigmoid_mul(attended, columns(qkv, h.projected_columns(), h.result_columns()));
  if (w.head_gates) attended = gated_heads(ops, attended, y, *w.head_gates);
  return ops.sum_over_ranks(ops.linear(attended, w.o, w.o_bias), ranks);
}

Tensor self_attention(Ops& ops, Tensor y, const LayerWeights& w, const LayerPass& at, int ranks,
                      const Choices& choices) {
  if (w.shape.heads() != nullptr) return head_attention(ops, y, w, at, ranks, choices.entries);
  if (const CompressedAttention* a = w.shape.compressed()) {
    const Tensor groups = compressed_attention(ops, y, *w.compressed, *a, at, epsilon_of(w));
    return ops.sum_over_ranks(ops.linear(groups, w.o), ranks);
  }
  std::optional<Tensor> own;
  Tensor values = latent_attention(ops, y, *w.latent, std::get<LatentHeads>(w.shape.attention), at,
                                   choices.tokens != nullptr ? *choices.tokens : own);
  if (w.latent_gate) values = ops.sigmoid_mul(values, ops.linear(y, *w.latent_gate));
  if (w.head_gates) values = gated_heads(ops, values, y, *w.head_gates);
  return ops.sum_over_ranks(ops.linear(values, w.o), ranks);
}

// The experts' part of an MLP. Replicas of the attention bring their rows together before it and take their own back.
static Tensor experts(Ops& ops, Tensor y, const ExpertWeights& w, const Experts& e, int sequences,
                      std::optional<Tensor> routed = {}) {
  const bool sent = e.parallel.all_to_all;
  const int replicas = e.parallel.attention_replicas;
  if (replicas == 1) return ops.mixture_of_experts(y, w, e, e.kind, sequences, routed);
  double copies = sent ? devices_of_row(e, replicas) : replicas;
  if (const double mean = e.parallel.expert_balancedness; mean > 0)  // the busiest device receives so many more
    copies = std::min<double>(copies / mean, replicas);
  const Tensor all = ops.dispatch_rows(y, sent ? Collective::all_to_all : Collective::all_gather, replicas, copies);
  const Tensor z = ops.mixture_of_experts(all, w, e, e.kind, sequences * replicas);
  return ops.combine_rows(z, sent ? Collective::all_to_all : Collective::reduce_scatter, replicas, copies);
}

namespace {

// The shared MLP has SiLU's gate where the experts have any (gpt-oss's and Gemma's experts have no shared MLP).
MlpKind shared_kind(const Experts& e) { return is_gated(e.kind) ? MlpKind::gated_silu : e.kind; }

// An MLP sublayer by its kind.
struct MlpPass {
  Ops& ops;
  Tensor y;
  const LayerWeights& w;
  int ranks, sequences;
  std::optional<Tensor> residual;

  Tensor operator()(const NoMlp&) const { throw Bug("the layer has no MLP"); }
  Tensor activated(Tensor wide, MlpKind kind) const {
    if (kind == MlpKind::gelu) return ops.gelu(wide);
    if (kind == MlpKind::squared_relu) return ops.squared_relu(wide);
    return kind == MlpKind::gated_gelu ? ops.gelu_mul(wide) : ops.silu_mul(wide);
  }
  Tensor operator()(const DenseMlp& m) const {
    return ops.sum_over_ranks(ops.linear(activated(ops.linear(y, w.gate_up), m.kind), w.down), ranks);
  }
  Tensor routed_experts(const Experts& e) const {
    if (!w.narrow) return experts(ops, y, *w.experts, e, sequences);
    return ops.linear(experts(ops, ops.linear(y, *w.narrow), *w.experts, e, sequences, y), *w.widen);
  }
  Tensor operator()(const Experts& e) const {
    const Tensor z = routed_experts(e);
    if (!w.shared_gate_up) return ops.sum_over_ranks(z, ranks);
    Tensor shared = ops.linear(activated(ops.linear(y, *w.shared_gate_up), shared_kind(e)), *w.shared_down);
    if (w.shared_gate) shared = ops.sigmoid_mul(shared, ops.linear(y, *w.shared_gate));
    return ops.sum_over_ranks(ops.add(z, shared), ranks);
  }
  Tensor operator()(const ExpertsBesideMlp& m) const {
    check(residual.has_value(), "experts beside an MLP read the residual stream");
    const float epsilon = epsilon_of(w);
    const BesideMlpNorms& norms = *w.beside_mlp;
    const Tensor dense = ops.rms_norm((*this)(m.dense), norms.mlp, epsilon);
    const Tensor sparse = experts(ops, ops.rms_norm(*residual, norms.experts, epsilon), *w.experts, m.experts,
                                  sequences, ops.rms_norm(*residual, norms.router, epsilon));
    return ops.add(dense, ops.rms_norm(ops.sum_over_ranks(sparse, ranks), norms.experts_post, epsilon));
  }
};

}  // namespace

Tensor mlp(Ops& ops, Tensor y, const LayerWeights& w, int ranks, int sequences, std::optional<Tensor> residual) {
  return std::visit(MlpPass{ops, y, w, ranks, sequences, residual}, w.shape.mlp);
}

}  // namespace draftline
