// SPDX-License-Identifier: Apache-2.0
// The members of Ops that record the ops of networks.
#include <algorithm>
#include <cmath>

#include "decoder/ops_emit.h"

namespace draftline {

Tensor Ops::embed(Weight table, Tensor ids, double scale) {
  return emit(Embed{table, ids, single(scale), temp(ids.rows, table.out)}).y;
}

Tensor Ops::linear(Tensor x, Weight w, std::optional<Weight> bias) {
  check(x.cols == w.in && (!bias || bias->out == w.out), "linear: columns of x = inputs of w, bias = outputs");
  if (w.format != nullptr && w.format->inputs) x = quantised(x, *w.format);
  return emit(Linear{x, w, bias, temp(x.rows, w.out)}).y;
}

// Directly behind what made x, an engine may quantise in the same kernel.
static Quantise::After made_by(const Op& op) {
  const auto one_of = [&]<class... T>() { return (std::holds_alternative<T>(op) || ...); };
  if (one_of.operator()<RmsNorm, AddRmsNorm, LayerNorm>()) return Quantise::After::norm;
  return one_of.operator()<SiluMul, GeluMul, Gelu, SquaredRelu>() ? Quantise::After::activation : Quantise::After::any;
}

Tensor Ops::quantised(Tensor x, const LinearFormat& format) {
  const RowScales& scales = format.input_scales;
  const auto after = tape_.ops.empty() ? Quantise::After::any : made_by(tape_.ops.back());
  const Tensor y = temp(x.rows, x.cols, *format.inputs);
  return emit(Quantise{x, scales.group, after, y, temp(x.rows, scales.of_row(x.cols), scales.format)}).y;
}

Tensor Ops::rms_norm(Tensor x, std::optional<Weight> w, float epsilon, int width) {
  if (width == 0) width = x.cols;
  check(x.cols % width == 0 && (!w || w->out == x.cols || w->out == width),
        "rms_norm: whole groups, a weight per column or group");
  return emit(RmsNorm{x, w, width, epsilon, temp(x.rows, x.cols)}).y;
}

AddRmsNorm Ops::add_rms_norm(Tensor h, Tensor delta, Weight w, float epsilon) {
  check(h.rows == delta.rows && h.cols == delta.cols && w.out == h.cols, "add_rms_norm: equal shapes");
  return emit(AddRmsNorm{h, delta, w, epsilon, temp(h.rows, h.cols), temp(h.rows, h.cols)});
}

Tensor Ops::layer_norm(Tensor x, Weight w, Weight bias, float epsilon) {
  return emit(LayerNorm{x, w, bias, epsilon, temp(x.rows, x.cols)}).y;
}

Tensor Ops::add(Tensor a, Tensor b) {
  check(a.rows == b.rows && a.cols == b.cols, "add: equal shapes");
  return emit(Add{a, b, temp(a.rows, a.cols)}).y;
}

Tensor Ops::gelu_mul(Tensor gate_up) { return emit(GeluMul{gate_up, temp(gate_up.rows, gate_up.cols / 2)}).y; }

Tensor Ops::silu_mul(Tensor gate_up) { return emit(SiluMul{gate_up, temp(gate_up.rows, gate_up.cols / 2)}).y; }

Tensor Ops::silu_add(Tensor a, Tensor b) {
  check(a.rows == b.rows && a.cols == b.cols, "silu_add: equal shapes");
  return emit(SiluAdd{a, b, temp(a.rows, a.cols)}).y;
}

Tensor Ops::gelu(Tensor x) { return emit(Gelu{x, temp(x.rows, x.cols)}).y; }

Tensor Ops::squared_relu(Tensor x) { return emit(SquaredRelu{x, temp(x.rows, x.cols)}).y; }

Tensor Ops::cosine_gate(Tensor q, Tensor k, Tensor v, int head_dim) {
  check(q.cols == k.cols && q.cols == v.cols && q.cols % head_dim == 0, "cosine_gate: whole heads, equally many");
  return emit(CosineGate{q, k, v, head_dim, temp(q.rows, q.cols)}).y;
}

Tensor Ops::sigmoid_mul(Tensor x, Tensor gate) {
  check(x.rows == gate.rows && (gate.cols == x.cols || gate.cols == 1), "sigmoid_mul: a gate for each column, or one");
  return emit(SigmoidMul{x, gate, temp(x.rows, x.cols)}).y;
}

Tensor Ops::add_scaled(Tensor a, Tensor b, Weight scale) {
  check(a.rows == b.rows && a.cols == b.cols && scale.in == 1 && scale.out == 1, "add_scaled: equal shapes, a number");
  return emit(AddScaled{a, b, scale, temp(a.rows, a.cols)}).y;
}

Tensor Ops::soft_cap(Tensor x, double cap) { return emit(SoftCap{x, single(cap), temp(x.rows, x.cols)}).y; }

Tensor Ops::gru_cell(Tensor input, std::optional<Tensor> gates, std::optional<Tensor> state) {
  const int columns = input.cols / 3;
  check(input.cols % 3 == 0 && gates.has_value() == state.has_value(), "gru_cell: three gates, of a state if any");
  if (state)
    check(gates->rows == input.rows && gates->cols == input.cols && state->rows == input.rows && state->cols == columns,
          "gru_cell: gates of the input's shape, a state of a third of its columns");
  return emit(GruCell{input, gates, state, temp(input.rows, columns)}).y;
}

Tensor Ops::grouped_conv(Tensor x, Tensor delta, Weight base, int block) {
  check(x.rows == delta.rows && x.rows % block == 0, "grouped_conv: whole blocks");
  check(x.cols == base.out && delta.cols % base.in == 0 && x.cols % (delta.cols / base.in) == 0,
        "grouped_conv: a kernel for each column, whole groups");
  return emit(GroupedConv{x, delta, base, block, temp(x.rows, x.cols)}).y;
}

Tensor Ops::mixture_of_experts(Tensor x, const ExpertWeights& w, const Experts& e, MlpKind gate, int sequences,
                               std::optional<Tensor> routed) {
  check(routed.value_or(x).cols == w.router.in && w.router.out == e.count,
        "mixture_of_experts: router is columns x experts");
  return emit(MixtureOfExperts{.x = x,
                               .routed = routed,
                               .w = w,
                               .choice = {e.count, e.per_token, e.normalise, e.score, e.groups, e.groups_per_token,
                                          e.scale, e.weighs_inputs},
                               .gate = gate,
                               .sequences = sequences,
                               .routing = e.routing.of_pass(1.0 * x.rows / std::max(1, sequences)),
                               .devices = e.parallel.expert_groups(),
                               .balancedness = e.parallel.expert_balancedness,
                               .ranks = e.parallel.expert_ranks(),
                               .router_fp32 = e.router_fp32,
                               .y = temp(x.rows, x.cols)})
      .y;
}

Tensor Ops::rope_append(Tensor q, Tensor k, Tensor v, const Rope& rope, const LayerPass& at) {
  const auto& [p, c, layer] = at;
  check(q.rows == tape_.pass(p).rows.total && k.cols == c.kv_heads * c.head_dim && v.cols == c.value_columns(),
        "rope_append: rows of the pass, columns of the cache");
  return emit(RopeAppend{q, k, v, rope, p, c, layer, temp(q.rows, q.cols)}).y;
}

Tensor Ops::rotate(Tensor q, const Rope& rope, PassRef p, Cache c) {
  check(q.rows == tape_.pass(p).rows.total && q.cols % c.head_dim == 0, "rotate: rows of the pass, whole heads");
  const Tensor none = temp(q.rows, 0);
  return emit(RopeAppend{q, none, none, rope, p, c, 0, temp(q.rows, q.cols)}).y;
}

void Ops::append(Tensor k, Tensor v, const Rope& rope, const LayerPass& at) {
  rope_append(temp(k.rows, 0), k, v, rope, at);
}

static float scale_or_usual(std::optional<double> scale, const Cache& c) {
  return scale ? single(*scale) : 1 / std::sqrt(single(c.head_dim));
}

Tensor Ops::attend(Tensor q, const LayerPass& at, std::optional<double> scale, std::optional<Weight> sinks) {
  const auto& [p, c, layer] = at;
  check(q.rows == tape_.pass(p).rows.total, "attend: rows of the pass");
  check(!sinks || sinks->out == q.cols / c.head_dim, "attend: a sink for each head");
  const Tensor y = temp(q.rows, q.cols / c.head_dim * c.value_dim);
  return emit(Attend{q, p, c, layer, scale_or_usual(scale, c), sinks, y}).y;
}

LatentAppend Ops::latent_append(Tensor q, Tensor latent, Tensor shared_key, const LatentAttention& dims,
                                const Rope& rope, const LayerPass& at) {
  const auto& [p, c, layer] = at;
  const int columns = dims.nope_dim + dims.rope_dim, heads = q.cols / columns;
  check(q.rows == tape_.pass(p).rows.total && q.cols == heads * columns && latent.cols == c.latent &&
            shared_key.cols == dims.rope_dim,
        "latent_append: rows of the pass, whole heads, columns of the cache");
  return emit(LatentAppend{q, latent, shared_key, dims, rope, p, c, layer, temp(q.rows, heads * dims.rope_dim),
                           temp(q.rows, dims.rope_dim)});
}

static int latent_heads(Weight kv_b, const LatentAttention& dims) {
  return kv_b.out / (dims.nope_dim + dims.value_dim);
}

Tensor Ops::absorb_queries(Tensor q, Weight kv_b, const LatentAttention& dims) {
  const int heads = latent_heads(kv_b, dims);
  check(kv_b.in == dims.kv_rank && q.cols == heads * (dims.nope_dim + dims.rope_dim), "absorb_queries: whole heads");
  return emit(AbsorbQueries{q, kv_b, dims, temp(q.rows, heads * dims.kv_rank)}).y;
}

Tensor Ops::expand_values(Tensor x, Weight kv_b, const LatentAttention& dims) {
  const int heads = latent_heads(kv_b, dims);
  check(x.cols == heads * dims.kv_rank, "expand_values: a latent for each head");
  return emit(ExpandValues{x, kv_b, dims, temp(x.rows, heads * dims.value_dim)}).y;
}

Tensor Ops::index_append(Tensor q, Tensor k, const Rope& rope, const LayerPass& at) {
  const auto& [p, c, layer] = at;
  check(q.rows == tape_.pass(p).rows.total && k.rows == q.rows && c.indexer && k.cols == c.indexer->head_dim &&
            q.cols % k.cols == 0,
        "index_append: rows of the pass, whole heads, the key of the cache");
  return emit(IndexAppend{q, k, rope, p, c, layer, temp(q.rows, q.cols)}).y;
}

Tensor Ops::select_tokens(Tensor q, Tensor weights, const LayerPass& at) {
  const auto& [p, c, layer] = at;
  check(q.rows == tape_.pass(p).rows.total && weights.rows == q.rows && c.indexer &&
            q.cols == weights.cols * c.indexer->head_dim,
        "select_tokens: rows of the pass, a weight for each head");
  return emit(SelectTokens{q, weights, p, c, layer, temp(q.rows, c.indexer->top_k, DType::int32)}).y;
}

Tensor Ops::latent_attend(Tensor q, Tensor q_rope, float scale, const LayerPass& at, std::optional<Tensor> tokens) {
  const auto& [p, c, layer] = at;
  check(tokens || !c.indexer, "latent_attend: the tokens of an indexer, where there is one");
  check(
      q.rows == tape_.pass(p).rows.total && c.latent > 0 && q.cols / c.latent * (c.head_dim - c.latent) == q_rope.cols,
      "latent_attend: rows of the pass, as many heads in both");
  return emit(LatentAttend{q, q_rope, scale, tokens, p, c, layer, temp(q.rows, q.cols)}).y;
}

Tensor Ops::expanded_attend(Tensor q, Tensor kv, const LatentAppend& rotated, float scale, PassRef p) {
  const LatentAttention& dims = rotated.dims;
  const int heads = kv.cols / (dims.nope_dim + dims.value_dim);
  check(rows(p).prompts && q.rows == tape_.pass(p).rows.total, "expanded_attend: rows of whole prompts");
  return emit(ExpandedAttend{q, rotated.q_rope, kv, rotated.k_rope, dims, scale, p,
                             temp(q.rows, heads * dims.value_dim)})
      .y;
}

void Ops::select_entries(Tensor q, const LayerPass& at, Cache to, int window, int pool, std::optional<double> scale) {
  const auto& [p, from, layer] = at;
  check(rows(p).prompts && q.rows == rows(p).total, "select_entries: rows of whole prompts");
  check(to.window.ring && to.window.sinks == 0 && to.window.tokens > window && to.layers == from.layers &&
            to.columns() == from.columns() && from.latent == 0,
        "select_entries: into a ring of layers of the same shape, with room for more than the window");
  emit(SelectEntries{q, p, from, to, layer, window, pool, scale_or_usual(scale, from)});
}

Tensor Ops::group_attend(Tensor q, Tensor k, Tensor v, int group, int head_dim, bool causal) {
  check(q.rows % group == 0, "group_attend: whole groups");
  return emit(GroupAttend{q, k, v, group, head_dim, causal, temp(q.rows, q.cols)}).y;
}

Tensor Ops::gated_rms_norm(Tensor x, Tensor gate, const GatedNorm& n) {
  check(x.rows == gate.rows && x.cols == gate.cols && x.cols % n.width == 0 &&
            (!n.w || n.w->out == n.width || n.w->out == x.cols),
        "gated_rms_norm: equal shapes, whole groups");
  return emit(GatedRmsNorm{x, gate, n.w, n.width, n.epsilon, n.gate, temp(x.rows, x.cols)}).y;
}

void Ops::check_states(PassRef ref, const StateCache& c) const {
  const Pass& p = tape_.pass(ref);
  if (!p.rows.prompts && p.tail + p.rows.widest >= c.states)
    throw InputErrors("a pass of " + std::to_string(p.tail + p.rows.widest) + " rows over recurrent states, of which " +
                      std::to_string(c.states - 1) + " at once are kept for each sequence");
}

Tensor Ops::convolve(Tensor x, Weight w, const StatePass& at, std::optional<Weight> bias) {
  const auto& [p, c, layer] = at;
  check(x.rows == tape_.pass(p).rows.total && x.cols == c.form.convolved_columns && w.out == x.cols &&
            w.in == c.form.kernel && (!bias || bias->out == x.cols),
        "convolve: rows of the pass, columns of the network");
  check_states(p, c);
  return emit(Convolve{x, w, bias, p, c, layer, temp(x.rows, x.cols)}).y;
}

Tensor Ops::gated_delta_rule(Tensor qkv, Tensor gates, Weight a_log, Weight dt_bias, const StatePass& at) {
  const auto& [p, c, layer] = at;
  const int heads = c.form.value_heads, decays = gates.cols - heads;
  check(qkv.rows == tape_.pass(p).rows.total && qkv.cols == c.form.convolved_columns && gates.rows == qkv.rows &&
            (decays == heads || decays == heads * c.form.key_dim) && dt_bias.out == decays,
        "gated_delta_rule: rows of the pass, columns of the network");
  check_states(p, c);
  return emit(GatedDeltaRule{qkv, gates, a_log, dt_bias, p, c, layer, temp(qkv.rows, c.form.value_columns())}).y;
}

Tensor Ops::selective_scan(Tensor xbc, Tensor steps, const ScanWeights& w, int chunk, const StatePass& at) {
  const auto& [p, c, layer] = at;
  check(xbc.rows == tape_.pass(p).rows.total && xbc.cols == c.form.convolved_columns && steps.rows == xbc.rows &&
            steps.cols == c.form.value_heads,
        "selective_scan: rows of the pass, columns of the network");
  check_states(p, c);
  return emit(ScanSelectively{xbc, steps, w.a_log, w.skip, w.dt_bias, chunk, p, c, layer,
                              temp(xbc.rows, c.form.value_columns())})
      .y;
}

Tensor Ops::priced_alone(PricedAlone op, int columns) {
  op.y = temp(op.y.rows, columns);
  return emit(std::move(op)).y;
}

Tensor Ops::sum_over_ranks(Tensor y, int ranks) { return ranks == 1 ? y : Tensor(emit(SumOverRanks{y, ranks}).y); }

Tensor Ops::dispatch_rows(Tensor x, Collective how, int ranks, double copies) {
  return emit(ExchangeRows{x, how, ranks, copies, false, temp(x.rows * ranks, x.cols, x.dtype)}).y;
}
Tensor Ops::combine_rows(Tensor x, Collective how, int ranks, double copies) {
  check(x.rows % ranks == 0, "combine_rows: as many rows of each rank");
  return emit(ExchangeRows{x, how, ranks, copies, true, temp(x.rows / ranks, x.cols, x.dtype)}).y;
}

Tensor Ops::gather_over_ranks(Tensor x, int ranks) {
  if (ranks == 1) return x;
  return emit(GatherOverRanks{x, ranks, temp(x.rows, x.cols * ranks, x.dtype)}).y;
}

}  // namespace draftline
