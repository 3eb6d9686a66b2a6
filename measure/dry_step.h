// SPDX-License-Identifier: Apache-2.0
// What a step of a method needs, seen by recording one that nobody runs: for whoever makes caches no larger than that.
#pragma once
#include "methods/decoder.h"

namespace draftline::measure {

struct DryStep {
  int rows_behind_text = 1;  // that a step writes there; where a plan depends on the text: of the usual step
  bool relaxed = false;      // its verification is a lossy one
};
DryStep dry_step(Decoder& priced, int slots, int length);

}  // namespace draftline::measure
