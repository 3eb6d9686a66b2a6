// SPDX-License-Identifier: Apache-2.0
// The paged KV cache of one server: which blocks are free, which prompts share prefix blocks, and what swapping to the
// host costs. Blocks are counted, not named; cached prefix blocks that no sequence holds lie in free ones and are
// evicted when those are allocated.
#pragma once
#include "sim/drafting.h"
#include "sim/prefix_cache.h"
#include "sim/running_batch.h"

namespace draftline {

class KvBlockManager {
 public:
  explicit KvBlockManager(const SchedulerLimits&);

  int blocks_for(std::int64_t tokens) const { return static_cast<int>((tokens + block_size_ - 1) >> shift_); }
  std::int64_t free_blocks() const { return free_; }
  std::int64_t blocks_in_use() const { return total_ - free_; }

  // Each of these allocates all that it is asked for, or nothing and says false.
  bool allocate(std::int64_t blocks);
  bool allocate_up_to(Sequence&, std::int64_t tokens);                 // of a sequence that does not run, in its cache
  bool extend(RunningBatch&, int tokens);                              // so many more tokens of each sequence
  bool extend_sequence(RunningBatch&, std::size_t index, int tokens);  // of one of them

  // The most steps of one token, up to `most`, for which extend() has blocks. One must fit.
  std::int64_t steps_that_fit(const RunningBatch&, std::int64_t most) const;
  // Gives back all that a sequence which does not run holds; prefix blocks stay cached while there is room.
  void release(Sequence&);

  struct CachedPrefix {
    int tokens = 0;         // of a prompt, that need not be computed
    int unheld_blocks = 0;  // KV blocks among theirs that count as free until the sequence holds them
  };
  CachedPrefix cached_prefix(const Sequence&) const;
  int reuse_prefix(Sequence&);   // the sequence holds what is cached of its prompt; returns its tokens
  void cache_prompt(Sequence&);  // others may use the prefix blocks of a prompt that is computed

  void swap(int tokens);   // keys and values go over the host link, one way; the next step waits for them
  Ticks take_swap_time();  // of what was swapped since it was last asked

 private:
  PrefixCache::Blocks reusable_prefix(const Sequence&) const;

  const int block_size_, shift_;
  const int blocks_per_prefix_block_;  // 0: nothing is shared
  const double swap_per_token_;        // ps
  const std::int64_t total_;
  std::int64_t free_;
  PrefixCache prefixes_;
  Ticks swap_time_ = 0;
  std::vector<int> extended_;  // KV blocks by batch slot; kept for its memory
};

}  // namespace draftline
