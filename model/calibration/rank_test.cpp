// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/rank_test.h"

#include <algorithm>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "core/int_indexed.h"

namespace draftline {

namespace {

// Ranks from 1, ties sharing their mean; `ties`: the sum of t^3 - t over groups of t equal values.
std::vector<double> ranks_of(const std::vector<double>& values, double& ties) {
  const IntSpan<const double> value(values);
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int a, int b) { return value[a] < value[b]; });
  std::vector<double> ranks(values.size());
  ties = 0;
  for (int i = 0; i < count(order);) {
    int j = i;
    while (j < count(order) && value[order[at(j)]] == value[order[at(i)]]) ++j;
    const double n = j - i;
    for (int k = i; k < j; ++k) ranks[at(order[at(k)])] = 0.5 * (i + 1 + j);
    ties += n * n * n - n;
    i = j;
  }
  return ranks;
}

double two_sided(double distance, double deviation) {
  if (deviation <= 0) return 1;
  const double z = std::max(0.0, std::abs(distance) - 0.5) / deviation;
  return std::min(1.0, 2 * boost::math::cdf(boost::math::complement(boost::math::normal(), z)));
}

}  // namespace

double mann_whitney_p(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.empty() || b.empty()) return 1;
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  double ties = 0;
  const auto ranks = ranks_of(all, ties);
  const double m = count(a), n = count(b), both = m + n;
  const double u = std::accumulate(ranks.begin(), ranks.begin() + count(a), 0.0) - m * (m + 1) / 2;
  const double variance = m * n / 12 * (both + 1 - ties / (both * (both - 1)));
  return two_sided(u - m * n / 2, std::sqrt(std::max(0.0, variance)));
}

double signed_rank_p(const std::vector<double>& differences) {
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double d : differences)
    if (d != 0) sizes.push_back(std::abs(d)), positive.push_back(d > 0);
  if (sizes.empty()) return 1;
  double ties = 0, sum = 0;
  const auto ranks = ranks_of(sizes, ties);
  for (std::size_t i = 0; i < ranks.size(); ++i) sum += positive[i] ? ranks[i] : 0;
  const double n = count(sizes);
  const double variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48;
  return two_sided(sum - n * (n + 1) / 4, std::sqrt(std::max(0.0, variance)));
}

Interval median_interval(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const double n = count(values);
  const double below = std::floor(n / 2 - 0.98 * std::sqrt(n));  // 1.96 deviations of a binomial with p = 1/2
  const int low = std::max(0, static_cast<int>(below));
  return {values[at(low)], values[at(count(values) - 1 - low)]};
}

}  // namespace draftline
