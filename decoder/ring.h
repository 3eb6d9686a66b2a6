// SPDX-License-Identifier: Apache-2.0
// Rings in addition to a target's caches, for passes that read only a part of each text, and the choice of a ring's
// first entries from a prompt.
#pragma once
#include <vector>

#include "decoder/tensor.h"

namespace draftline {

struct RingOf {
  Cache whole, ring;  // a cache of some layers, and the ring with a part of it
};

// The entries of a prompt that are copied to rings, chosen by the attention of its last `window` rows, averaged over
// `pool` neighbours (SelectEntries, decoder/op.h).
struct PromptSelection {
  std::vector<RingOf> rings;
  int window = 0, pool = 1;
};

}  // namespace draftline
