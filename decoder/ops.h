// SPDX-License-Identifier: Apache-2.0
// Ops: the recorder that networks and methods call. It checks shapes, returns handles and appends to the tape; a
// Backend interprets the tape. Values affect the host's control flow only through decide(), so that a run can be priced
// from a script.
#pragma once
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "decoder/backend.h"

namespace draftline {

// The frontier of a dynamic tree (ExpandTree).
struct TreeFrontier {
  Tensor score, node, tree_mask;
};
struct TreeGrowth {
  int width, keep, first_node, tail;
};
// Rows to verify: tokens, parents [n]; depth: drafts on the longest path.
struct DraftRows {
  Tensor tokens, parents;
  const Rows& rows;
  int depth;
};

class Ops {
 public:
  // `activations`: the format in which networks compute. `slots`: batch slots, the most concurrent sequences.
  // `kv_slots`: KV slots of each cache; none: the number of batch slots. `cache`: the format of keys and values; none:
  // activations'.
  Ops(Backend&, DType activations, int slots, std::optional<int> kv_slots = {}, std::optional<DType> cache = {});
  DType activations() const { return activations_; }

  // ---- memory
  // A persistent buffer [rows, cols]; equal name and shape give the same buffer, so that tapes repeat.
  Tensor persistent(const std::string& name, int rows, int cols, DType);
  // A persistent buffer with `rows` rows for every batch slot, which follow its sequence when it moves.
  Tensor persistent_per_slot(const std::string& name, int rows, int cols, DType);
  void move_slot(int from, int to);
  // A constant of a plan, identified by its content and uploaded once. `times` repeats the values.
  Tensor constant(const std::vector<int>& values, int cols = 1, int times = 1);
  Tensor input(const std::string& name, std::span<const int> data);  // host data, which do not affect the tape
  Tensor upload(Tensor to, std::span<const int> data);
  Rows uniform(int sequences, int rows_each);
  Rows ragged(const std::string& name, const std::vector<int>& each);
  // value_dim: none: equal to head_dim
  Cache cache(int layers, int kv_heads, int head_dim, int capacity, Window = {}, std::optional<int> value_dim = {});
  // A cache of latents, each with the shared key and, if `indexed`, the indexer's key.
  Cache latent_cache(int layers, const LatentAttention&, bool indexed, int capacity);
  Cache cache_of(Cache form, int capacity);  // of this form, in the format of the KV cache
  // A cache of the states of recurrent layers. `states`: the number per sequence, one more than the rows of its widest
  // pass other than prompts.
  StateCache state_cache(int layers, const StateForm&, int states);
  PassRef pass(Pass);
  const Rows& rows(PassRef p) const { return tape_.pass(p).rows; }
  int sequences(PassRef p) const { return rows(p).sequences(); }
  const Pass& details(PassRef p) const { return tape_.pass(p); }  // valid until the next pass is made

