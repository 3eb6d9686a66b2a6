// SPDX-License-Identifier: Apache-2.0
#include "model/order_statistics.h"

#include <array>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

namespace {

// n times the integral of x phi(x) Phi(x)^(n - 1), by the trapezoidal rule, which is exact to rounding for such a
// smooth integrand that vanishes at both ends.
double integrated_largest(int n) {
  constexpr double kFar = 9, kStep = 1.0 / 64;
  const double root_two_pi = std::sqrt(2 * std::acos(-1.0));
  double sum = 0;
  for (double x = -kFar; x <= kFar; x += kStep) {
    const double density = std::exp(-0.5 * x * x) / root_two_pi, below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    sum += x * density * std::pow(below, n - 1) * kStep;
  }
  return n * sum;
}

}  // namespace

double expected_largest(int n) {
  constexpr int kKept = 64;
  static const auto kept = [] {
    std::array<double, kKept + 1> largest{};
    for (int i = 2; i <= kKept; ++i) largest[at(i)] = integrated_largest(i);
    return largest;
  }();
  check(n >= 1, "the largest of no values");
  return n <= kKept ? kept[at(n)] : integrated_largest(n);
}

// Shares of a given sum are independent normal values less the mean of all of them, which takes 1/n off their variance.
double expected_excess(double variance, int n) {
  return n == 1 ? 0 : expected_largest(n) * std::sqrt(variance / (1 - 1.0 / n));
}

}  // namespace draftline
