// SPDX-License-Identifier: Apache-2.0
// Rings beside a target's caches: what a method gives a pass that is to read only a part of each text, and how the
// first entries of a ring are chosen from a prompt.
#pragma once
#include <vector>

#include "decoder/tensor.h"

namespace draftline {

struct RingOf {
  Cache whole, ring;  // a cache of some layers, and the one that keeps a part of it
};

// The entries of a prompt that go into rings, chosen by the attention of its last `window` rows, averaged over `pool`
// neighbours (SelectEntries, decoder/op.h).
struct PromptSelection {
  std::vector<RingOf> rings;
  int window = 0, pool = 1;
};

}  // namespace draftline
