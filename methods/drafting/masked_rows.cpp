// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/masked_rows.h"

namespace draftline::methods {

MaskedRows masked_rows(Ops& ops, const std::string& name, const Committed& c, int own, int masks) {
  MaskedRows m;
  if (c.prefill) {
    std::vector<int> each = c.rows.each;
    for (int& n : each) n += own + masks;
    m.rows = ops.ragged(name, each);
    m.rows.prompts = c.rows.prompts;
  } else {
    m.rows = ops.uniform(c.rows.sequences(), c.rows.widest + own + masks);
  }
  const FollowPath f = ops.follow_path(c.last, c.rows, m.rows, own);
  m.index = f.y;
  m.newest = f.newest;
  return m;
}

}  // namespace draftline::methods
