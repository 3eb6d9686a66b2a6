// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <vector>

namespace draftline {

// The binomial distribution: how many of n independent events happen, each with probability p, and the share of that
// count. For n above 8, counts with a share below 1e-4 are left out. Where ten or more events both happen and don't on
// average, at most six counts that have the distribution's mean stand for it. The shares sum to 1.
std::vector<std::pair<int, double>> binomial(int n, double p);

}  // namespace draftline
