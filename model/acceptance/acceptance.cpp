// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/acceptance.h"

#include <algorithm>
#include <boost/math/tools/minima.hpp>
#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

LengthDistribution::LengthDistribution(std::span<const double> survival) : probability_(survival.size() + 1) {
  constexpr double kRounding = 1e-12;
  double before = 1;
  for (std::size_t j = 0; j < survival.size(); ++j) {
    check(survival[j] >= -kRounding && survival[j] <= before + kRounding, "a survival function falls from 1 to 0");
    const double here = std::clamp(survival[j], 0.0, before);
    probability_[j] = before - here;
    before = here;
  }
  probability_.back() = before;
}

double LengthDistribution::probability(int length) const {
  return length < 1 || length > longest() ? 0 : probability_[at(length - 1)];
}

double LengthDistribution::mean() const {
  double sum = 0;
  for (int n = 1; n <= longest(); ++n) sum += n * probability(n);
  return sum;
}

double LengthDistribution::variance() const {
  const double centre = mean();
  double sum = 0;
  for (int n = 1; n <= longest(); ++n) sum += (n - centre) * (n - centre) * probability(n);
  return sum;
}

LengthDistribution chain_lengths(std::span<const double> rates) {
  std::vector<double> survival;
  double all = 1;
  for (const double rate : rates) survival.push_back(all *= rate);
  return LengthDistribution(survival);
}

double iid_chain_length(double rate, int draft_length) {
  double sum = 0;  // Horner's form of 1 + a + ... + a^k: exact at a = 1, where the quotient is 0 / 0
  for (int j = 0; j <= draft_length; ++j) sum = 1 + rate * sum;
  return sum;
}

double iid_rate(double mean_length, int draft_length) {
  if (!(mean_length >= 1 && mean_length <= draft_length + 1.0))
    throw InputErrors("mean_length " + std::to_string(mean_length) + " is impossible with draft_length " +
                      std::to_string(draft_length) + ": it counts the bonus token and lies in [1, " +
                      std::to_string(draft_length + 1) + "]");
  if (mean_length == draft_length + 1.0) return draft_length == 0 ? 0 : 1;
  double low = 0, high = 1;
  while (true) {  // the length rises with the rate
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) return middle;
    (iid_chain_length(middle, draft_length) < mean_length ? low : high) = middle;
  }
}

LengthDistribution tree_lengths(std::span<const std::vector<int>> paths, std::span<const std::vector<double>> ranks) {
  std::vector<std::string> mistakes;
  for (std::size_t level = 0; level < ranks.size(); ++level) {
    double sum = 0;
    bool negative = false;
    for (const double p : ranks[level]) {
      sum += p;
      negative = negative || !(p >= 0);
    }
    if (negative || sum > 1 + 1e-9)
      mistakes.push_back("rank probabilities of level " + std::to_string(level + 1) +
                         " must be at least 0 and add up to at most 1");
  }
  std::set<std::vector<int>> nodes;
  for (const auto& path : paths) {
    std::string text;
    for (const int rank : path) text += (text.empty() ? "[" : ", ") + std::to_string(rank);
    text = path.empty() ? "[]" : text + "]";
    if (path.empty()) mistakes.push_back("tree path [] is the root, which every tree has");
    else if (!nodes.insert(path).second) mistakes.push_back("tree path " + text + " stands there twice");
    if (path.size() > ranks.size()) {
      mistakes.push_back("tree path " + text + " is deeper than the " + std::to_string(ranks.size()) +
                         " levels with known ranks");
      continue;
    }
    for (std::size_t level = 0; level < path.size(); ++level)
      if (path[level] < 0 || path[level] >= count(ranks[level]))
        mistakes.push_back("tree path " + text + ": rank " + std::to_string(path[level]) + " of level " +
                           std::to_string(level + 1) + " is not known");
  }
  for (const auto& path : nodes)
    if (path.size() > 1 && !nodes.contains({path.begin(), path.end() - 1}))
      mistakes.push_back("a tree path of depth " + std::to_string(path.size()) + " has no parent in the tree");
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));

  std::vector<double> survival;  // nodes of one level exclude each other
  for (const auto& path : nodes) {
    double reached = 1;
    for (std::size_t level = 0; level < path.size(); ++level) reached *= ranks[level][at(path[level])];
    if (path.size() > survival.size()) survival.resize(path.size());
    survival[path.size() - 1] += reached;
  }
  return LengthDistribution(survival);
}

double S3dFormulas::acceptance_rate(double layer_ratio) const { return (1 - std::pow(base, layer_ratio)) / (1 - base); }

double S3dFormulas::acceptance_rate(double layer_ratio, int position) const {
  return std::clamp(intercept - slope * position, 0.0, 1.0) * acceptance_rate(layer_ratio);
}

LengthDistribution S3dFormulas::lengths(double layer_ratio, int draft_length) const {
  std::vector<double> rates;
  for (int k = 1; k <= draft_length; ++k) rates.push_back(acceptance_rate(layer_ratio, k));
  return chain_lengths(rates);
}

double S3dFormulas::acceptance_length(double layer_ratio, int draft_length) const {
  return lengths(layer_ratio, draft_length).mean();
}

double S3dFormulas::improvement(double layer_ratio, int draft_length) const {
  return acceptance_length(layer_ratio, draft_length) / (overhead + layer_ratio + 1);
}

S3dOptimum best_layer_ratio(const S3dFormulas& f, int draft_length) {
  const auto loss = [&](double ratio) { return -f.improvement(ratio, draft_length); };
  // A grid finds the hill, Brent's method its top.
  constexpr int kSteps = 200;
  int best = 0;
  for (int i = 1; i <= kSteps; ++i)
    if (loss(1.0 * i / kSteps) < loss(1.0 * best / kSteps)) best = i;
  const double low = std::max(0.0, (best - 1.0) / kSteps), high = std::min(1.0, (best + 1.0) / kSteps);
  const double ratio =
      boost::math::tools::brent_find_minima(loss, low, high, std::numeric_limits<double>::digits / 2).first;
  return {ratio, f.improvement(ratio, draft_length), f.acceptance_length(ratio, draft_length)};
}

S3dFormulas read_s3d_formulas(Reader in) {
  S3dFormulas f;
  f.base = in.at("base").at("value").number(1e-12, 1 - 1e-12);
  f.overhead = in.at("overhead").at("value").number(0);
  const auto discount = in.at("discount");
  f.intercept = discount.at("intercept").number();
  f.slope = discount.at("slope").number(0);
  f.last_position = discount.at("last_position").positive_int();
  return f;
}

}  // namespace draftline