  // ---- networks. Shapes are [rows, columns]; n: rows of all sequences together, B: sequences
  Tensor embed(Weight table, Tensor ids, double scale = 1);  // ids [n] -> [n, hidden]
  // [n, in] x [in, out] (+ bias [1, out]) -> [n, out], with x quantised first if the weight's format requires it; Bug
  // if x does not have `in` columns or bias does not have `out`
  Tensor linear(Tensor x, Weight w, std::optional<Weight> bias = {});
  // [n, c] -> [n, c], for each group of `width` columns (0: the row); no w: ones. Bug if width does not divide c or if
  // w is not [1, c or width]
  Tensor rms_norm(Tensor x, std::optional<Weight> w, float epsilon, int width = 0);
  // [n, c] + [n, c] -> sum, y [n, c]; Bug if shapes differ
  AddRmsNorm add_rms_norm(Tensor h, Tensor delta, Weight w, float epsilon);
  Tensor layer_norm(Tensor x, Weight w, Weight bias, float epsilon);  // [n, c] -> [n, c]
  Tensor add(Tensor a, Tensor b);                                     // [n, c] + [n, c] -> [n, c]; Bug if shapes differ
  Tensor silu_mul(Tensor gate_up);                                    // [n, 2f] -> [n, f]
  Tensor gelu_mul(Tensor gate_up);                                    // [n, 2f] -> [n, f]
  Tensor silu_add(Tensor a, Tensor b);                                // a + silu(b): [n, c] each; Bug if shapes differ
  Tensor gelu(Tensor x);                                              // [n, c] -> [n, c]
  Tensor squared_relu(Tensor x);                                      // [n, c] -> [n, c]: max(x, 0)^2
  // [n, heads * head_dim] each -> the same; Bug if columns differ or head_dim does not divide them
  Tensor cosine_gate(Tensor q, Tensor k, Tensor v, int head_dim);
  // [n, c] x [n, c] or [n, 1] -> [n, c]; Bug if the gate has another shape
  Tensor sigmoid_mul(Tensor x, Tensor gate);
  Tensor add_scaled(Tensor a, Tensor b, Weight scale);  // [n, c] twice, [1, 1] -> [n, c]; Bug if shapes differ
  Tensor soft_cap(Tensor x, double cap);                // [n, c] -> the same: cap * tanh(x / cap)
  // input [n, 3c], gates [n, 3c] and state [n, c], or neither -> [n, c]; Bug if shapes differ
  Tensor gru_cell(Tensor input, std::optional<Tensor> gates, std::optional<Tensor> state);
  // x [n, c], delta [n, taps * groups], base [taps, c] -> [n, c]; Bug if `block` does not divide n, or groups c
  Tensor grouped_conv(Tensor x, Tensor delta, Weight base, int block);
  // [n, c] -> [n, c]; Bug if the router is not [c, experts]. `routed`: the router's input, of its own columns; none: x.
  // `sequences`: the number of sequences of the rows, if known; it affects the op's cost, not its result.
  Tensor mixture_of_experts(Tensor x, const ExpertWeights&, const Experts&, MlpKind gate = MlpKind::gated_silu,
                            int sequences = 0, std::optional<Tensor> routed = {});
  // q [n, heads * head_dim] -> the same, rotated; k [n, kv_heads * head_dim] and v [n, kv_heads * value_dim] are stored
  // in the cache. Bug if n is not the pass's total.
  Tensor rope_append(Tensor q, Tensor k, Tensor v, const Rope&, const LayerPass&);
  // Only the rotation, by a row's position; `cache`: a cache with the heads of q.
  Tensor rotate(Tensor q, const Rope&, PassRef, Cache cache);
  // Stores the rotated k and v in the cache like rope_append(), without queries.
  void append(Tensor k, Tensor v, const Rope&, const LayerPass&);
  // q [n, heads * head_dim] x the cache -> [n, heads * value_dim]; sinks [1, heads]; scale: none: 1 / sqrt(head_dim).
  // Bug if n is not the pass's total, or if the number of sinks is not that of the heads
  Tensor attend(Tensor q, const LayerPass&, std::optional<double> scale = {}, std::optional<Weight> sinks = {});
  // Latent attention (decoder/op/latent_attention.h). Bug if columns do not match the dimensions or rows the pass.
  LatentAppend latent_append(Tensor q, Tensor latent, Tensor shared_key, const LatentAttention&, const Rope&,
                             const LayerPass&);
  Tensor absorb_queries(Tensor q, Weight kv_b, const LatentAttention&);
  Tensor expand_values(Tensor x, Weight kv_b, const LatentAttention&);
  Tensor latent_attend(Tensor q, Tensor q_rope, float scale, const LayerPass&, std::optional<Tensor> tokens = {});
  Tensor index_append(Tensor q, Tensor k, const Rope&, const LayerPass&);
  Tensor select_tokens(Tensor q, Tensor weights, const LayerPass&);
  Tensor expanded_attend(Tensor q, Tensor kv, const LatentAppend& rotated, float scale, PassRef);  // for whole prompts
  // [n, heads * head_dim] each -> the same; Bug if `group` does not divide n
  Tensor group_attend(Tensor q, Tensor k, Tensor v, int group, int head_dim, bool causal = false);
  // [n, c] each -> [n, c], each `width` columns alone; Bug if shapes differ or w is no [1, c or width]
  Tensor gated_rms_norm(Tensor x, Tensor gate, const GatedNorm&);
  // [n, convolved columns] -> the same; InputErrors if a sequence has more rows than states are kept for
  Tensor convolve(Tensor x, Weight w, const StatePass&, std::optional<Weight> bias = {});
  // [n, convolved columns], [n, heads + decays] -> [n, value columns]; decays: heads, or all columns of their keys.
  // InputErrors as of convolve(). Bug if shapes differ.
  Tensor gated_delta_rule(Tensor qkv, Tensor gates, Weight a_log, Weight dt_bias, const StatePass&);
  // [n, convolved columns], [n, heads] -> [n, value columns]; errors as of gated_delta_rule(). `chunk`: rows of a chunk
  // of prompts; it affects the op's cost, not its result.
  Tensor selective_scan(Tensor xbc, Tensor steps, const ScanWeights&, int chunk, const StatePass&);
  Tensor sum_over_ranks(Tensor y, int ranks);     // [n, c], in place; records nothing for one rank
  Tensor gather_over_ranks(Tensor x, int ranks);  // [n, c] -> [n, c * ranks]; records nothing for one rank
  // [n, c] -> [n * ranks, c]: sends the rows of all devices to their experts, by all_gather or all_to_all with `copies`
  // of each row; and the reverse, by reduce_scatter or all_to_all. Priced only. Bug if the ranks don't divide combined
  // rows.
  Tensor dispatch_rows(Tensor x, Collective, int ranks, double copies);
  Tensor combine_rows(Tensor x, Collective, int ranks, double copies);

