// SPDX-License-Identifier: Apache-2.0
#include "decoder/ops.h"

#include <algorithm>
#include <utility>

#include "core/int_indexed.h"
#include "decoder/ops_emit.h"

namespace draftline {

Ops::Ops(Backend& backend, DType activations, int slots, std::optional<int> kv_slots, std::optional<DType> cache)
    : backend_(backend),
      activations_(activations),
      cache_format_(cache.value_or(activations)),
      slots_(slots),
      kv_slots_(kv_slots.value_or(slots)) {}

Tensor Ops::make_persistent(int rows, int cols, DType dtype, std::span<const int> initial) {
  const Tensor t{rows, cols, cols, 0, persistent_count_++, 0, Home::persistent, dtype};
  backend_.make_persistent(t, initial);
  return t;
}

Tensor Ops::temp(int rows, int cols, DType dtype) {
  const Tensor t{rows, cols, cols, 0, count(tape_.temps), epoch_, Home::temp, dtype};
  tape_.temps.push_back(t);
  return t;
}

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
    tiled.reserve(values.size() * at(times));
    for (int i = 0; i < times; ++i) tiled.insert(tiled.end(), values.begin(), values.end());
    it->second = make_persistent(count(tiled) / cols, cols, DType::int32, tiled);
  }
  return it->second;
}

Tensor Ops::input(const std::string& name, std::span<const int> data) {
  return upload(persistent(name, count(data), 1, DType::int32), data);
}

Tensor Ops::upload(Tensor to, std::span<const int> data) {
  check(to.values() == data.size(), "upload: as many values as the buffer holds");
  backend_.stage(data);
  emit(Upload{to});
  return to;
}

Rows Ops::uniform(int sequences, int rows_each) {
  std::vector<int> cu_seqlens;
  for (int b = 0; b <= sequences; ++b) cu_seqlens.push_back(b * rows_each);
  return {std::vector<int>(at(sequences), rows_each), constant(cu_seqlens), sequences * rows_each, rows_each};
}

Rows Ops::ragged(const std::string& name, const std::vector<int>& each) {
  std::vector<int> cu_seqlens{0};
  for (const int n : each) cu_seqlens.push_back(cu_seqlens.back() + n);
  return {each, input(name, cu_seqlens), cu_seqlens.back(), *std::max_element(each.begin(), each.end())};
}

Cache Ops::cache(int layers, int kv_heads, int head_dim, int capacity, Window window, std::optional<int> value_dim) {
  const int id = count(caches_);
  return make_cache({id, layers, kv_heads, head_dim, value_dim.value_or(head_dim), cache_format_, window}, capacity);
}

Cache Ops::latent_cache(int layers, const LatentAttention& l, bool indexed, int capacity) {
  const int columns = l.kv_rank + l.rope_dim, id = count(caches_);
  const auto indexer = indexed ? l.indexer : std::nullopt;
  return make_cache({id, layers, 1, columns, l.kv_rank, cache_format_, {}, l.kv_rank, indexer}, capacity);
}

Cache Ops::cache_of(Cache form, int capacity) {
  form.id = count(caches_);
  form.dtype = cache_format_;
  return make_cache(form, capacity);
}

Cache Ops::make_cache(const Cache& c, int capacity) {
  caches_.push_back(c);
  backend_.make_cache(c, kv_slots_, capacity);
  return c;
}

StateCache Ops::state_cache(int layers, const StateForm& form, int states) {
  const StateCache c{count(state_caches_), layers, states, form, activations_};
  state_caches_.push_back(c);
  backend_.make_state_cache(c, kv_slots_);
  return c;
}

PassRef Ops::pass(Pass p) {
  if (teacher != nullptr) p = teacher->pass(std::move(p));
  hasher_(p);
  tape_.passes.push_back(std::move(p));
  return {count(tape_.passes) - 1, epoch_};
}

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

ExpandTree Ops::expand_tree(const TopK& top, const TreeFrontier& frontier, const TreeGrowth& growth) {
  const auto& [score, node, tree_mask] = frontier;
  const auto& [width, keep, first_node, tail] = growth;
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
  return emit(ClipTopK{log_probs, single(top_p), single(least_share), y}).y;
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

VerdictTensors Ops::verdict(int sequences, int depth) {
  const int b = sequences, n = b * (depth + 1);
  return {.path = ints(n), .next = ints(n), .counts = ints(b), .last = ints(b), .last_row = ints(b), .bonus = ints(b)};
}

VerdictTensors Ops::verify_greedy(Tensor predicted, const DraftRows& v) {
  return emit(VerifyGreedy{predicted, v.tokens, v.parents, v.rows.cu_seqlens, v.depth,
                           verdict(v.rows.sequences(), v.depth)})
      .verdict;
}

VerdictTensors Ops::verify_sampled(Tensor logits, const DraftRows& v, std::optional<Tensor> q, AcceptRule rule,
                                   const BatchSlots& slots, const Sampling& sampling) {
  const VerdictTensors y = verdict(v.rows.sequences(), v.depth);
  return emit(VerifySampled{logits, v.tokens, v.parents, v.rows.cu_seqlens, q, rule, slots, sampling, v.depth, y})
      .verdict;
}

VerdictTensors Ops::verify_relaxed(Tensor logits, const DraftRows& v, const Sampling& sampling, const Relaxed& rule) {
  const VerdictTensors y = verdict(v.rows.sequences(), v.depth);
  return emit(VerifyRelaxed{logits, v.tokens, v.parents, v.rows.cu_seqlens, sampling, rule, v.depth, y}).verdict;
}

Tensor Ops::force_accepted(Tensor predicted, const DraftRows& v, Tensor wanted, int vocabulary) {
  check(wanted.rows == v.rows.sequences(), "force_accepted: one count for each sequence");
  return emit(
             ForceAccepted{predicted, v.tokens, v.parents, v.rows.cu_seqlens, wanted, vocabulary, ints(predicted.rows)})
      .y;
}

void Ops::commit(Cache c, Tensor path, const Rows& rows, const BatchSlots& slots) {
  emit(Commit{path, rows.cu_seqlens, slots.kv_slots, slots.lengths, c});
}

void Ops::commit_states(const StateCache& c, Tensor path, Tensor counts, const Rows& rows, const BatchSlots& slots) {
  emit(CommitStates{path, counts, rows.cu_seqlens, slots.kv_slots, slots.lengths, c});
}

void Ops::keep_entries(Cache from, Cache to, Tensor last, const Rows& rows, const BatchSlots& slots) {
  check(to.window.ring && to.layers == from.layers && to.columns() == from.columns() && to.dtype == from.dtype,
        "keep_entries: into a ring of layers of the same shape");
  check(rows.prompts || rows.widest <= to.window.tokens - to.window.sinks, "keep_entries: a ring with room for a step");
  const int per = std::min(rows.widest, to.window.tokens);
  emit(KeepEntries{last, rows.cu_seqlens, slots.kv_slots, slots.lengths, from, to, per});
}

void Ops::advance(Tensor lengths, Tensor counts) { emit(Advance{counts, lengths}); }

}  // namespace draftline
