// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <utility>
#include <vector>

namespace draftline {

// The binomial distribution: how many of n independent events happen, each with probability p, and the share of that
// count. For n above 8, counts with a share below 1e-4 are left out. If on average at least ten events happen and at
// least ten do not, at most six counts with the same mean replace the distribution. The shares sum to 1.
std::vector<std::pair<int, double>> binomial(int n, double p);

}  // namespace draftline
