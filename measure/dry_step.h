// SPDX-License-Identifier: Apache-2.0
// The cache entries that a step of a method needs, found by recording a step without running it.
#pragma once
#include "methods/decoder.h"

namespace draftline::measure {

struct DryStep {
  int rows_behind_text = 1;  // rows that a step writes beyond the text; of a typical step if steps vary
  bool relaxed = false;      // verification is lossy
};
// Records a step of `priced`, a decoder on the priced backend, with `slots` sequences of `length` committed tokens.
DryStep dry_step(Decoder& priced, int slots, int length);
// Throws InputErrors if the weights of `priced` and the given cache entries of its slots exceed this machine's memory.
void check_memory(const Decoder& priced, int slots, int capacity);

}  // namespace draftline::measure
