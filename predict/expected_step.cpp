// SPDX-License-Identifier: Apache-2.0
#include "predict/expected_step.h"

#include <algorithm>
#include <cmath>

namespace draftline {

namespace {

using Hits = std::vector<std::pair<int, double>>;

Hits binomial(int n, double p) {
  constexpr int kWhole = 8;
  if (n > kWhole && p > 0.5) {  // a power of 1 - p would underflow
    Hits misses = binomial(n, 1 - p);
    for (auto& [hits, share] : misses) hits = n - hits;
    return misses;
  }
  const double least = n <= kWhole ? 0 : 1e-4;
  Hits all;
  double sum = 0, share = std::pow(1 - p, n);
  for (int hits = 0; hits <= n; ++hits) {
    if (share >= least) all.emplace_back(hits, share), sum += share;
    share *= (n - hits) / (hits + 1.0) * p / (1 - p);
  }
  if (n > kWhole)
    for (auto& [hits, of] : all) of /= sum;
  return all;
}

// By Gauss-Hermite quadrature of the normal distribution with its mean and variance. Each node is divided between the
// whole numbers beside it, which keeps the mean.
Hits normal(double n, double p) {
  const double mean = n * p, away = std::sqrt(3 * mean * (1 - p));
  Hits all;
  for (const auto& [hits, share] : {std::pair{mean - away, 1.0 / 6}, {mean, 4.0 / 6}, {mean + away, 1.0 / 6}}) {
    const double below = std::floor(hits);
    all.emplace_back(static_cast<int>(below), share * (below + 1 - hits));
    all.emplace_back(static_cast<int>(below) + 1, share * (hits - below));
  }
  std::erase_if(all, [](const auto& one) { return one.second <= 0; });
  return all;
}

}  // namespace

std::vector<std::pair<int, double>> hits_of(int sequences, double hit_share) {
  constexpr double kMany = 10;
  if (hit_share >= 1) return {{sequences, 1.0}};
  if (hit_share <= 0) return {{0, 1.0}};
  const double n = sequences;
  return n * std::min(hit_share, 1 - hit_share) < kMany ? binomial(sequences, hit_share) : normal(n, hit_share);
}

double mean_rows(const VerifiedRows& all) {
  double mean = 0;
  for (const auto& [rows, share] : all) mean += share * rows;
  return mean;
}

}  // namespace draftline
