// SPDX-License-Identifier: Apache-2.0
// The arithmetic of an engine's kernels from steps of several rows: `row_work` for each number of rows that was timed,
// so that steps of these rows are met on average over the contexts, and the `pair_work` with which they scatter least.
#pragma once
#include <vector>

#include "predict/served_fit.h"

namespace draftline {

// Whether the runs are steps of several rows without drafting.
bool are_steps_by_rows(const std::vector<ServedPoint>&);

// The engine with both. Other terms keep their values.
Engine fitted_to_rows(const std::vector<ServedPoint>&, const Engine&);

// The points under another profile.
std::vector<ServedPoint> under(std::vector<ServedPoint>, const Engine&);

}  // namespace draftline
