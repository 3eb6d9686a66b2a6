// SPDX-License-Identifier: Apache-2.0
#include "sim/prefix_cache.h"

#include "core/errors.h"

namespace draftline {

PrefixCache::Match PrefixCache::match(Blocks names) const {
  Match m;
  for (const int name : names) {
    const auto it = blocks_.find(name);
    if (it == blocks_.end()) break;
    ++m.blocks;
    m.evictable += it->second.holders == 0 ? it->second.size : 0;
  }
  return m;
}

void PrefixCache::acquire(Blocks names, int count) {
  for (const int name : names.first(at(count))) {
    Entry& e = blocks_.at(name);
    if (e.holders++ > 0) continue;
    unused_.erase(e.unused);
    evictable_ -= e.size;
  }
}

int PrefixCache::add(Blocks names, int from, int to) {
  for (int i = from; i < to; ++i) {
    const auto [it, fresh] = blocks_.try_emplace(names[at(i)]);
    if (!fresh) return i - from;
    it->second = {.size = size(i + 1) - size(i), .holders = 1, .unused = {}};
  }
  return to - from;
}

int PrefixCache::release(Blocks names, int count) {
  int unused = 0;
  for (int i = count; i-- > 0;) {  // the last block goes first: without those before it, it is of no use
    Entry& e = blocks_.at(names[at(i)]);
    check(e.holders > 0, "a prefix block is released by who does not hold it");
    if (--e.holders > 0) continue;
    e.unused = unused_.insert(unused_.end(), names[at(i)]);
    unused += e.size;
  }
  evictable_ += unused;
  return unused;
}

void PrefixCache::evict_to(std::int64_t most) {
  while (evictable() > most) {
    const auto oldest = blocks_.find(unused_.front());
    evictable_ -= oldest->second.size;
    blocks_.erase(oldest);
    unused_.pop_front();
  }
}

}  // namespace draftline
