// SPDX-License-Identifier: Apache-2.0
#include "sim/kv_block_manager.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace draftline {

KvBlockManager::KvBlockManager(const SchedulerLimits& limits)
    : limits_(limits),
      block_size_(limits.block_size),
      shift_(std::countr_zero(static_cast<unsigned>(limits.block_size))),
      caches_prefixes_(limits.shares_prefixes()),
      swap_per_token_(limits.swap_per_token),
      total_(limits.kv_blocks),
      free_(limits.kv_blocks),
      // Layers with windows keep the end of each sequence for it alone.
      prefixes_(limits.kept.unwindowed_share() * (limits.prefix_block >> shift_)) {}

bool KvBlockManager::allocate(std::int64_t blocks) {
  if (!has_free(blocks)) return false;
  free_ -= blocks;
  if (prefixes_.evictable() > 0 && !has_free(prefixes_.evictable())) prefixes_.evict_to(free_);
  return true;
}

bool KvBlockManager::allocate_up_to(Sequence& s, std::int64_t tokens) {
  const int more = std::max(0, blocks_for(tokens) - s.kv_blocks);
  if (!allocate(more)) return false;
  s.kv_blocks += more;
  return true;
}

template <class Blocks>
bool KvBlockManager::extend(RunningBatch& running, Blocks wanted) {
  const std::span<const int> lengths = running.lengths();
  const std::span<int> held = running.kv_blocks();
  int more = 0;  // sums of int become vector instructions
  for (std::size_t i = 0; i < held.size(); ++i) more += std::max(0, wanted(lengths[i]) - held[i]);
  if (more == 0) return true;
  if (!allocate(more)) return false;
  for (std::size_t i = 0; i < held.size(); ++i) held[i] = std::max(held[i], wanted(lengths[i]));
  return true;
}

const std::vector<int>& KvBlockManager::blocks_by_tokens(int most) {
  for (int tokens = count(blocks_by_tokens_); tokens <= most; ++tokens) blocks_by_tokens_.push_back(blocks_for(tokens));
  return blocks_by_tokens_;
}

bool KvBlockManager::extend(RunningBatch& running, int tokens) {
  if (!limits_.kept.all_alike() && !running.empty()) {
    const int longest = *std::ranges::max_element(running.lengths());
    return extend(running,
                  [from = blocks_by_tokens(longest + tokens).data() + tokens](int length) { return from[length]; });
  }
  return extend(running,
                [add = tokens + block_size_ - 1, shift = shift_](int length) { return (length + add) >> shift; });
}

bool KvBlockManager::extend_sequence(RunningBatch& running, std::size_t i, int tokens) {
  const int blocks = blocks_for(std::int64_t{running.lengths()[i]} + tokens), more = blocks - running.kv_blocks()[i];
  if (more <= 0) return true;
  if (!allocate(more)) return false;
  running.kv_blocks()[i] = blocks;
  return true;
}

std::int64_t KvBlockManager::steps_that_fit(const RunningBatch& running, std::int64_t most) {
  const std::span<const int> lengths = running.lengths(), held = running.kv_blocks();
  const auto more_blocks = [&](std::int64_t steps) {
    std::int64_t sum = 0;
    for (std::size_t i = 0; i < held.size(); ++i) sum += std::max(0, blocks_for(lengths[i] + steps) - held[i]);
    return sum;
  };
  std::int64_t fits = 1, high = most;
  while (fits < high) {
    const std::int64_t middle = (fits + high + 1) / 2;
    if (has_free(more_blocks(middle))) fits = middle;
    else high = middle - 1;
  }
  return fits;
}

void KvBlockManager::release(Sequence& s) {
  free_ += s.kv_blocks - prefixes_.size(s.prefix_blocks);
  if (s.prefix_blocks > 0) free_ += prefixes_.release(*s.record.request.prefix_hashes, s.prefix_blocks);
  s.kv_blocks = s.prefix_blocks = 0;
}

// The whole prefix blocks of a prompt that has not been computed. Its last token is excluded, as its logits are needed.
PrefixCache::Blocks KvBlockManager::reusable_prefix(const Sequence& s) const {
  const Request& r = s.record.request;
  if (r.prefix_hashes == nullptr || !caches_prefixes_ || s.swapped || s.computed > 0) return {};
  const int whole = std::min(s.prefill_tokens - 1, r.prompt) / limits_.prefix_block;
  const PrefixCache::Blocks all = *r.prefix_hashes;
  return all.first(std::min(all.size(), at(whole)));
}

std::pair<PrefixCache::Match, int> KvBlockManager::found(PrefixCache::Blocks prefix) const {
  const PrefixCache::Match all = prefixes_.match(prefix);
  const int tokens = limits_.prefix_reuse->of(all.blocks * limits_.prefix_block),
            blocks = tokens / limits_.prefix_block;
  return {blocks == all.blocks ? all : prefixes_.match(prefix.first(at(blocks))), tokens};
}

KvBlockManager::CachedPrefix KvBlockManager::cached_prefix(const Sequence& s) const {
  const PrefixCache::Blocks prefix = reusable_prefix(s);
  if (prefix.empty()) return {};
  const auto [cached, tokens] = found(prefix);
  return {tokens, prefixes_.size(cached.blocks), cached.evictable};
}

int KvBlockManager::reuse_prefix(Sequence& s) {
  const PrefixCache::Blocks prefix = reusable_prefix(s);
  if (prefix.empty()) return 0;
  const auto [cached, tokens] = found(prefix);
  prefixes_.acquire(prefix, cached.blocks);
  check(allocate(cached.evictable), "cached prefix blocks lie in no free ones");
  s.prefix_blocks = cached.blocks;
  s.kv_blocks = prefixes_.size(cached.blocks);
  s.computed = tokens;
  return tokens;
}

void KvBlockManager::cache_prompt(Sequence& s) {
  const Request& r = s.record.request;
  if (r.prefix_hashes == nullptr || !caches_prefixes_) return;
  const int whole = std::min(r.prompt / limits_.prefix_block, count(*r.prefix_hashes));
  if (s.prefix_blocks < whole) s.prefix_blocks += prefixes_.add(*r.prefix_hashes, s.prefix_blocks, whole);
}

void KvBlockManager::swap(int tokens) {
  swap_time_ = step_ticks(to_seconds(swap_time_) + limits_.kept(to_double(tokens)) * swap_per_token_);
}

Ticks KvBlockManager::take_swap_time() { return std::exchange(swap_time_, 0); }

}  // namespace draftline
