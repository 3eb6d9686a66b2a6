// SPDX-License-Identifier: Apache-2.0
// Replications of a run: their seeds, and the mean of a figure over them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/interval.h"

namespace draftline {

// A figure over all replications: their mean and, if there are several, the Student-t interval of the mean.
struct Estimate {
  double value = 0;
  std::optional<Interval> interval;
};
Estimate estimate(std::span<const double> values, double confidence = 0.95);
template <class Run, class Figure>
Estimate estimate(const std::vector<Run>& runs, Figure figure) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(figure(run));
  return estimate(values);
}

// The seed of a replication; of the first it is `seed` itself. Points that are compared have the same seeds, and so the
// same requests (common random numbers).
std::uint64_t seed_of_replication(std::uint64_t seed, int replication);

}  // namespace draftline
