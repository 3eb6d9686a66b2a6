// SPDX-License-Identifier: Apache-2.0
#include "probes/samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.h"

namespace draftline {

double UsualClock::usual() const {
  check(!readings_.empty(), "a clock that was never read");
  std::vector<double> sorted = readings_;
  const auto tenth = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 10);
  std::nth_element(sorted.begin(), tenth, sorted.end());
  return *tenth;
}

double UsualClock::typical() const {
  const double usual_one = usual();
  double speeds = 0, n = 0;
  for (const double r : readings_)
    if (std::abs(std::log(r / usual_one)) < TimedSample::kApart) speeds += 1 / r, ++n;
  return n / speeds;
}

double TimedSample::at_typical(double usual, double typical) const {
  return took >= kClockHolds && met(usual) ? took : took * typical / std::sqrt(before * after);
}

double TimedSample::distance(double usual) const {
  return std::max(std::abs(std::log(before / usual)), std::abs(std::log(after / usual)));
}

void summarise(MeasuredPoint& p, const std::vector<TimedSample>& samples, double usual) {
  check(samples.size() >= kLeastSamples, "too few samples");
  std::vector<TimedSample> all = samples;
  std::sort(all.begin(), all.end(), [&](const TimedSample& a, const TimedSample& b) {
    return std::pair(a.throttled, a.distance(usual)) < std::pair(b.throttled, b.distance(usual));
  });
  std::vector<double> kept;
  for (const TimedSample& s : all)
    if (kept.size() < kLeastSamples || s.met(usual)) kept.push_back(s.took);
  std::sort(kept.begin(), kept.end());
  p.samples = static_cast<int>(kept.size());
  p.discarded = static_cast<int>(all.size() - kept.size());
  p.low = Seconds{kept[kept.size() / 4]};
  p.median = Seconds{kept[kept.size() / 2]};
  p.high = Seconds{kept[kept.size() * 3 / 4]};
}

}  // namespace draftline
