// SPDX-License-Identifier: Apache-2.0
// Replications of a run: their seeds, and the mean of a figure over them.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/interval.h"

namespace draftline {

// The mean of a figure over all replications and, with several replications, the Student-t interval of the mean. It
// ends at 0 if no replication is below 0.
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

// The seed of a replication; the first uses `seed`. All points use the same seeds and thus the same requests (common
// random numbers).
std::uint64_t seed_of_replication(std::uint64_t seed, int replication);

}  // namespace draftline
