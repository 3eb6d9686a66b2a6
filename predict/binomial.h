// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <vector>

namespace draftline {

// How many of n independent things happen, each with probability p, and how often: the binomial distribution, without
// what happens less than once in ten thousand times; where ten or more both happen and don't on average, six values
// that have its mean. The shares sum to 1.
std::vector<std::pair<int, double>> binomial(int n, double p);

}  // namespace draftline
