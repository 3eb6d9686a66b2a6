// SPDX-License-Identifier: Apache-2.0
// What the next step of a server does: who is admitted, who decodes with how many drafts, whose prompts are computed
// within the token budget, and who is preempted when the KV blocks do not suffice. The sequence that came last is
// preempted first: it gives back its blocks and waits at the head of the queue, to be recomputed or swapped in.
#pragma once
#include <deque>
#include <optional>

#include "sim/draft_chooser.h"
#include "sim/drafting.h"
#include "sim/kv_block_manager.h"
#include "sim/step_cost.h"

namespace draftline {

struct StepPlan {
  enum class Kind {
    idle,           // nothing can run until a request comes
    prefill,        // prompts alone; running sequences wait
    single_step,    // all running sequences decode once, with chunks of prompts beside them
    steady_decode,  // all running sequences decode without drafts, as many steps as nothing else happens
  } kind = Kind::idle;
  int draft_length = 0;
  std::span<const Chunk> chunks = {};  // valid until the scheduler is asked again
  int waiting = 0;                     // requests that stay in the queue
  std::int64_t kv_blocks_in_use = 0;   // before the step
};

class Scheduler {
 public:
  // All arguments must outlive the scheduler.
  Scheduler(const SchedulerLimits&, const Drafting&, RunningBatch&, KvBlockManager&, DraftChooser&, ServingFigures&);

  void submit(const Sequence& s) { waiting_.push_back(s); }
  void close() { closed_ = true; }  // no request comes any more: static batches need not wait until they are full
  void set_prefill_only() { prefill_only_ = true; }  // another server decodes: sequences leave with their first token

  StepPlan schedule(Ticks now);  // allocates the blocks of what it plans
  // A planned step ended at `now`: computed prompts emit their first token and join the running batch. Returns who
  // leaves.
  std::span<const ServedRequest> finish_step(Ticks now);

  bool anything_runs() const { return !running_.empty() || !prefilling_.empty(); }
  int waiting() const { return static_cast<int>(waiting_.size()); }
  int in_flight() const { return static_cast<int>(waiting_.size() + prefilling_.size() + running_.size()); }
  std::int64_t outstanding_tokens() const;  // of all requests in flight: those still to be computed or generated

 private:
  using Batching = SchedulerLimits::Batching;
  // Each plans a step, or none if all that happened is that sequences were preempted or swapped in.
  std::optional<StepPlan> plan_fixed_batch(Ticks now);
  std::optional<StepPlan> plan_prefill(Ticks now);
  std::optional<StepPlan> plan_mixed_step(Ticks now);
  std::optional<StepPlan> plan_decode();
  StepPlan plan(StepPlan::Kind, int draft_length, std::int64_t kv_blocks_in_use) const;

  bool can_admit() const;
  Sequence admit_next(Ticks now);
  void swap_in(Sequence&);
  int token_budget() const;
  bool grant_chunk(Sequence&, int& budget);
  void grant_chunks(Ticks now, bool admit);
  bool reserve_decoding(int rows);
  int choose_draft_length();
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
  std::vector<Chunk> chunks_;  // of the planned step: the i-th belongs to prefilling_[i]
  std::vector<int> would_accept_;
  std::vector<Sequence> finished_;
  std::vector<ServedRequest> leaving_;
  bool closed_ = false, prefill_only_ = false;
};

}  // namespace draftline
