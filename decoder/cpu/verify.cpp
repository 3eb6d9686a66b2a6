// SPDX-License-Identifier: Apache-2.0
// Verification ops: which drafts the target accepts. Rule G: the deepest node whose whole path the target would have
// chosen (METHODS.md section 1), right with equal siblings too.
#include "decoder/cpu/backend.h"

namespace draftline {

void CpuBackend::run(const VerifyGreedy& o) {
  const int *predicted = ids(o.predicted), *token = ids(o.tokens), *parent = ids(o.parents), *starts = ids(o.starts);
  int *path = out_ids(o.path), *next = out_ids(o.next), *counts = out_ids(o.counts), *last = out_ids(o.last);
  int *last_row = out_ids(o.last_row), *bonus = out_ids(o.bonus);
  std::vector<int> depth;  // of each matched row; -1: not matched
  for (int b = 0; b + 1 < o.starts.rows; ++b) {
    const int first = starts[b], n = starts[b + 1] - first, base = b * (o.depth + 1);
    int best = 0;
    depth.assign(static_cast<std::size_t>(n), -1);
    depth[0] = 0;
    for (int r = 1; r < n; ++r) {
      const int up = parent[first + r];
      if (up < 0 || depth[static_cast<std::size_t>(up)] < 0 || token[first + r] != predicted[first + up]) continue;
      depth[static_cast<std::size_t>(r)] = depth[static_cast<std::size_t>(up)] + 1;
      if (depth[static_cast<std::size_t>(r)] > depth[static_cast<std::size_t>(best)]) best = r;
    }
    const int count = depth[static_cast<std::size_t>(best)] + 1;
    for (int j = count - 1, r = best; j >= 0; --j, r = parent[first + r]) {
      path[base + j] = first + r;
      next[base + j] = predicted[first + r];
    }
    counts[b] = count;
    last[b] = base + count - 1;
    last_row[b] = first + best;
    bonus[b] = predicted[first + best];
    for (int j = count; j <= o.depth; ++j) {
      path[base + j] = first + best;
      next[base + j] = bonus[b];
    }
  }
}

void CpuBackend::run(const Sample&) { check(false, "sampling: not yet"); }
void CpuBackend::run(const VerifySampled&) { check(false, "sampling: not yet"); }

}  // namespace draftline
