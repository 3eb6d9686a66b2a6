// SPDX-License-Identifier: Apache-2.0
// The op vocabulary of networks and methods: one struct per op, with its shapes in the comment. Hashing, liveness and
// byte counts all read the struct's FIELDS list; its `key` is its name in engine profiles. What an op costs is decided
// by decoder/op_work alone. n counts rows, B sequences.
#pragma once
#include <string_view>
#include <variant>

#include "decoder/network_op.h"
#include "decoder/sampling.h"

namespace draftline {

// ---- data movement
// Puts the parts' columns side by side and takes, for each index, the `span` rows from index + shift on: [index * span,
// sum of columns]. No index: all rows.
struct Gather {
  static constexpr std::string_view key = "gather";
  std::vector<Tensor> parts;
  std::optional<Tensor> index;
  int shift, span;
  Out y;
  FIELDS(parts, index, shift, span, y)
};
struct ConcatRows {
  static constexpr std::string_view key = "concat_rows";
  std::vector<Tensor> parts;
  Out y;
  FIELDS(parts, y)
};
struct Store {  // into a persistent buffer
  static constexpr std::string_view key = "store";
  Tensor x;
  Out to;
  FIELDS(x, to)
};
struct Upload {  // copies data from the host; they are no part of the tape
  static constexpr std::string_view key = "upload";
  Out to;
  FIELDS(to)
};

// ---- choosing tokens
struct Argmax {  // [n, vocabulary] -> [n]; ties: lowest id
  static constexpr std::string_view key = "argmax";
  Tensor x;
  Out y;
  FIELDS(x, y)
};
struct TopK {  // [n, vocabulary] -> ids, log-probabilities [n, k], best first
  static constexpr std::string_view key = "top_k";
  Tensor logits;
  Out ids, log_probs;
  FIELDS(logits, ids, log_probs)
};
struct Sample {  // draws from the warped distribution: [n, vocabulary] -> tokens [n], q [n, vocabulary]
  static constexpr std::string_view key = "sample";
  Tensor logits;
  BatchSlots slots;  // row r belongs to sequence r
  Sampling sampling;
  int ahead;  // text position = length + ahead
  Out tokens, q;
  FIELDS(logits, slots, sampling, ahead, tokens, q)
};
struct SampleChildren {  // draws several tokens from each row: [n, vocabulary] -> tokens [n, draws], q [n, vocabulary]
  static constexpr std::string_view key = "sample";
  Tensor logits;
  BatchSlots slots;  // n is a multiple of B: the nodes of one level of a tree
  Sampling sampling;
  int ahead;
  bool replaced;  // with replacement; without it no token comes twice, and if there are too few the last repeats
  Out tokens, q;
  FIELDS(logits, slots, sampling, ahead, replaced, tokens, q)
};
struct MapIds {  // maps ids of a draft vocabulary to those of the target: y = id + offset[id]
  static constexpr std::string_view key = "map_ids";
  Tensor ids;
  Weight offsets;
  Out y;
  FIELDS(ids, offsets, y)
};
// Log-probabilities [n, k], best first: those behind the nucleus (top_p) or below `least_share` of the first become
// -infinity.
struct ClipTopK {
  static constexpr std::string_view key = "clip_top_k";
  Tensor log_probs;
  float top_p, least_share;
  Out y;
  FIELDS(log_probs, top_p, least_share, y)
};
// Walks each sequence's candidates from slot to slot: candidate c scores its log-probability plus the inner product of
// before (of the candidate taken in the slot before, or of the root) * gate and after (of c); the best is taken. n
// slots of all sequences, r columns: ids, log_probs [n, k]; gate [n, r]; root [B, r]; before, after [n * k, r] -> [n]
struct WalkCandidates {
  static constexpr std::string_view key = "walk_candidates";
  Tensor ids, log_probs, gate, root, before, after;
  Out y;
  FIELDS(ids, log_probs, gate, root, before, after, y)
};
struct ExpandTree {  // one level of a dynamic tree; all counts static, the topology is data
  static constexpr std::string_view key = "expand_tree";
  Tensor ids, log_probs;              // [B * width, k]
  Tensor score, node, tree_mask;      // [B * width] of the frontier; tree_mask [B * width, words]
  int width, keep, first_node, tail;  // frontier; next frontier; pool index of candidate 0; tail entry of row 0
  Out tokens, scores, parents;        // the candidates: [B, width * k]
  Out row, token, next_score, next_node, next_tree_mask;  // the next frontier: [B * keep], tree_mask [B * keep, words]
  FIELDS(ids, log_probs, score, node, tree_mask, width, keep, first_node, tail, tokens, scores, parents, row, token,
         next_score, next_node, next_tree_mask)
};
struct SelectTree {  // selects the rows to verify: the root and the best size - 1 candidates of all levels
  static constexpr std::string_view key = "select_tree";
  std::vector<Tensor> tokens, scores, parents;
  Tensor root;
  int size;
  bool by_level;  // upper levels first and none of score -infinity; rows that are left of `size` are no nodes
  Out y, parent, tree_mask;  // [B * size], [B * size], [B * size, words]
  FIELDS(tokens, scores, parents, root, size, by_level, y, parent, tree_mask)
};

// The rows that a drafter reads behind an accepted path, as indices into [items; own rows; filler]: `items` rows of the
// paths of all sequences, `own` rows of each sequence, and one more. The rows of sequence b are its items up to
// last[b], its own rows, and the filler as often as there is room.
struct FollowPath {
  static constexpr std::string_view key = "follow_path";
  Tensor last, cu_seqlens, to;  // [B]: an index into the items; rows before each sequence, of the items and of y
  int items, own;
  Out y, newest;  // [rows of y]; [B]: the row of y before the first filler
  FIELDS(last, cu_seqlens, to, items, own, y, newest)
};

// ---- verification and the cache. parents: a row of the same sequence, -1 for the root, -2 for a mask row (not a node)
// What every verify op writes for B sequences. `path`: rows of the pass that are accepted, `next`: the token after
// each, both [B * (depth + 1)], where padding repeats the last. `counts`: tokens emitted, the bonus token included;
// `last`: index of the last row in `path` that is no padding; `last_row`: that row of the pass; `bonus`: the new root;
// [B] each.
struct VerdictTensors {
  Out path, next, counts, last, last_row, bonus;
};
#define VERDICT verdict.path, verdict.next, verdict.counts, verdict.last, verdict.last_row, verdict.bonus
struct VerifyGreedy {
  static constexpr std::string_view key = "verify_greedy";
  Tensor predicted, tokens, parents, cu_seqlens;
  int depth;
  VerdictTensors verdict;
  FIELDS(predicted, tokens, parents, cu_seqlens, depth, VERDICT)
};
// q [drafts, vocabulary]: the warped distributions from which rows 1.. of each sequence were drawn. None: point masses.
struct VerifySampled {
  static constexpr std::string_view key = "verify_sampled";
  Tensor logits, tokens, parents, cu_seqlens;
  std::optional<Tensor> q;
  AcceptRule rule;
  BatchSlots slots;
  Sampling sampling;
  int depth;
  VerdictTensors verdict;
  FIELDS(logits, tokens, parents, cu_seqlens, q, rule, slots, sampling, depth, VERDICT)
};
struct VerifyRelaxed {  // lossy: typical acceptance, a limit of loss
  static constexpr std::string_view key = "verify_relaxed";
  Tensor logits, tokens, parents, cu_seqlens;
  Sampling sampling;
  Relaxed rule;
  int depth;
  VerdictTensors verdict;
  FIELDS(logits, tokens, parents, cu_seqlens, sampling, rule, depth, VERDICT)
};
// Serves measurements alone: replaces the target's choices [n] -> [n] so that greedy verification accepts a path of
// `wanted` rows, or the deepest there is. Rows that are no nodes keep the target's choice.
struct ForceAccepted {
  static constexpr std::string_view key = "force_accepted";
  Tensor predicted, tokens, parents, cu_seqlens, wanted;  // wanted [B]: tokens to emit, the bonus token included
  int vocabulary;
  Out y;
  FIELDS(predicted, tokens, parents, cu_seqlens, wanted, vocabulary, y)
};
struct Commit {  // moves the accepted rows of the tail, `path`, to entries length, length + 1, ... in every layer
  static constexpr std::string_view key = "commit";
  Tensor path, cu_seqlens, kv_slots, lengths;
  Cache cache;
  FIELDS(path, cu_seqlens, kv_slots, lengths, cache)
};
// Copies the newest committed entries of every layer into a cache that is a ring: of each sequence those of the rows
// `cu_seqlens[b]` .. `last[b]` of its path, which begin at the committed length. `rows`: entries that are copied of
// each sequence; of fewer the last is copied again, and of more the ring's sinks and the last ones.
struct KeepEntries {
  static constexpr std::string_view key = "commit";
  Tensor last, cu_seqlens, kv_slots, lengths;  // [B], [B + 1], [B], [B]
  Cache from, to;
  int rows;
  FIELDS(last, cu_seqlens, kv_slots, lengths, from, to, rows)
};
// Fills one layer of a ring with the entries of whole prompts to which their last `window` rows attend most, and with
// these rows' own (SnapKV, Li et al. 2024, algorithm 1): of each KV head, by the weights of all its queries, added up
// and then averaged over `pool` neighbours. q: rotated, [n, heads * dim]. The best stay longest when others come.
struct SelectEntries {
  static constexpr std::string_view key = "select_entries";
  Tensor q;
  PassRef pass;
  Cache from, to;
  int layer, window, pool;
  float scale;  // of q against keys
  FIELDS(q, pass, from, to, layer, window, pool, scale)
};
struct Advance {  // lengths += counts; the last op of a step
  static constexpr std::string_view key = "advance";
  Tensor counts;
  Out lengths;
  FIELDS(counts, lengths)
};
#undef VERDICT
#undef FIELDS

}  // namespace draftline
