// SPDX-License-Identifier: Apache-2.0
#include "measure/dry_step.h"

#include <unistd.h>

#include <algorithm>

#include "core/errors.h"
#include "core/quantity_text.h"

namespace draftline::measure {

DryStep dry_step(Decoder& priced, int slots, int length) {
  DryStep seen;
  priced.ops.on_segment = [&](const SegmentRun& run) {
    for (const Pass& p : run.tape->passes) {
      const int ahead = p.ahead.empty() ? 0 : *std::ranges::max_element(p.ahead);
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

void check_memory(const Decoder& priced, int slots, int capacity) {
  const Bytes have{to_double(sysconf(_SC_PHYS_PAGES)) * to_double(sysconf(_SC_PAGESIZE))};
  Bytes caches;
  for (const Cache& c : priced.ops.caches()) caches += 1.0 * slots * c.window.held(capacity) * c.layers * c.row_bytes();
  for (const StateCache& c : priced.ops.state_caches())  // states are fp32 whatever their format says
    caches +=
        1.0 * slots * c.layers * (c.states * bytes_of(DType::fp32, c.form.elements()) + c.kept_rows() * c.row_bytes());
  if (priced.weights.bytes() + caches > 0.8 * have)
    throw InputErrors("its weights in fp32 need " + to_text(priced.weights.bytes()) + ", its caches " +
                      to_text(caches) + ", this machine has " + to_text(have));
}

}  // namespace draftline::measure
