// SPDX-License-Identifier: Apache-2.0
// The shapes that `draftline probe --device cpu` times: products, attention (decode, prefill, verify under a chain and
// under a tree), elementwise ops, and reading and copying memory.
#pragma once
#include <vector>

#include "model/measured.h"

namespace draftline {

// small: seconds, and just enough to calibrate; to see that the machine can be probed at all.
enum class GridSize { full, small };

// `last_level_cache` in bytes.
std::vector<MeasuredPoint> cpu_grid(double last_level_cache, GridSize = GridSize::full);

}  // namespace draftline
