// SPDX-License-Identifier: Apache-2.0
// One serving engine: queue, scheduler, paged KV blocks, speculation. Time moves from event to event: while nobody comes,
// goes or joins, the steps of a batch that does not speculate are one sum.
//
// Continuous batching as vLLM's V1 engine does it: a step decodes all running sequences and fills its token budget with
// chunks of prompts, first come, first served; prefill first (chunked_prefill off): prompts get steps of their own before
// any decoding goes on; static: a batch is filled, then runs until its last sequence is done. Blocks are taken step by step,
// with a slot for every row that is verified; when none is left, the sequence that came last gives all of its own back and
// waits at the head of the queue: it is computed again (recompute) or its blocks come back over the host link (swap).
#pragma once
#include <deque>
#include <functional>

#include "sim/draft_outcomes.h"
#include "sim/draft_policy.h"
#include "sim/prefix_cache.h"
#include "sim/serving_figures.h"
#include "sim/step_cost.h"

namespace draftline {

struct SchedulerLimits {
  enum class Batching { continuous, prefill_first, fixed } batching = Batching::continuous;
  int max_batch_size = 256, max_batched_tokens = 2048;
  std::int64_t kv_blocks = 1 << 20;
  int block_size = 16;  // a power of two
  bool whole_prompts =
      true;  // a prompt is let in only if blocks for all of it are free, though it takes them by chunks
  bool prefix_caching = true;  // of prompts whose pieces are named
  bool swap = false;           // preempted sequences keep their blocks on the host
  double swap_per_token = 0;   // ps, one way
};

// How its sequences draft. Null outcomes: they don't.
struct Drafting {
  const DraftOutcomes* outcomes = nullptr;
  int draft_length = 0;      // most that a step drafts
  std::vector<int> lengths;  // that a policy may choose among, rising; all have a price
  int rows = 1;              // that a sequence verifies then: of a tree more than draft_length + 1
  DraftPolicy policy;
  std::uint64_t seed = 0;
};

class Server {
 public:
  // A prompt is computed: called where another server decodes it (disaggregation).
  using Handover = std::function<void(const ServedRequest&)>;

  Server(int index, const SchedulerLimits&, const Drafting&, StepCost&, ServingFigures&);

  void submit(const Request&);                                 // not before advance(its arrival)
  void submit_prefilled(const ServedRequest&, Ticks arrival);  // its keys and values arrive with it
  void hand_over(Handover h) { handover_ = std::move(h); }
  void advance(Ticks until);        // runs all steps that start before `until`
  void close() { closed_ = true; }  // nobody comes any more: static batches needn't wait to be full

  int in_flight() const { return static_cast<int>(waiting_.size() + prefilling_.size() + running_.size()); }
  std::int64_t outstanding_tokens() const;  // of all requests in flight: what is still to be computed
  int waiting() const { return static_cast<int>(waiting_.size()); }
  Ticks now() const { return now_; }
  std::int64_t blocks_in_use() const { return limits_.kv_blocks - free_; }
  std::function<void(const ServedRequest&)> on_served;  // closed loops send the next

 private:
  struct Sequence {  // its slow-changing part
    ServedRequest record;
    DraftOutcomes::Text text;
    int generated = 0;                 // tokens
    int to_compute = 0, computed = 0;  // of the prompt; after a preemption also of what was generated
    int held = 0;                      // pieces of its prompt that it shares
    std::int64_t first_step = 0;       // decode step at which it joined
    Ticks last_emission = 0;
    bool swapped = false;
  };
  struct Running {                          // what changes every step, in arrays
    std::vector<int> length, left, blocks;  // tokens cached; tokens to emit; KV blocks
    std::vector<Sequence> who;
    std::size_t size() const { return who.size(); }
  };
  struct Prefilling {
    Sequence who;
    int blocks = 0;
  };

  int blocks_of(std::int64_t tokens) const { return static_cast<int>((tokens + limits_.block_size - 1) >> shift_); }
  int drafts_next();
  void taken(std::int64_t blocks);
  bool take_blocks(int more);
  PrefixCache::Pieces reusable(const Sequence&) const;
  int reuse(Sequence&);
  void share_prompt(Sequence&);
  void release(Sequence&, int blocks);
  bool can_admit() const;
  bool reserve_decoding(int rows);
  void preempt_last();
  void give_back(Sequence, int blocks);
  void decode_many(Ticks until);
  void mixed_step();
  void one_step(int drafts, std::int64_t blocks_before);
  void plan_chunks(bool admit);
  void prefill_step();
  void decode_once(Ticks time, int drafts);
  void finish_chunks();
  void join(Prefilling);
  int soonest();
  void retire();
  void served(Sequence&);
  void ran(Ticks time, Ticks first, Ticks rise, std::int64_t steps, Ticks host, int drafts, int prompt_tokens,
           std::int64_t emitted, std::int64_t blocks_before);
  Ticks after_prompts(int sequences, int drafts, std::int64_t context);
  void swap(const Sequence&);  // its keys and values go over the link to the host
  void pass(Ticks time);

  const int index_, shift_, piece_blocks_;  // blocks of a piece; 0: nothing is shared
  const SchedulerLimits limits_;
  const Drafting drafting_;
  StepCost& cost_;
  ServingFigures& figures_;
  DraftChooser chooser_;
  Handover handover_;

  Ticks now_ = 0;
  std::deque<Sequence> waiting_;
  std::deque<Prefilling> prefilling_;
  Running running_;
  std::int64_t context_ = 0;  // sum of running_.length
  std::int64_t free_;         // blocks that no sequence holds; evictable pieces lie in some of them
  PrefixCache prefixes_;
  std::int64_t decode_steps_ = 0;
  Ticks paused_ = 0;               // when the running ones emitted last
  Ticks delay_ = 0;                // of the next step: blocks swapped, caches that prompts left cold
  Ticks prompts_ = 0;              // time of steps that read prompts alone, since the last decode step
  int fresh_ = 0;                  // sequences that came since then
  int seats_ = 0;                  // of a fixed batch, the empty ones included
  std::int64_t seat_context_ = 0;  // of its sequences that are done
  bool closed_ = false;
  std::vector<Chunk> chunks_;
  std::vector<int> chunk_tokens_, accepted_, wanted_;
  int soonest_ = -1;  // least of running_.left; below 0: to be looked up
};

}  // namespace draftline
