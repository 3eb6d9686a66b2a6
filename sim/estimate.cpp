// SPDX-License-Identifier: Apache-2.0
#include "sim/estimate.h"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

#include "core/fingerprint.h"

namespace draftline {

Estimate estimate(std::span<const double> values, double confidence) {
  Estimate e;
  const auto n = to_double(values.size());
  for (const double value : values) e.value += value / n;
  if (values.size() < 2) return e;
  double squares = 0;
  for (const double value : values) squares += std::pow(value - e.value, 2);
  const double t = boost::math::quantile(boost::math::students_t(n - 1), 0.5 + confidence / 2);
  const double half = t * std::sqrt(squares / (n - 1) / n);
  const bool may_be_negative = std::ranges::min(values) < 0;  // no latency, throughput or count is
  e.interval = Interval{may_be_negative ? e.value - half : std::max(0.0, e.value - half), e.value + half};
  return e;
}

std::uint64_t seed_of_replication(std::uint64_t seed, int replication) {
  if (replication == 0) return seed;
  Fingerprint own;
  own.add(seed);
  own.add(replication);
  return own.value();
}

}  // namespace draftline
