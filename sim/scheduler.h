// SPDX-License-Identifier: Apache-2.0
// Plans the next step of a server: the admitted requests, the draft length, the prompt chunks within the token budget,
// and the sequences to preempt if KV blocks run out. The newest sequence is preempted first: it frees its blocks and
// returns to the head of the queue, to be recomputed or swapped in. A step that preempts admits no request. Continuous
// batching follows vLLM's V1 engine (docs/explanation/simulator.md).
#pragma once
#include <deque>

#include "sim/draft_chooser.h"
#include "sim/drafting.h"
#include "sim/kv_block_manager.h"
#include "sim/step_cost.h"

namespace draftline {

struct StepPlan {
  enum class Kind {
    idle,           // nothing can run until a request arrives
    prefill,        // only prompts; running sequences wait
    single_step,    // one decode step of all running sequences, with prompt chunks in the same step
    steady_decode,  // plain decode steps of all running sequences, until an event changes the batch
  } kind = Kind::idle;
  int draft_length = 0;
  std::span<const int> admitted = {};  // verified drafts of each sequence; empty: draft_length for all
  std::span<const Chunk> chunks = {};  // valid until the next call of schedule() or finish_step()
  int waiting = 0;                     // requests that remain in the queue
  std::int64_t kv_blocks_in_use = 0;   // before the step
};

// What a scheduler and the executor of its steps share.
struct RankState {
  RankState(const SchedulerLimits& limits, const Drafting& drafting, StepCost& cost)
      : blocks(limits), chooser(drafting.policy, drafting.lengths, cost) {}
  RunningBatch running;
  KvBlockManager blocks;
  DraftChooser chooser;
};

class Scheduler {
 public:
  // All arguments must outlive the scheduler.
  Scheduler(const SchedulerLimits&, const Drafting&, RankState&, ServingFigures&);

  void submit(const Sequence& s) { waiting_.push_back(s); }
  void close() { closed_ = true; }                   // no more requests will arrive: static batches may be partly full
  void set_prefill_only() { prefill_only_ = true; }  // another server decodes: sequences leave with their first token

  // Plans a step that starts at `now` and allocates its KV blocks; valid until the next call. `hold_prompts`: admits no
  // request while others run. Throws InputErrors if a static batch has more than 2^26 prompt tokens.
  const StepPlan& schedule(Ticks now, bool hold_prompts = false);
  // Ends the planned step, or the last of `steps` steady decode steps, at `now`: computed prompts emit their first
  // token and join the running batch. Returns the requests that leave the server, valid until the next call.
  std::span<const ServedRequest> finish_step(Ticks now, std::int64_t steps = 1);

  const Demand& demand() const { return demand_; }  // without its KV blocks
  bool anything_runs() const { return !running_.empty() || !prefilling_.empty(); }
  bool decodes() const { return !running_.empty(); }
  bool could_admit();  // a waiting request, in a step that starts now
  int waiting() const { return count(waiting_); }
  int in_flight() const { return to_int(waiting_.size() + prefilling_.size() + running_.size()); }
  std::int64_t outstanding_tokens() const;  // tokens of all requests in flight still to be computed or generated

 private:
  // Each returns true if it planned the step; otherwise it only preempted or swapped in sequences.
  bool plan_static_batch(Ticks now);
  bool plan_prefill(Ticks now);
  bool plan_mixed_step(Ticks now);
  bool plan_decode();
  bool plan(StepPlan::Kind, int draft_length, std::int64_t kv_blocks_in_use);
  bool plan_none();

  void begin_planning();
  void receive();
  bool waits_for_prompts();
  bool can_admit();
  Sequence admit_next(Ticks now);
  void reuse_prefix(Sequence&);
  void swap_in(Sequence&);
  int token_budget() const;
  bool grant_chunk(Sequence&);
  void grant_chunks(Ticks now);
  bool reserve_decoding(int rows);
  int choose_draft_length();
  int admit_drafts();
  void preempt_last();
  void finish_prefills(Ticks now);
  void leave(Sequence&, Ticks now);

  const SchedulerLimits& limits_;
  const Drafting& drafting_;
  RunningBatch& running_;
  KvBlockManager& blocks_;
  DraftChooser& chooser_;
  ServingFigures& figures_;
  std::deque<Sequence> waiting_, prefilling_;
  StepPlan plan_;
  std::vector<Chunk> chunks_;  // of the planned step: chunks_[i] belongs to prefilling_[i]
  std::vector<int> would_accept_;
  std::vector<double> survival_;
  std::span<const int> admitted_;
  std::vector<Sequence> finished_;
  std::vector<ServedRequest> leaving_;
  Demand demand_;
  int chunk_tokens_ = 0;                        // of chunks_
  int received_ = 0;                            // of waiting_, from its head: requests that the scheduler has received
  int since_receive_ = 0, waited_ = 0;          // steps
  bool held_back_ = false, preempted_ = false;  // in the current planning: new requests are not admitted
  bool closed_ = false, prefill_only_ = false;
};

}  // namespace draftline
