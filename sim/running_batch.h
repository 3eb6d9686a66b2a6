// SPDX-License-Identifier: Apache-2.0
// The sequences of one server: a request on its way through it, and the batch of those that decode. What changes with
// every step lies in arrays by batch slot, so that many steps of the whole batch are one addition each.
#pragma once
#include <span>
#include <vector>

#include "sim/serving_figures.h"
#include "trace/draft_outcomes.h"

namespace draftline {

struct Sequence {
  ServedRequest record;
  DraftOutcomes::Text text;
  int generated = 0;            // output tokens, when it last joined or left the running batch
  int prefill_tokens = 0;       // its prompt and, after a preemption, the output that is computed again
  int computed = 0;             // of them, tokens whose keys and values are in the KV cache
  int kv_blocks = 0;            // that it holds; while it runs, RunningBatch::kv_blocks says
  int prefix_blocks = 0;        // of its prompt, shared with others
  std::int64_t first_step = 0;  // decode step of the batch at which it joined
  Ticks last_emission = 0;
  bool swapped = false;  // its keys and values are on the host or on another server: nothing is to be computed
};

class RunningBatch {
 public:
  std::size_t size() const { return sequences_.size(); }
  bool empty() const { return sequences_.empty(); }
  std::vector<Sequence>& sequences() { return sequences_; }      // in order of joining
  std::span<const int> lengths() const { return lengths_; }      // tokens in the KV cache, by batch slot
  std::span<const int> remaining() const { return remaining_; }  // output tokens
  std::span<const int> kv_blocks() const { return kv_blocks_; }
  int generated(std::size_t i) const { return sequences_[i].record.request.output - remaining_[i]; }
  std::int64_t context() const { return context_; }  // tokens in the KV cache, of all

  void join(const Sequence&);
  Sequence remove_last();
  void remove_finished(std::vector<Sequence>& finished);  // appends those that have no token left to emit
  void set_kv_blocks(std::size_t i, int blocks) { kv_blocks_[i] = blocks; }
  void exchange_kv_blocks(std::vector<int>& blocks) { kv_blocks_.swap(blocks); }

  // Each sequence emits one token in each of `steps` steps, the last of which ends at `end`.
  void emit(int steps, Ticks end);
  // Each sequence emits its accepted drafts and one token more, but no more than remain.
  void emit_accepted(std::span<const int> accepted, Ticks end);
  int steps_to_first_completion();                        // of one token each; 0: a sequence is finished. Bug if empty
  Ticks last_emission() const { return last_emission_; }  // of the batch: who joined later has its own
  int joined_since_emission() const { return joined_; }

  // A static batch keeps the slots of finished sequences busy until its last one ends: their rows and contexts cost on.
  void keep_slots() { slots_ = static_cast<int>(size()); }
  void release_slots() { slots_ = 0, finished_context_ = 0; }
  int slots() const { return std::max(static_cast<int>(size()), slots_); }
  std::int64_t slot_context() const { return context_ + finished_context_; }

 private:
  std::vector<int> lengths_, remaining_, kv_blocks_;
  std::vector<Sequence> sequences_;
  std::int64_t context_ = 0, finished_context_ = 0;
  std::int64_t steps_ = 0;  // decode steps since the server started
  Ticks last_emission_ = 0;
  int joined_ = 0, slots_ = 0;
  int first_completion_ = kUnknown;  // least of remaining_
  static constexpr int kUnknown = -1;
};

}  // namespace draftline
