// SPDX-License-Identifier: Apache-2.0
// Keys and values of prompts that others began with, kept while there is room. A prompt is a row of prefix blocks of
// kPrefixBlockTokens tokens, each named by a hash of itself and all before it (Mooncake's traces); equal names are
// equal contents. A block is held by the sequences that use it; those that nobody holds are evictable, the least
// recently used first.
#pragma once
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace draftline {

inline constexpr int kPrefixBlockTokens = 512;

class PrefixCache {
 public:
  using Blocks = std::span<const int>;  // names of a prompt's blocks, from its beginning

  struct Match {
    int blocks = 0;     // cached ones, up to the first that is not
    int evictable = 0;  // of them, held by nobody
  };
  Match match(Blocks) const;
  void acquire(Blocks, int count);  // the caller holds the first `count`, which must be cached
  // Caches and holds the blocks [from, to), up to the first that is cached already. Returns how many it added.
  int add(Blocks, int from, int to);
  int release(Blocks, int count);  // of the first `count`. Returns how many of them nobody holds any more
  int evictable() const { return static_cast<int>(unused_.size()); }
  void evict_to(std::int64_t most);  // evicts until at most so many are evictable

 private:
  struct Entry {
    int holders = 0;
    std::list<int>::iterator unused;  // its place there, if nobody holds it
  };
  std::unordered_map<int, Entry> blocks_;
  std::list<int> unused_;  // the least recently used first
};

}  // namespace draftline
