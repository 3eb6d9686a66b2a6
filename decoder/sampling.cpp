// SPDX-License-Identifier: Apache-2.0
#include "decoder/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "decoder/weights.h"

namespace draftline {

static void keep_top_k(std::span<double> weights, std::size_t k) {
  if (k >= weights.size()) return;
  std::vector<double> sorted(weights.begin(), weights.end());
  const auto kth = sorted.begin() + (k - 1);
  std::nth_element(sorted.begin(), kth, sorted.end(), std::greater<>());
  for (double& w : weights)
    if (w < *kth) w = 0;
}

static void keep_top_p(std::span<double> weights, double top_p) {
  std::vector<std::size_t> order;
  double total = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    order.push_back(i);
    total += weights[i];
  }
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return weights[a] > weights[b]; });
  double before = 0;
  for (const std::size_t i : order) {
    const double w = weights[i];
    if (before >= top_p * total) weights[i] = 0;
    before += w;
  }
}

void refuse_overflow() {
  throw InputErrors("the logits are not finite: weights or factors of the network are too large for 32-bit numbers");
}

void warp(std::span<const float> logits, const Sampling& sampling, std::span<double> probabilities) {
  check(!logits.empty() && probabilities.size() == logits.size(), "warp: one probability for each logit");
  check(sampling.temperature >= 0 && sampling.top_k >= 0 && sampling.top_p > 0, "warp: sampling out of its range");
  std::size_t best = 0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    if (std::isnan(logits[i]) || logits[i] == std::numeric_limits<float>::infinity()) refuse_overflow();
    if (logits[i] > logits[best]) best = i;
  }
  check(std::isfinite(logits[best]), "warp: every logit is -infinity");
  if (sampling.greedy()) {
    std::fill(probabilities.begin(), probabilities.end(), 0.0);
    probabilities[best] = 1;
    return;
  }
  const double top = logits[best];
  for (std::size_t i = 0; i < logits.size(); ++i) probabilities[i] = std::exp((logits[i] - top) / sampling.temperature);
  if (sampling.top_k > 0) keep_top_k(probabilities, at(sampling.top_k));
  if (sampling.top_p < 1) keep_top_p(probabilities, sampling.top_p);
  const double sum = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);  // >= 1, the weight of the best
  for (double& p : probabilities) p /= sum;
}

template <class T>
static int draw_from(std::span<const T> weights, double u) {
  double sum = 0;
  for (const T w : weights) sum += w;
  check(sum > 0 && std::isfinite(sum), "draw: weights that are no distribution");
  check(u >= 0 && u < 1, "draw: a uniform lies in [0, 1)");
  const double target = u * sum;  // may round up to the sum itself
  double upto = 0;
  int last = 0;
  for (int i = 0; i < count(weights); ++i) {
    const double w = weights[at(i)];
    if (!(w > 0)) continue;
    upto += w;
    if (upto > target) return i;
    last = i;
  }
  return last;
}

int draw(std::span<const double> weights, double u) { return draw_from(weights, u); }
int draw(std::span<const float> weights, double u) { return draw_from(weights, u); }

int sample(std::span<const float> logits, const Sampling& sampling, double u, std::span<float> q) {
  std::vector<double> p(logits.size());
  warp(logits, sampling, p);
  check(q.size() == p.size(), "sample: one probability for each logit");
  std::transform(p.begin(), p.end(), q.begin(), [](double v) { return single(v); });
  return draw(std::span<const float>(q), u);
}

void draw_siblings(std::span<const float> q, std::span<const double> u, bool replaced, std::span<int> tokens) {
  check(u.size() == tokens.size(), "draw_siblings: one uniform for each token");
  std::vector<float> left(q.begin(), q.end());
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool any = std::any_of(left.begin(), left.end(), [](float w) { return w > 0; });
    check(any || i > 0, "draw_siblings: weights that are no distribution");
    tokens[i] = any ? draw(std::span<const float>(left), u[i]) : tokens[i - 1];
    if (!replaced) left[at(tokens[i])] = 0;
  }
}

}  // namespace draftline
