// SPDX-License-Identifier: Apache-2.0
#include "core/binomial.h"

#include <algorithm>
#include <cmath>

namespace draftline {

namespace {

using Shares = std::vector<std::pair<int, double>>;

Shares exact(int n, double p) {
  constexpr int kWhole = 8;
  if (n > kWhole && p > 0.5) {  // a power of 1 - p would underflow
    Shares others = exact(n, 1 - p);
    for (auto& [count, share] : others) count = n - count;
    return others;
  }
  const double least = n <= kWhole ? 0 : 1e-4;
  Shares all;
  double sum = 0, share = std::pow(1 - p, n);
  for (int count = 0; count <= n; ++count) {
    if (share >= least) all.emplace_back(count, share), sum += share;
    share *= (n - count) / (count + 1.0) * p / (1 - p);
  }
  if (n > kWhole)
    for (auto& [count, of] : all) of /= sum;
  return all;
}

// The nodes and weights of the Gauss-Hermite quadrature of the normal distribution with the same mean and variance.
// Each node is divided between the whole numbers beside it, which keeps the mean.
Shares normal(double n, double p) {
  const double mean = n * p, away = std::sqrt(3 * mean * (1 - p));
  Shares all;
  for (const auto& [count, share] : {std::pair{mean - away, 1.0 / 6}, {mean, 4.0 / 6}, {mean + away, 1.0 / 6}}) {
    const double below = std::floor(count);
    all.emplace_back(static_cast<int>(below), share * (below + 1 - count));
    all.emplace_back(static_cast<int>(below) + 1, share * (count - below));
  }
  std::erase_if(all, [](const auto& one) { return one.second <= 0; });
  return all;
}

}  // namespace

std::vector<std::pair<int, double>> binomial(int n, double p) {
  constexpr double kMany = 10;
  if (p >= 1) return {{n, 1.0}};
  if (p <= 0) return {{0, 1.0}};
  return n * std::min(p, 1 - p) < kMany ? exact(n, p) : normal(n, p);
}

}  // namespace draftline
