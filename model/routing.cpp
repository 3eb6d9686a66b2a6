// SPDX-License-Identifier: Apache-2.0
#include "model/routing.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/errors.h"

namespace draftline {
namespace {

// Choice j of a row lies `stride` experts after choice j - 1; the rows' first choices walk over the first stride.
std::vector<int> balanced(int rows, int experts, int per_token) {
  std::vector<int> load(static_cast<std::size_t>(experts));
  const std::int64_t stride = (experts + per_token - 1) / per_token;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = rows >= stride ? row : row * stride / rows;
    for (std::int64_t j = 0; j < per_token; ++j) ++load[static_cast<std::size_t>((first + j * stride) % experts)];
  }
  return load;
}

// Every expert takes one quantile of the distribution; what rounding and the limit leave over goes to the least loaded,
// and what is too much is taken from the most loaded.
std::vector<int> power_law(int rows, int experts, int per_token, double exponent) {
  const std::int64_t choices = static_cast<std::int64_t>(rows) * per_token;
  const double least = choices > experts ? 1 : 0.01, most = choices > experts ? 0.8 * rows : 2;
  const double from = std::pow(least, 1 - exponent), to = std::pow(most, 1 - exponent);
  std::vector<double> shares;
  double sum = 0;
  for (int e = 0; e < experts; ++e) {
    shares.push_back(std::pow(from + (to - from) * (e + 0.5) / experts, 1 / (1 - exponent)));
    sum += shares.back();
  }
  std::vector<int> load;
  std::int64_t left = choices;
  for (const double share : shares) {
    load.push_back(std::min(rows, static_cast<int>(std::lround(share / sum * static_cast<double>(choices)))));
    left -= load.back();
  }
  for (; left > 0; --left) ++*std::min_element(load.begin(), load.end());
  for (; left < 0; ++left) --*std::max_element(load.begin(), load.end());
  return load;
}

}  // namespace

ExpertLoad load_of(std::span<const int> rows_of_experts) {
  ExpertLoad load;
  for (const int rows : rows_of_experts) {
    if (rows == 0) continue;
    ++load.touched;
    load.choices += rows;
    for (std::size_t i = 0; i < load.tiles.size(); ++i)
      load.tiles[i] += (rows + kExpertTileRows[i] - 1) / kExpertTileRows[i];
  }
  return load;
}

ExpertLoad expected_load(const ExpertMlp& k) {
  ExpertLoad load{busiest_experts_touched(k), busiest_expert_rows(k), {}};
  for (std::size_t i = 0; i < load.tiles.size(); ++i) {
    const double tile = kExpertTileRows[i];
    load.tiles[i] = std::max(load.touched, load.choices / tile + load.touched * (1 - 1 / tile) / 2);
  }
  return load;
}

std::vector<int> rows_of_experts(Routing routing, int rows, int experts, int per_token, double exponent) {
  check(rows > 0 && per_token > 0 && per_token <= experts, "a layer has rows, and rows choose among its experts");
  return routing == Routing::balanced ? balanced(rows, experts, per_token)
                                      : power_law(rows, experts, per_token, exponent);
}

double overlap_of(double shared, int experts, int per_token) {
  const double chance = static_cast<double>(per_token) / experts;
  return std::clamp((shared - chance) / (1 - chance), 0.0, 1.0);
}

std::optional<double> overlap_of_touched(double touched, int sequences, int rows, int experts, int per_token) {
  check(rows > sequences, "one row of each sequence says nothing of how alike its rows choose");
  if (touched < per_token || touched >= experts || per_token >= experts) return std::nullopt;
  const double draws = std::log1p(-touched / experts) / std::log1p(-static_cast<double>(per_token) / experts);
  return std::clamp(1 - (draws - sequences) / (rows - sequences), 0.0, 1.0);
}

}  // namespace draftline
