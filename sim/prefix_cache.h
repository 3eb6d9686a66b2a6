// SPDX-License-Identifier: Apache-2.0
// Keys and values of prompts that others began with, kept while there is room. A prompt is a row of pieces of kPieceTokens
// tokens, each named by a hash of itself and all before it (Mooncake's traces); equal names are equal contents. A piece is
// held by the sequences that use it; those that nobody holds are evictable, the least recently used first.
#pragma once
#include <cstdint>
#include <list>
#include <span>
#include <unordered_map>

namespace draftline {

inline constexpr int kPieceTokens = 512;

class PrefixCache {
 public:
  using Pieces = std::span<const int>;

  struct Match {
    int pieces = 0;     // from the first on, that are here
    int evictable = 0;  // of them, held by nobody
  };
  Match match(Pieces) const;
  void hold(Pieces, int count);       // the first ones, which are here
  int add(Pieces, int from, int to);  // and holds them; how many from `from` on: up to the first that another added
  int release(Pieces, int count);     // how many of them nobody holds any more
  int evictable() const { return static_cast<int>(unused_.size()); }
  void evict_to(std::int64_t most);

 private:
  struct Entry {
    int holders = 0;
    std::list<int>::iterator unused;  // its place there, if nobody holds it
  };
  std::unordered_map<int, Entry> pieces_;
  std::list<int> unused_;  // the least recently used first
};

}  // namespace draftline
