// SPDX-License-Identifier: Apache-2.0
#include "decoder/ops.h"

#include <cmath>

#include <algorithm>
#include <utility>

namespace draftline {

Ops::Ops(Backend& backend, DType activations, int slots, std::optional<int> kv_slots, std::optional<DType> cache)
    : backend_(backend),
      activations_(activations),
      cache_format_(cache.value_or(activations)),
      slots_(slots),
      kv_slots_(kv_slots.value_or(slots)) {}

// ---- recording

template <class T>
const T& Ops::emit(T op) {
  hasher_(static_cast<int>(Op{std::in_place_type<T>}.index()));
  hasher_(static_cast<int>(phase));
  const auto mix = [this](const auto& field) {
    hasher_(field);
    if constexpr (std::is_same_v<std::decay_t<decltype(field)>, PassRef>)
      check(field.epoch == epoch_, "a pass was used after a host read: make it again");
  };
  std::apply([&](const auto&... field) { (mix(field), ...); }, op.fields());
  each_tensor(tape_, op, [this](const Tensor& t, bool) {
    check(t.home == Home::persistent || t.epoch == epoch_,
          "a temporary was used after a host read: store it in a persistent buffer");
  });
  tape_.ops.emplace_back(std::move(op));
  tape_.phases.push_back(phase);
  backend_.emitted(tape_.ops.back(), tape_);
  return std::get<T>(tape_.ops.back());
}

Tensor Ops::make_persistent(int rows, int cols, DType dtype, std::span<const int> initial) {
  const Tensor t{rows, cols, cols, 0, persistent_count_++, 0, Home::persistent, dtype};
  backend_.make_persistent(t, initial);
  return t;
}

Tensor Ops::temp(int rows, int cols, DType dtype) {
  const Tensor t{rows, cols, cols, 0, static_cast<int>(tape_.temps.size()), epoch_, Home::temp, dtype};
  tape_.temps.push_back(t);
  return t;
}

// ---- memory

Tensor Ops::persistent(const std::string& name, int rows, int cols, DType dtype) {
  auto [it, fresh] = named_.try_emplace({name, rows, cols});
  if (fresh) it->second = make_persistent(rows, cols, dtype, {});
  return it->second;
}

Tensor Ops::persistent_per_slot(const std::string& name, int rows, int cols, DType dtype) {
  auto [it, fresh] = per_slot_.try_emplace(name);
  if (fresh) it->second = {make_persistent(slots_ * rows, cols, dtype, {}), rows};
  check(it->second.first.cols == cols && it->second.second == rows,
        "a persistent buffer has one shape: size it for the largest plan");
  return it->second.first;
}

void Ops::move_slot(int from, int to) {
  for (const auto& [name, s] : per_slot_) {
    const auto& [all, rows] = s;
    store(row_range(all, to * rows, rows), row_range(all, from * rows, rows));
  }
}

Tensor Ops::constant(const std::vector<int>& values, int cols, int times) {
  auto [it, fresh] = constants_.try_emplace({values, cols, times});
  if (fresh) {
    std::vector<int> tiled;
    tiled.reserve(values.size() * static_cast<std::size_t>(times));
    for (int i = 0; i < times; ++i) tiled.insert(tiled.end(), values.begin(), values.end());
    it->second = make_persistent(static_cast<int>(tiled.size()) / cols, cols, DType::int32, tiled);
  }
  return it->second;
}

Tensor Ops::input(const std::string& name, std::span<const int> data) {
  return upload(persistent(name, static_cast<int>(data.size()), 1, DType::int32), data);
}

Tensor Ops::upload(Tensor to, std::span<const int> data) {
  check(to.elements() == static_cast<double>(data.size()), "upload: as many values as the buffer holds");
  backend_.stage(data);
  emit(Upload{to});
  return to;
}

Rows Ops::uniform(int sequences, int rows_each) {
  std::vector<int> cu_seqlens;
  for (int b = 0; b <= sequences; ++b) cu_seqlens.push_back(b * rows_each);
  return {std::vector<int>(static_cast<std::size_t>(sequences), rows_each), constant(cu_seqlens), sequences * rows_each,
          rows_each};
}

Rows Ops::ragged(const std::string& name, const std::vector<int>& each) {
  std::vector<int> cu_seqlens{0};
  for (const int n : each) cu_seqlens.push_back(cu_seqlens.back() + n);
  return {each, input(name, cu_seqlens), cu_seqlens.back(), *std::max_element(each.begin(), each.end())};
}

Cache Ops::cache(int layers, int kv_heads, int head_dim, int capacity, Window window) {
  return make_cache({static_cast<int>(caches_.size()), layers, kv_heads, head_dim, cache_format_, window}, capacity);
}

Cache Ops::latent_cache(int layers, const LatentAttention& l, int capacity) {
  const int columns = l.kv_rank + l.rope_dim, id = static_cast<int>(caches_.size());
  return make_cache({id, layers, 1, columns, cache_format_, {}, l.kv_rank}, capacity);
}

Cache Ops::make_cache(const Cache& c, int capacity) {
  caches_.push_back(c);
  backend_.make_cache(c, kv_slots_, capacity);
  return c;
}

StateCache Ops::state_cache(int layers, const DeltaNet& net, int states) {
  const StateCache c{static_cast<int>(state_caches_.size()), layers, states, net, activations_};
  state_caches_.push_back(c);
  backend_.make_state_cache(c, kv_slots_);
  return c;
}

PassRef Ops::pass(Pass p) {
  if (teacher != nullptr) p = teacher->pass(std::move(p));
  hasher_(p);
  tape_.passes.push_back(std::move(p));
  return {static_cast<int>(tape_.passes.size()) - 1, epoch_};
}

// ---- networks

Tensor Ops::embed(Weight table, Tensor ids, double scale) {
  return emit(Embed{table, ids, static_cast<float>(scale), temp(ids.rows, table.out)}).y;
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
  return one_of.operator()<SiluMul, GeluMul, Gelu>() ? Quantise::After::activation : Quantise::After::any;
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

Tensor Ops::cosine_gate(Tensor q, Tensor k, Tensor v, int head_dim) {
  check(q.cols == k.cols && q.cols == v.cols && q.cols % head_dim == 0, "cosine_gate: whole heads, equally many");
  return emit(CosineGate{q, k, v, head_dim, temp(q.rows, q.cols)}).y;
}

Tensor Ops::sigmoid_mul(Tensor x, Tensor gate) {
  check(x.rows == gate.rows && (gate.cols == x.cols || gate.cols == 1), "sigmoid_mul: a gate for each column, or one");
  return emit(SigmoidMul{x, gate, temp(x.rows, x.cols)}).y;
}

Tensor Ops::grouped_conv(Tensor x, Tensor delta, Weight base, int block) {
  check(x.rows == delta.rows && x.rows % block == 0, "grouped_conv: whole blocks");
  check(x.cols == base.out && delta.cols % base.in == 0 && x.cols % (delta.cols / base.in) == 0,
        "grouped_conv: a kernel for each column, whole groups");
  return emit(GroupedConv{x, delta, base, block, temp(x.rows, x.cols)}).y;
}

Tensor Ops::mixture_of_experts(Tensor x, const ExpertWeights& w, const Experts& e, bool clamped, int sequences) {
  check(x.cols == w.router.in && w.router.out == e.count, "mixture_of_experts: router is hidden x experts");
  return emit(MixtureOfExperts{.x = x,
                               .w = w,
                               .choice = {e.count, e.per_token, e.normalise, e.score, e.groups, e.groups_per_token,
                                          e.scale, e.weighs_inputs},
                               .clamped = clamped,
                               .sequences = sequences,
                               .overlap = e.overlap,
                               .devices = e.parallel.expert_parallel ? e.parallel.devices : 1,
                               .y = temp(x.rows, x.cols)})
      .y;
}

Tensor Ops::rope_append(Tensor q, Tensor k, Tensor v, const Rope& rope, PassRef p, Cache c, int layer) {
  check(q.rows == tape_.pass(p).rows.total && k.cols == c.kv_heads * c.head_dim && v.cols == k.cols,
        "rope_append: rows of the pass, columns of the cache");
  return emit(RopeAppend{q, k, v, rope, p, c, layer, temp(q.rows, q.cols)}).y;
}

void Ops::append(Tensor k, Tensor v, const Rope& rope, PassRef p, Cache c, int layer) {
  rope_append(temp(k.rows, 0), k, v, rope, p, c, layer);
}

Tensor Ops::attend(Tensor q, PassRef p, Cache c, int layer, std::optional<double> scale, std::optional<Weight> sinks) {
  check(q.rows == tape_.pass(p).rows.total, "attend: rows of the pass");
  check(!sinks || sinks->out == q.cols / c.head_dim, "attend: a sink for each head");
  const float usual = 1 / std::sqrt(static_cast<float>(c.head_dim));
  const float factor = scale ? static_cast<float>(*scale) : usual;
  return emit(Attend{q, p, c, layer, factor, sinks, temp(q.rows, q.cols)}).y;
}

LatentAppend Ops::latent_append(Tensor q, Tensor latent, Tensor shared_key, const LatentAttention& dims,
                                const Rope& rope, PassRef p, Cache c, int layer) {
  const int columns = dims.nope_dim + dims.rope_dim, heads = q.cols / columns;
  check(q.rows == tape_.pass(p).rows.total && q.cols == heads * columns && latent.cols == c.latent &&
            shared_key.cols == dims.rope_dim,
        "latent_append: rows of the pass, whole heads, columns of the cache");
  return emit(LatentAppend{q, latent, shared_key, dims, rope, p, c, layer, temp(q.rows, heads * dims.rope_dim),
                           temp(q.rows, dims.rope_dim)});
}

static int heads_of(Weight kv_b, const LatentAttention& dims) { return kv_b.out / (dims.nope_dim + dims.value_dim); }

Tensor Ops::absorb_queries(Tensor q, Weight kv_b, const LatentAttention& dims) {
  const int heads = heads_of(kv_b, dims);
  check(kv_b.in == dims.kv_rank && q.cols == heads * (dims.nope_dim + dims.rope_dim), "absorb_queries: whole heads");
  return emit(AbsorbQueries{q, kv_b, dims, temp(q.rows, heads * dims.kv_rank)}).y;
}

Tensor Ops::expand_values(Tensor x, Weight kv_b, const LatentAttention& dims) {
  const int heads = heads_of(kv_b, dims);
  check(x.cols == heads * dims.kv_rank, "expand_values: a latent for each head");
  return emit(ExpandValues{x, kv_b, dims, temp(x.rows, heads * dims.value_dim)}).y;
}

Tensor Ops::latent_attend(Tensor q, Tensor q_rope, float scale, PassRef p, Cache c, int layer) {
  check(
      q.rows == tape_.pass(p).rows.total && c.latent > 0 && q.cols / c.latent == q_rope.cols / (c.head_dim - c.latent),
      "latent_attend: rows of the pass, as many heads in both");
  return emit(LatentAttend{q, q_rope, scale, p, c, layer, temp(q.rows, q.cols)}).y;
}

Tensor Ops::expanded_attend(Tensor q, Tensor kv, const LatentAppend& rotated, float scale, PassRef p) {
  const LatentAttention& dims = rotated.dims;
  const int heads = kv.cols / (dims.nope_dim + dims.value_dim);
  check(rows(p).prompts && q.rows == tape_.pass(p).rows.total, "expanded_attend: rows of whole prompts");
  return emit(ExpandedAttend{q, rotated.q_rope, kv, rotated.k_rope, dims, scale, p,
                             temp(q.rows, heads * dims.value_dim)})
      .y;
}

Tensor Ops::group_attend(Tensor q, Tensor k, Tensor v, int group, int head_dim, bool causal) {
  check(q.rows % group == 0, "group_attend: whole groups");
  return emit(GroupAttend{q, k, v, group, head_dim, causal, temp(q.rows, q.cols)}).y;
}

Tensor Ops::gated_rms_norm(Tensor x, Tensor gate, Weight w, float epsilon, int width) {
  check(x.rows == gate.rows && x.cols == gate.cols && x.cols % width == 0 && w.out == width,
        "gated_rms_norm: equal shapes, whole groups");
  return emit(GatedRmsNorm{x, gate, w, width, epsilon, temp(x.rows, x.cols)}).y;
}

void Ops::check_chain(PassRef ref, const StateCache& c) const {
  const Pass& p = tape_.pass(ref);
  if (p.tree_mask)
    throw InputErrors(
        "a network with recurrent states (delta networks) verifies chains alone: each row's state follows from the "
        "one before it, and this method's rows are a tree or attend under a mask");
  if (!p.rows.prompts && p.tail + p.rows.widest >= c.states)
    throw InputErrors("a pass of " + std::to_string(p.tail + p.rows.widest) + " rows over recurrent states, of which " +
                      std::to_string(c.states - 1) + " at once are kept for each sequence");
}

Tensor Ops::convolve(Tensor x, Weight w, PassRef p, StateCache c, int layer) {
  check(x.rows == tape_.pass(p).rows.total && x.cols == c.net.convolved_columns() && w.out == x.cols &&
            w.in == c.net.kernel,
        "convolve: rows of the pass, columns of the network");
  check_chain(p, c);
  return emit(Convolve{x, w, p, c, layer, temp(x.rows, x.cols)}).y;
}

Tensor Ops::gated_delta_rule(Tensor qkv, Tensor gates, Weight a_log, Weight dt_bias, PassRef p, StateCache c,
                             int layer) {
  check(qkv.rows == tape_.pass(p).rows.total && qkv.cols == c.net.convolved_columns() && gates.rows == qkv.rows &&
            gates.cols == 2 * c.net.value_heads,
        "gated_delta_rule: rows of the pass, columns of the network");
  check_chain(p, c);
  return emit(GatedDeltaRule{qkv, gates, a_log, dt_bias, p, c, layer, temp(qkv.rows, c.net.value_columns())}).y;
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

// ---- data movement

Tensor Ops::gather(std::vector<Tensor> parts, std::optional<Tensor> index, int shift, int span) {
  int cols = 0;
  for (const Tensor& p : parts) cols += p.cols;
  const Tensor first = parts[0];
  const Tensor y = temp((index ? index->rows : first.rows) * span, cols, first.dtype);
  return emit(Gather{std::move(parts), index, shift, span, y}).y;
}

Tensor Ops::gather(Tensor x, Tensor index, int shift, int span) { return gather(std::vector{x}, index, shift, span); }

Tensor Ops::concat_rows(std::vector<Tensor> parts) {
  int rows = 0;
  for (const Tensor& p : parts) rows += p.rows;
  const Tensor first = parts[0];
  return emit(ConcatRows{std::move(parts), temp(rows, first.cols, first.dtype)}).y;
}

void Ops::store(Tensor to, Tensor x) {
  check(to.home == Home::persistent && to.rows == x.rows && to.cols == x.cols,
        "store: into a persistent buffer of equal shape");
  emit(Store{x, to});
}

// ---- choosing tokens

Tensor Ops::argmax(Tensor logits) {
  if (teacher != nullptr) return teacher->best(logits);
  return emit(Argmax{logits, ints(logits.rows)}).y;
}

TopK Ops::top_k(Tensor logits, int k) {
  check(k <= logits.cols, "top_k: no more than there are");
  return emit(TopK{logits, ints(logits.rows, k), temp(logits.rows, k, DType::fp32)});
}

Sample Ops::sample(Tensor logits, const BatchSlots& slots, const Sampling& sampling, int ahead) {
  check(logits.rows == slots.lengths.rows, "sample: one row for each sequence");
  return emit(Sample{logits, slots, sampling, ahead, ints(logits.rows), temp(logits.rows, logits.cols, DType::fp32)});
}

SampleChildren Ops::sample_children(Tensor logits, const BatchSlots& slots, const Sampling& sampling, int ahead,
                                    int draws, bool replaced) {
  check(logits.rows % slots.lengths.rows == 0, "sample_children: as many rows for every sequence");
  return emit(SampleChildren{logits, slots, sampling, ahead, replaced, ints(logits.rows, draws),
                             temp(logits.rows, logits.cols, DType::fp32)});
}

Tensor Ops::map_ids(Tensor ids, Weight offsets) {
  if (teacher != nullptr) return teacher->mapped(ids, offsets);
  Tensor y = ints(ids.rows, ids.cols);
  return emit(MapIds{ids, offsets, y}).y;
}

ExpandTree Ops::expand_tree(const TopK& top, Tensor score, Tensor node, Tensor tree_mask, int width, int keep,
                            int first_node, int tail) {
  const int b = top.ids.rows / width, n = width * top.ids.cols;
  check(keep <= n, "expand_tree: can't keep more than there are candidates");
  return emit(ExpandTree{top.ids, top.log_probs, score, node, tree_mask, width, keep, first_node, tail, ints(b, n),
                         temp(b, n, DType::fp32), ints(b, n), ints(b * keep), ints(b * keep),
                         temp(b * keep, 1, DType::fp32), ints(b * keep), ints(b * keep, tree_mask.cols)});
}

SelectTree Ops::select_tree(std::vector<Tensor> tokens, std::vector<Tensor> scores, std::vector<Tensor> parents,
                            Tensor root, int size, bool by_level) {
  const int n = root.rows * size;
  return emit(SelectTree{std::move(tokens), std::move(scores), std::move(parents), root, size, by_level, ints(n),
                         ints(n), ints(n, (size + 31) / 32)});
}

Tensor Ops::clip_top_k(Tensor log_probs, double top_p, double least_share) {
  const Tensor y = temp(log_probs.rows, log_probs.cols, log_probs.dtype);
  return emit(ClipTopK{log_probs, static_cast<float>(top_p), static_cast<float>(least_share), y}).y;
}

Tensor Ops::walk_candidates(const TopK& top, Tensor gate, Tensor root, Tensor before, Tensor after) {
  const int n = top.ids.rows, k = top.ids.cols;
  check(gate.rows == n && n % root.rows == 0 && before.rows == n * k && after.rows == n * k,
        "walk_candidates: a vector for each candidate");
  check(gate.cols == root.cols && gate.cols == before.cols && gate.cols == after.cols,
        "walk_candidates: vectors of one length");
  return emit(WalkCandidates{top.ids, top.log_probs, gate, root, before, after, ints(n)}).y;
}

FollowPath Ops::follow_path(Tensor last, const Rows& items, const Rows& to, int own) {
  check(items.sequences() == last.rows && to.sequences() == last.rows, "follow_path: one path for each sequence");
  return emit(FollowPath{last, items.cu_seqlens, to.cu_seqlens, items.total, own, ints(to.total), ints(last.rows)});
}

// ---- verification and the cache

VerdictTensors Ops::verdict(int sequences, int depth) {
  const int b = sequences, n = b * (depth + 1);
  return {.path = ints(n), .next = ints(n), .counts = ints(b), .last = ints(b), .last_row = ints(b), .bonus = ints(b)};
}

VerdictTensors Ops::verify_greedy(Tensor predicted, Tensor tokens, Tensor parents, const Rows& rows, int depth) {
  return emit(VerifyGreedy{predicted, tokens, parents, rows.cu_seqlens, depth, verdict(rows.sequences(), depth)})
      .verdict;
}

VerdictTensors Ops::verify_sampled(Tensor logits, Tensor tokens, Tensor parents, const Rows& rows,
                                   std::optional<Tensor> q, AcceptRule rule, const BatchSlots& slots,
                                   const Sampling& sampling, int depth) {
  return emit(VerifySampled{.logits = logits,
                            .tokens = tokens,
                            .parents = parents,
                            .cu_seqlens = rows.cu_seqlens,
                            .q = q,
                            .rule = rule,
                            .slots = slots,
                            .sampling = sampling,
                            .depth = depth,
                            .verdict = verdict(rows.sequences(), depth)})
      .verdict;
}

VerdictTensors Ops::verify_relaxed(Tensor logits, Tensor tokens, Tensor parents, const Rows& rows,
                                   const Sampling& sampling, const Relaxed& rule, int depth) {
  return emit(VerifyRelaxed{.logits = logits,
                            .tokens = tokens,
                            .parents = parents,
                            .cu_seqlens = rows.cu_seqlens,
                            .sampling = sampling,
                            .rule = rule,
                            .depth = depth,
                            .verdict = verdict(rows.sequences(), depth)})
      .verdict;
}

Tensor Ops::force_accepted(Tensor predicted, Tensor tokens, Tensor parents, const Rows& rows, Tensor wanted,
                           int vocabulary) {
  check(wanted.rows == rows.sequences(), "force_accepted: one count for each sequence");
  return emit(ForceAccepted{predicted, tokens, parents, rows.cu_seqlens, wanted, vocabulary, ints(predicted.rows)}).y;
}

void Ops::commit(Cache c, Tensor path, const Rows& rows, const BatchSlots& slots) {
  emit(Commit{path, rows.cu_seqlens, slots.kv_slots, slots.lengths, c});
}

void Ops::advance(Tensor lengths, Tensor counts) { emit(Advance{counts, lengths}); }

}  // namespace draftline
