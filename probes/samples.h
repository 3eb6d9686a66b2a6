// SPDX-License-Identifier: Apache-2.0
// Samples of one point: those that met another clock speed are discarded and counted, the rest become quartiles.
#pragma once
#include <vector>

#include "model/measured.h"

namespace draftline {

// What a yardstick mostly takes: the lower quartile of all its readings, between rare boosts and neighbours.
class UsualClock {
 public:
  void note(double reading) { readings_.push_back(reading); }
  double usual() const;

 private:
  std::vector<double> readings_;
};

struct TimedSample {  // seconds
  double took = 0;
  double before = 0, after = 0;  // a yardstick beside it
  bool throttled = false;        // the driver held the clocks back
  bool met(double usual) const { return !throttled && distance(usual) < kApart; }
  double distance(double usual) const;  // of both readings, in powers of e

 private:
  static constexpr double kApart = 0.07;
};

inline constexpr std::size_t kLeastSamples = 3;

// Where too few met the usual clock, those that were nearest to it stay.
void summarise(MeasuredPoint&, const std::vector<TimedSample>&, double usual);

}  // namespace draftline
