// SPDX-License-Identifier: Apache-2.0
// Samples of one point: those that met another clock speed are discarded and counted, the rest become quartiles.
#pragma once
#include <map>
#include <vector>

#include "model/measured.h"

namespace draftline {

// What a clock reference takes on a free core: the lower decile of those readings that are near the fastest, between rare boosts and
// neighbours, who may be busy for nearly all of the time.
class UsualClock {
 public:
  void note(double reading);
  double usual() const;
  double typical() const;  // at the mean speed of those near the usual one: what it takes in the long run

 private:
  struct Alike {
    std::size_t readings = 0;
    double speeds = 0;
    double reading() const { return static_cast<double>(readings) / speeds; }
  };
  double quantile(double, std::size_t of) const;
  std::map<int, Alike> readings_;  // by their logarithms, in thousandths: there are too many to keep
  std::size_t all_ = 0;
};

// A CPU's clock goes from step to step, each of which holds for a millisecond or two. What is shorter meets one of
// them; what is longer their mean.
inline constexpr double kClockHolds = 1e-3;

struct TimedSample {  // seconds
  double took = 0;
  double before = 0, after = 0;  // a clock reference beside it
  bool throttled = false;        // the driver held the clocks back
  bool met(double usual) const { return !throttled && distance(usual) < kApart; }
  double distance(double usual) const;  // of both readings, in powers of e
  // At the typical clock: of a short sample, or one that did not meet the usual clock, as much less as the clock reference took
  // longer beside it.
  double at_typical(double usual, double typical) const;
  static constexpr double kApart = 0.07;
};

inline constexpr std::size_t kLeastSamples = 3;

// Where too few met the usual clock, those that were nearest to it stay.
void summarise(MeasuredPoint&, const std::vector<TimedSample>&, double usual);

}  // namespace draftline
