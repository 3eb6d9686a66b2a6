// SPDX-License-Identifier: Apache-2.0
// A cache of prompt prefixes that requests share. A prompt is a sequence of prefix blocks of equal size. Each is named
// by a hash of itself and all blocks before it, as in the traces of Mooncake (FAST'25); equal names mean equal content.
// A block has a reference count, the number of sequences that hold it; blocks without holders are
// evictable, the least recently used first. Sizes are in KV blocks, of which a prefix block may fill a part.
#pragma once
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace draftline {

class PrefixCache {
 public:
  using Blocks = std::span<const int>;  // distinct names of a prompt's blocks, from its beginning

  explicit PrefixCache(double kv_blocks) : kv_blocks_(kv_blocks) {}  // KV blocks per prefix block

  // The KV blocks of a prompt's first `count` blocks.
  int size(int count) const { return to_int(count * kv_blocks_); }

  struct Match {
    int blocks = 0;     // cached blocks before the first that is not cached
    int evictable = 0;  // KV blocks of those without holders
  };
  Match match(Blocks) const;
  void acquire(Blocks, int count);  // adds a holder to the first `count` blocks, which must be cached
  // Caches the blocks [from, to), each with one holder, up to the first block that is already cached. Returns the
  // number of added blocks.
  int add(Blocks, int from, int to);
  // Removes a holder from each of the first `count` blocks; throws Bug if a block has none. Returns the KV blocks of
  // those without holders left.
  int release(Blocks, int count);
  std::int64_t evictable() const { return evictable_; }  // KV blocks
  void evict_to(std::int64_t most);                      // evicts until at most `most` KV blocks are evictable

 private:
  struct Entry {
    int size = 0;
    int holders = 0;
    std::list<int>::iterator unused;  // position in unused_ if there are no holders
  };
  double kv_blocks_;
  std::int64_t evictable_ = 0;
  std::unordered_map<int, Entry> blocks_;
  std::list<int> unused_;  // the least recently used first
};

}  // namespace draftline