  // A kernel that no backend computes; its result has the rows of op.y, and so many columns.
  Tensor priced_alone(PricedAlone op, int columns);

  // ---- data movement
  // Parts [n, c_i] concatenated by columns, rows index + shift .. + span -> [index.rows * span, sum of c_i]; no index:
  // all rows
  Tensor gather(std::vector<Tensor> parts, std::optional<Tensor> index = {}, int shift = 0, int span = 1);
  Tensor gather(Tensor x, Tensor index, int shift = 0, int span = 1);
  Tensor concat_rows(std::vector<Tensor> parts);  // [n_i, c] -> [sum of n_i, c]
  void store(Tensor to, Tensor x);                // [n, c] -> the same; Bug if `to` is not persistent

  // ---- choosing tokens
  Tensor argmax(Tensor logits);      // [n, vocabulary] -> [n]
  TopK top_k(Tensor logits, int k);  // [n, vocabulary] -> ids, log-probabilities [n, k]; Bug if k > vocabulary
  // [B, vocabulary] -> tokens [B], q [B, vocabulary]; Bug unless there is one row per sequence
  Sample sample(Tensor logits, const BatchSlots&, const Sampling&, int ahead);
  // [n, vocabulary] -> tokens [n, draws], q [n, vocabulary]; Bug if n is not a multiple of B
  SampleChildren sample_children(Tensor logits, const BatchSlots&, const Sampling&, int ahead, int draws,
                                 bool replaced);
  Tensor map_ids(Tensor ids, Weight offsets);  // [n, c] -> [n, c]
  // Candidates of `top` [B * width, k] and a frontier [B * width] -> pool [B, width * k], next frontier [B * keep]; Bug
  // if keep > width * k
  ExpandTree expand_tree(const TopK&, const TreeFrontier&, const TreeGrowth&);
  // Pools of all levels, root [B] -> tokens, parents [B * size], tree mask [B * size, words]
  SelectTree select_tree(std::vector<Tensor> tokens, std::vector<Tensor> scores, std::vector<Tensor> parents,
                         Tensor root, int size, bool by_level = false);
  Tensor clip_top_k(Tensor log_probs, double top_p, double least_share);  // [n, k] -> [n, k]
  // Candidates [n, k] of n slots, gate [n, r], root [B, r], before and after [n * k, r] -> [n]; Bug if shapes differ
  Tensor walk_candidates(const TopK&, Tensor gate, Tensor root, Tensor before, Tensor after);
  // last [B] of paths in rows `items` -> y [to.total], newest [B]; Bug if the numbers of sequences differ
  FollowPath follow_path(Tensor last, const Rows& items, const Rows& to, int own);

