// SPDX-License-Identifier: Apache-2.0
// Samples of one point: those that were taken at another clock are discarded and counted, the rest become quartiles.
#pragma once
#include <map>
#include <vector>

#include "core/int_indexed.h"
#include "model/calibration/measured.h"

namespace draftline {

// The clock of a free core, from readings of a clock reference in seconds, in the presence of rare boosts and of
// co-runners that may share the core for nearly all of the time.
class UsualClock {
 public:
  void note(double reading);
  double usual() const;    // the lower decile of the readings that are near the fastest
  double typical() const;  // a reading at the mean speed of those near the usual one: the clock of a long run

 private:
  struct Alike {
    std::size_t readings = 0;
    double speeds = 0;
    double reading() const { return to_double(readings) / speeds; }
  };
  double quantile(double, std::size_t of) const;
  std::map<int, Alike> readings_;  // a histogram by the logarithm, in thousandths, as readings are too many to keep
  std::size_t all_ = 0;
};

// A CPU's clock stays at one frequency for a millisecond or two. A shorter sample has a single frequency; a longer one
// averages over several.
inline constexpr double kClockHolds = 1e-3;

struct TimedSample {  // times in seconds
  double took = 0;
  double before = 0, after = 0;  // readings of the clock reference before and after the sample
  bool throttled = false;        // the driver held the clocks back meanwhile
  // Whether both readings are near the usual one and nothing was throttled.
  bool undisturbed(double usual) const { return !throttled && distance(usual) < kApart; }
  double distance(double usual) const;  // the larger of the readings' |ln(reading / usual)|
  // The time normalised to the typical clock: a short sample, or a disturbed one, is scaled by typical / reading. A
  // long undisturbed sample has averaged over the clock's frequencies and is left as it is.
  double normalised(double usual, double typical) const;
  static constexpr double kApart = 0.07;
};

inline constexpr std::size_t kLeastSamples = 3;

// Sets the point's quartiles and counts from the undisturbed samples. If these are fewer than kLeastSamples, the
// samples that were nearest to the usual clock are kept as well.
void summarise(MeasuredPoint&, const std::vector<TimedSample>&, double usual);

}  // namespace draftline
