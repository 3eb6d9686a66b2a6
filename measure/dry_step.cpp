// SPDX-License-Identifier: Apache-2.0
#include "measure/dry_step.h"

#include <algorithm>

namespace draftline::measure {

DryStep dry_step(Decoder& priced, int slots, int length) {
  DryStep seen;
  priced.ops.on_segment = [&](const SegmentRun& run) {
    for (const Pass& p : run.tape->passes) {
      const int ahead = p.ahead.empty() ? 0 : *std::max_element(p.ahead.begin(), p.ahead.end());
      seen.rows_behind_text = std::max(seen.rows_behind_text, p.tail + p.rows.widest + std::max(0, ahead));
    }
    for (const Op& op : run.tape->ops) seen.relaxed = seen.relaxed || std::holds_alternative<VerifyRelaxed>(op);
  };
  const std::vector<std::vector<int>> usual;
  priced.ops.follow(&usual);
  priced.generator.assume(slots, length);
  priced.generator.step();
  return seen;
}

}  // namespace draftline::measure
