// SPDX-License-Identifier: Apache-2.0
// Statistics of acceptance traces (trace/step_statistics) as tables, CSV or JSON.
#pragma once
#include <string>
#include <vector>

#include "reports/output.h"
#include "trace/step_statistics.h"

namespace draftline {

struct TraceSummary {
  std::string name, method, task, target, random_weights;  // `method`: TraceHeader's
  StepStatistics steps;
  std::optional<double> drafts_per_step = {};  // none: not recorded
};

// A method's object in words: "prompt_lookup, k 8".
std::string recorded_method(const std::string& object);

// `together`: of all texts of these traces; null: not computed.
void write_trace_report(const Output&, const std::vector<TraceSummary>&, const TraceSummary* together);

// A tree of drafts that one trace chose, on a trace: tokens per step with it, with the tree of as many drafts that is
// best for the trace itself, and with the longest chain of at most as many.
struct TreeOnTrace {
  std::string name, task;
  double tree = 0, own_best = 0, chain = 0;
};
// `paths`: of ranks, from the root to each draft.
void write_tree_report(const Output&, const std::vector<std::vector<int>>& paths, const std::vector<TreeOnTrace>&);

}  // namespace draftline
