// SPDX-License-Identifier: Apache-2.0
// Rank tests, which assume no distribution of times. Two-sided; normal approximations with corrections for
// ties and for continuity (Mann and Whitney 1947; Wilcoxon 1945), fit for about eight values and more.
#pragma once
#include <vector>

#include "core/interval.h"

namespace draftline {

// The probability of ranks as different as these if both samples came from one distribution. 1 where a sample is empty
// or all values are equal.
double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b);

// The probability of signed ranks as different as these if paired differences lay evenly about 0. 1 where all are 0.
double signed_rank_p(const std::vector<double>& differences);

// A 95 % interval of the median from order statistics (at least six values; of fewer: their range).
Interval median_interval(std::vector<double> values);

}  // namespace draftline
