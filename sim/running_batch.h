// SPDX-License-Identifier: Apache-2.0
// The state of a request while a server serves it, and the batch of sequences that decode. Values that change with
// every step are in arrays indexed by batch slot, so that many steps of an unchanged batch need one addition per slot.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

#include "sim/serving_figures.h"
#include "trace/draft_outcomes.h"

namespace draftline {

struct Sequence {
  ServedRequest record;
  DraftOutcomes::Text text;
  int generated = 0;            // output tokens when it last joined or left the batch
  int prefill_tokens = 0;       // tokens to prefill: the prompt and, after a preemption, the output so far
  int computed = 0;             // the part of them in the KV cache
  int kv_blocks = 0;            // its KV blocks outside the batch; inside see RunningBatch::kv_blocks()
  int prefix_blocks = 0;        // prefix blocks of its prompt of which it is a holder
  std::int64_t first_step = 0;  // the batch's decode step at which it joined
  Ticks last_emission = 0;
  bool swapped = false;  // its keys and values are on the host or another server: no prefill needed
};

class RunningBatch {
 public:
  std::size_t size() const { return places_.size(); }
  bool empty() const { return places_.empty(); }
  std::span<const int> lengths() const { return lengths_; }      // tokens in the KV cache, by batch slot
  std::span<const int> remaining() const { return remaining_; }  // output tokens still to emit, by batch slot
  std::span<const int> kv_blocks() const { return kv_blocks_; }
  std::span<int> kv_blocks() { return kv_blocks_; }
  std::span<DraftOutcomes::Text> texts() { return texts_; }
  std::span<const int> outputs() const { return outputs_; }  // tokens of the whole output, by batch slot
  int generated(std::size_t i) const { return outputs_[i] - remaining_[i]; }
  std::int64_t context() const { return context_; }  // tokens in the KV cache of all sequences

  void join(const Sequence&);
  Sequence remove_last();                                 // the batch must not be empty
  void remove_finished(std::vector<Sequence>& finished);  // moves sequences without remaining tokens to `finished`

  // Each sequence emits one token in each of `steps` steps, the last of which ends at `end`.
  void emit(int steps, Ticks end);
  // One step that ends at `end`: each sequence emits its accepted drafts and the bonus token, up to its remaining
  // tokens.
  void emit_accepted(std::span<const int> accepted, Ticks end);
  // The number of plain steps until the first sequence is finished; 0 if one is finished already. The batch must not be
  // empty.
  int steps_to_first_completion();
  Ticks last_emission() const { return last_emission_; }  // of the batch; not of sequences that joined later
  std::span<const Ticks> joined_since_emission() const { return joined_; }  // their last emissions, for the last slots

  // In a static batch the slots of finished sequences stay occupied until its last sequence ends, and their rows and
  // contexts still cost time.
  void keep_slots() { slots_ = to_int(size()); }
  void release_slots() { slots_ = 0, finished_context_ = 0; }
  int slots() const { return std::max(to_int(size()), slots_); }
  std::int64_t slot_context() const { return context_ + finished_context_; }

 private:
  Sequence take(std::size_t slot);  // returns its current sequence; the caller must remove the slot
  template <class Change>
  void each_column(Change change) {  // each array by slot
    std::apply([&](auto&... column) { (change(column), ...); },
               std::tie(places_, lengths_, remaining_, outputs_, kv_blocks_, texts_));
  }
  std::vector<int> lengths_, remaining_, outputs_, kv_blocks_;
  std::vector<DraftOutcomes::Text> texts_;
  std::vector<std::size_t> places_;  // index of each slot's sequence in sequences_, which is stable
  std::vector<Sequence> sequences_;
  std::vector<std::size_t> free_places_;
  std::vector<Ticks> joined_;
  std::int64_t context_ = 0, finished_context_ = 0;
  std::int64_t steps_ = 0;  // decode steps since the server started
  Ticks last_emission_ = 0;
  int slots_ = 0;
  std::optional<int> first_completion_;  // minimum of remaining_; none: to be computed
  std::vector<std::ptrdiff_t> finished_slots_;
};

}  // namespace draftline
