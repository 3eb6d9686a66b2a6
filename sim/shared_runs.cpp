// SPDX-License-Identifier: Apache-2.0
#include "sim/shared_runs.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace draftline {

std::vector<std::string> without_load_axes(const Serving& serving, const ServingChoice& choice) {
  constexpr std::array<std::string_view, 3> kOfLoad{"rate", "max_num_seqs", "max_batch_size"};
  std::vector<std::string> values;
  for (std::size_t i = 0; i < serving.axes.size(); ++i)
    if (std::ranges::find(kOfLoad, serving.axes[i]) == kOfLoad.end()) values.push_back(choice.varying[i]);
  return values;
}

bool same_run(const RunInputs& known, const Demand& demand, RunInputs inputs) {
  if (known.seed != inputs.seed || known.rate != inputs.rate) return false;  // most differ in these
  if (demand.granted_by(inputs.limits)) {
    inputs.limits.max_num_seqs = known.limits.max_num_seqs;
    inputs.limits.kv_blocks = known.limits.kv_blocks;
  }
  return known == inputs;
}

}  // namespace draftline
