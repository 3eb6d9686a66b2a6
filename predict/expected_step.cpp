// SPDX-License-Identifier: Apache-2.0
#include "predict/expected_step.h"

namespace draftline {

double mean_rows(const VerifiedRows& all) {
  double mean = 0;
  for (const auto& [rows, share] : all) mean += share * rows;
  return mean;
}

}  // namespace draftline
