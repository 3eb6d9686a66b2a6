// SPDX-License-Identifier: Apache-2.0
#include "predict/expected_step.h"

#include <algorithm>
#include <cmath>

namespace draftline {

std::vector<std::pair<int, double>> hits_of(int sequences, double hit_share) {
  constexpr int kMostExact = 8;
  const double n = sequences, mean = n * hit_share;
  if (hit_share >= 1) return {{sequences, 1.0}};
  if (hit_share <= 0) return {{0, 1.0}};
  std::vector<std::pair<int, double>> all;
  if (sequences <= kMostExact) {
    double share = std::pow(1 - hit_share, n);
    for (int hits = 0; hits <= sequences; ++hits) {
      all.emplace_back(hits, share);
      share *= (n - hits) / (hits + 1.0) * hit_share / (1 - hit_share);
    }
    return all;
  }
  // Gauss-Hermite quadrature of the normal distribution with its mean and variance.
  const double away = std::sqrt(3 * mean * (1 - hit_share));
  for (const auto& [hits, share] : {std::pair{mean - away, 1.0 / 6}, {mean, 4.0 / 6}, {mean + away, 1.0 / 6}})
    all.emplace_back(static_cast<int>(std::lround(std::clamp(hits, 0.0, n))), share);
  return all;
}

double mean_rows(const VerifiedRows& all) {
  double mean = 0;
  for (const auto& [rows, share] : all) mean += share * rows;
  return mean;
}

}  // namespace draftline
