// SPDX-License-Identifier: Apache-2.0
#include "model/order_statistics.h"

#include <array>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

namespace {

constexpr int kKept = 64;

// n times the integral of x phi(x) Phi(x)^(n - 1) for each n from `from` to `to`, by the trapezoidal rule, which is
// exact to rounding for such a smooth integrand that vanishes at both ends.
template <class Sums>
void integrate(int from, int to, Sums& sums) {
  constexpr double kFar = 9, kStep = 1.0 / 64;
  const double root_two_pi = std::sqrt(2 * std::acos(-1.0));
  for (double x = -kFar; x <= kFar; x += kStep) {
    const double density = std::exp(-0.5 * x * x) / root_two_pi, below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    for (int n = from; n <= to; ++n) sums[at(n - from)] += x * density * std::pow(below, n - 1) * kStep;
  }
  for (int n = from; n <= to; ++n) sums[at(n - from)] *= n;
}

}  // namespace

double expected_largest(int n) {
  static const auto kept = [] {
    std::array<double, kKept - 1> largest{};  // of 2, 3, ..
    integrate(2, kKept, largest);
    return largest;
  }();
  check(n >= 1, "the largest of no values");
  if (n == 1) return 0;
  if (n <= kKept) return kept[at(n - 2)];
  std::array<double, 1> largest{};
  integrate(n, n, largest);
  return largest.front();
}

// Shares of a given sum are independent normal values less the mean of all of them, which takes 1/n off their variance.
double expected_excess(double variance, int n) {
  return n == 1 ? 0 : expected_largest(n) * std::sqrt(variance / (1 - 1.0 / n));
}

}  // namespace draftline
