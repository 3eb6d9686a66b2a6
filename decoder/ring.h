// SPDX-License-Identifier: Apache-2.0
// Rings beside a target's caches: what a method gives a pass that is to read a part of each text alone, and how the
// entries of a prompt are chosen that it begins with.
#pragma once
#include <vector>

#include "decoder/tensor.h"

namespace draftline {

struct RingOf {
  Cache whole, ring;  // a cache of some layers, and the one that keeps a part of it
};

// By the attention of a prompt's last `window` rows, over the mean of `pool` neighbours (SelectEntries, decoder/op.h).
struct PromptSelection {
  std::vector<RingOf> rings;
  int window = 0, pool = 1;
};

}  // namespace draftline