  // ---- verification and the cache
  // predicted [n] -> VerdictTensors
  VerdictTensors verify_greedy(Tensor predicted, const DraftRows&);
  // logits [n, vocabulary], q [n - B, vocabulary] -> VerdictTensors
  VerdictTensors verify_sampled(Tensor logits, const DraftRows&, std::optional<Tensor> q, AcceptRule, const BatchSlots&,
                                const Sampling&);
  // logits [n, vocabulary] -> VerdictTensors
  VerdictTensors verify_relaxed(Tensor logits, const DraftRows&, const Sampling&, const Relaxed&);
  // predicted [n], wanted [B] -> [n]; Bug unless `wanted` has one count per sequence
  Tensor force_accepted(Tensor predicted, const DraftRows&, Tensor wanted, int vocabulary);
  // path [B * (depth + 1)]: the rows of the tail to keep
  void commit(Cache, Tensor path, const Rows&, const BatchSlots&);
  // Likewise of a tree's states: path [B * (depth + 1)], of which counts [B] rows were accepted.
  void commit_states(const StateCache&, Tensor path, Tensor counts, const Rows&, const BatchSlots&);
  void advance(Tensor lengths, Tensor counts);  // [B] += [B]
  // Copies the newest committed entries of `from`, rows up to last [B] of a path, to the ring `to` before lengths
  // advance; after a prefill only as many as fit. Bug if `to` is not a ring of such layers or is too small for a step.
  void keep_entries(Cache from, Cache to, Tensor last, const Rows&, const BatchSlots&);
  // q [n, heads * head_dim] for whole prompts; scale: none: 1 / sqrt(head_dim). Bug if the ring holds at most `window`
  // entries, has sinks, or holds latents.
  void select_entries(Tensor q, const LayerPass& from, Cache to, int window, int pool,
                      std::optional<double> scale = {});

  // ---- the host's side
  // The only place where a value may affect the host's control flow. In a live run the value is read and the rule
  // applied; in a priced run the result is the next answer of the script, and after the script's end the usual answer.
  using Rule = std::function<std::vector<int>(std::span<const int>)>;
  // Notes that the host looks drafts up before the segment, in so many texts and suffix trees, which takes host time.
  void look_up(int texts, int trees);
  std::vector<int> decide(std::optional<Tensor> from, const Rule&, const std::vector<int>& usual);
  std::vector<int> fetch(Tensor from);                       // only for text; must not affect ops
  void flush(bool waits = true);                             // ends a segment: one tape and one host read
  void follow(const std::vector<std::vector<int>>* script);  // from its first answer; null: live
  // The results of all decide() calls, for a trace.
  const std::vector<std::vector<int>>& answers() const { return answers_; }

  Phase phase = Phase::verify;                        // phase of the ops recorded next
  std::function<void(const SegmentRun&)> on_segment;  // called with every finished segment
  // While a trace is recorded, a teacher replaces a draft's best token, and its id in the target, by the given token.
  // It may also change the rows of a pass.
  struct Teacher {
    virtual ~Teacher() = default;
    virtual Tensor best(Tensor logits) = 0;
    virtual Tensor mapped(Tensor ids, Weight offsets) = 0;
    virtual Pass pass(Pass p) { return p; }
  };
  Teacher* teacher = nullptr;
  const std::vector<Cache>& caches() const { return caches_; }
  const std::vector<StateCache>& state_caches() const { return state_caches_; }
  std::size_t distinct_tapes() const { return tapes_.size(); }
  // Drops tapes and constants, so that recording many plans needs no more memory than one plan. Earlier recordings
  // can't be run or priced afterwards. Only for the priced backend, because other backends keep persistent buffers.
  void forget();

 private:
  Tensor make_persistent(int rows, int cols, DType, std::span<const int> initial);
  Cache make_cache(const Cache&, int capacity);
  Tensor temp(int rows, int cols, DType);
  Tensor temp(int rows, int cols) { return temp(rows, cols, activations_); }
  Tensor ints(int rows, int cols = 1) { return temp(rows, cols, DType::int32); }
  VerdictTensors verdict(int sequences, int depth);
  Tensor quantised(Tensor x, const LinearFormat&);
  void check_states(PassRef, const StateCache&) const;
  template <class T>
  const T& emit(T op);
  void check_uploads() const;

  Backend& backend_;
  DType activations_, cache_format_;
  int slots_, kv_slots_, epoch_ = 0, persistent_count_ = 0;
  Tape tape_;
  TapeHasher hasher_;
  std::vector<Cache> caches_;
  std::vector<StateCache> state_caches_;
  std::map<std::string, std::pair<Tensor, int>> per_slot_;
  std::map<std::tuple<std::string, int, int>, Tensor> named_;
  std::map<std::tuple<std::vector<int>, int, int>, Tensor> constants_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Tape>> tapes_;
  const std::vector<std::vector<int>>* script_ = nullptr;
  std::size_t next_answer_ = 0;
  std::vector<std::vector<int>> answers_;
};

}  // namespace draftline
