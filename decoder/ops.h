// SPDX-License-Identifier: Apache-2.0
// Ops: the recorder that networks and methods talk to. It checks shapes, gives out handles and appends to the tape; a
// Backend interprets the tape. What steers the host goes through decide() alone, so that a run can be priced from a script.
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

class Ops {
 public:
  // `seats`: most sequences that may sit at once. `activations`: format of what networks compute. `places`: of those seats
  // that have caches of their own; 0: all.
  Ops(Backend&, DType activations, int seats, int places = 0);
  DType activations() const { return activations_; }

  // ---- memory
  Tensor slot(const std::string& name, int rows, int cols, DType);  // same name and shape: same slot, so tapes repeat
  Tensor seat_slot(const std::string& name, int rows, int cols, DType);  // `rows` for every seat: follows its sequence
  void move_seat(int from, int to);
  // Part of a plan: content-addressed, uploaded once. `times` repeats the values.
  Tensor constant(const std::vector<int>& values, int cols = 1, int times = 1);
  Tensor input(const std::string& name, std::span<const int> data);  // host data: changes, the tape does not
  Tensor upload(Tensor slot, std::span<const int> data);
  Rows uniform(int sequences, int rows_each);
  Rows ragged(const std::string& name, const std::vector<int>& each);
  Cache cache(int layers, int kv_heads, int head_dim, int capacity);
  PassRef pass(Pass);

  // ---- networks
  Tensor embed(Weight table, Tensor ids);
  Tensor linear(Tensor x, Weight w, std::optional<Weight> bias = {});
  Tensor rms_norm(Tensor x, Weight w, float epsilon, int width = 0);  // width 0: the whole row
  AddRmsNorm add_rms_norm(Tensor h, Tensor delta, Weight w, float epsilon);
  Tensor layer_norm(Tensor x, Weight w, Weight bias, float epsilon);
  Tensor add(Tensor a, Tensor b);
  Tensor silu_mul(Tensor gate_up);
  Tensor silu_add(Tensor a, Tensor b);
  Tensor gelu(Tensor x);
  Tensor cosine_gate(Tensor q, Tensor k, Tensor v, int head_dim);
  Tensor mixture_of_experts(Tensor x, Weight router, Weight gate_up, Weight down, const Experts&);
  Tensor rope_append(Tensor q, Tensor k, Tensor v, const Rope&, PassRef, Cache, int layer);
  Tensor attend(Tensor q, PassRef, Cache, int layer);
  Tensor group_attend(Tensor q, Tensor k, Tensor v, int group, int head_dim, bool causal = false);
  Tensor sum_over_ranks(Tensor y, int ranks);  // in place; no op on one rank

  // ---- data movement
  Tensor gather(std::vector<Tensor> parts, std::optional<Tensor> index = {}, int shift = 0, int span = 1);
  Tensor gather(Tensor x, Tensor index, int shift = 0, int span = 1);
  Tensor concat_rows(std::vector<Tensor> parts);
  void store(Tensor slot, Tensor x);

  // ---- choosing tokens
  Tensor argmax(Tensor logits);
  TopK top_k(Tensor logits, int k);
  Sample sample(Tensor logits, const Seats&, const Sampling&, int ahead);
  SampleChildren sample_children(Tensor logits, const Seats&, const Sampling&, int ahead, int draws, bool replaced);
  Tensor map_ids(Tensor ids, Weight offsets);
  ExpandTree expand_tree(const TopK&, Tensor score, Tensor node, Tensor tree_mask, int width, int keep, int first_node,
                         int tail);
  SelectTree select_tree(std::vector<Tensor> tokens, std::vector<Tensor> scores, std::vector<Tensor> parents,
                         Tensor root, int size, bool by_level = false);
  Tensor clip_top_k(Tensor log_probs, double top_p, double least_share);

  // ---- verification and the cache
  VerifyGreedy verify_greedy(Tensor predicted, Tensor tokens, Tensor parents, const Rows&, int depth);
  VerifySampled verify_sampled(Tensor logits, Tensor tokens, Tensor parents, const Rows&, std::optional<Tensor> q,
                               AcceptRule, const Seats&, const Sampling&, int depth);
  VerifyRelaxed verify_relaxed(Tensor logits, Tensor tokens, Tensor parents, const Rows&, const Sampling&,
                               const Relaxed&, int depth);
  Tensor force_accepted(Tensor predicted, Tensor tokens, Tensor parents, const Rows&, Tensor wanted, int vocabulary);
  void commit(Cache, Tensor path, const Rows&, const Seats&);
  void advance(Tensor lengths, Tensor counts);

  // ---- the host's side
  // A value may steer the host only here: live it is read and judged, priced it is the next answer of the script, and
  // past the script's end the usual one.
  using Rule = std::function<std::vector<int>(std::span<const int>)>;
  std::vector<int> decide(std::optional<Tensor> slot, const Rule&, const std::vector<int>& usual);
  std::vector<int> fetch(Tensor slot);                       // text only: never steers ops
  void flush(bool waits = true);                             // ends a segment: one tape, one host read
  void follow(const std::vector<std::vector<int>>* script);  // from its first answer; null: live
  const std::vector<std::vector<int>>& answers() const {
    return answers_;
  }  // of all decide() calls: what a trace records

  Phase phase = Phase::verify;                        // of the ops recorded next
  std::function<void(const SegmentRun&)> on_segment;  // told of every finished segment
  // While a trace is recorded, a teacher gives the drafts: they stand in for a draft's best token and for its id in the
  // target. It may lay the rows of a pass elsewhere.
  struct Teacher {
    virtual ~Teacher() = default;
    virtual Tensor best(Tensor logits) = 0;
    virtual Tensor mapped(Tensor ids, Weight offsets) = 0;
    virtual Pass pass(Pass p) { return p; }
  };
  Teacher* teacher = nullptr;
  const std::vector<Cache>& caches() const { return caches_; }
  std::size_t distinct_tapes() const { return tapes_.size(); }
  // Drops tapes and constants, so that recording many plans needs no more memory than one. What was recorded so far can't be
  // run or priced any more; slots stay with the backend: for the interpreter that has none.
  void forget();

 private:
  Tensor make_slot(int rows, int cols, DType, std::span<const int> initial);
  Tensor temp(int rows, int cols, DType);
  Tensor temp(int rows, int cols) { return temp(rows, cols, activations_); }
  Tensor ints(int rows, int cols = 1) { return temp(rows, cols, DType::int32); }
  template <class T>
  const T& emit(T op);
  void check_uploads() const;

  Backend& backend_;
  DType activations_;
  int seats_, places_, epoch_ = 0, slots_ = 0;
  Tape tape_;
  TapeHasher hasher_;
  std::vector<Cache> caches_;
  std::map<std::string, std::pair<Tensor, int>> seat_slots_;
  std::map<std::tuple<std::string, int, int>, Tensor> named_;
  std::map<std::tuple<std::vector<int>, int, int>, Tensor> constants_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Tape>> tapes_;
  const std::vector<std::vector<int>>* script_ = nullptr;
  std::size_t next_answer_ = 0;
  std::vector<std::vector<int>> answers_;
};

}  // namespace draftline
