// SPDX-License-Identifier: Apache-2.0
// The paged KV cache of one server: the number of free blocks, prefix blocks that prompts share, and the time of
// swapping to the host. Blocks are counted, not identified. Cached prefix blocks without a holder count as free and are
// evicted when their space is allocated.
#pragma once
#include <utility>
#include <vector>

#include "sim/demand.h"
#include "sim/drafting.h"
#include "sim/prefix_cache.h"
#include "sim/running_batch.h"

namespace draftline {

class KvBlockManager {
 public:
  explicit KvBlockManager(const SchedulerLimits&);

  // The number of KV blocks that hold `tokens` tokens.
  int blocks_for(std::int64_t tokens) const {
    if (!limits_.kept.all_alike()) return to_int(limits_.blocks_for(tokens));
    return to_int((tokens + block_size_ - 1) >> shift_);
  }
  std::int64_t free_blocks() const { return free_; }
  std::int64_t blocks_in_use() const { return total_ - free_; }

  const Demand& demand() const { return demand_; }

  bool has_free(std::int64_t blocks) { return demand_.ask_blocks(blocks_in_use() + blocks, total_); }
  // Each of these functions either allocates all blocks that it needs and returns true, or allocates none and returns
  // false.
  bool allocate(std::int64_t blocks);
  bool allocate_up_to(Sequence&, std::int64_t tokens);  // blocks of a sequence, not in the batch, for `tokens` in total
  bool extend(RunningBatch&, int tokens);               // blocks for `tokens` more tokens of each sequence
  bool extend_sequence(RunningBatch&, std::size_t index, int tokens);  // blocks for `tokens` more of one sequence

  // The largest number of steps of one token, 1 to `most`, for which extend() has blocks; one step must fit.
  std::int64_t steps_that_fit(const RunningBatch&, std::int64_t most);
  // Frees all blocks of a sequence that is not in the batch; its prefix blocks stay cached until they are evicted.
  void release(Sequence&);

  struct CachedPrefix {
    int tokens = 0;         // prompt tokens whose keys and values are cached
    int blocks = 0;         // their KV blocks
    int unheld_blocks = 0;  // those without a holder, which count as free
    int extra_blocks(int blocks_of_all) const { return blocks_of_all - blocks + unheld_blocks; }  // to allocate
  };
  CachedPrefix cached_prefix(const Sequence&) const;
  int reuse_prefix(Sequence&);   // adds the sequence as a holder of its cached prefix; returns the prefix's tokens
  void cache_prompt(Sequence&);  // caches the prefix blocks of a prompt that has been computed

  void swap(int tokens);   // copies keys and values over the host link, one way; InputErrors if that takes hours
  Ticks take_swap_time();  // time of the copies since the last call; the next step waits for it

 private:
  PrefixCache::Blocks reusable_prefix(const Sequence&) const;
  // What of a prefix is in the cache, and the tokens of it that the engine finds.
  std::pair<PrefixCache::Match, int> found(PrefixCache::Blocks) const;
  template <class Blocks>
  bool extend(RunningBatch&, Blocks wanted);           // wanted(length): the blocks of a sequence
  const std::vector<int>& blocks_by_tokens(int most);  // blocks_for() of 0 to `most` tokens, and maybe of more

  const SchedulerLimits limits_;
  const int block_size_, shift_;
  const bool caches_prefixes_;
  const Seconds swap_per_token_;
  const std::int64_t total_;
  std::int64_t free_;
  Demand demand_;
  PrefixCache prefixes_;
  Ticks swap_time_ = 0;
  std::vector<int> blocks_by_tokens_;  // where layers keep different parts of a text
};

}  // namespace draftline
