// SPDX-License-Identifier: Apache-2.0
#include "probes/samples.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

void UsualClock::note(double reading) {
  constexpr double kSteps = 1e3;
  Alike& alike = readings_[to_int(std::lround(kSteps * std::log(reading)))];
  ++alike.readings;
  alike.speeds += 1 / reading;
  ++all_;
}

// The q-quantile of the `of` fastest readings.
double UsualClock::quantile(double q, std::size_t of) const {
  std::size_t faster = 0;
  for (const auto& [bin, alike] : readings_)
    if ((faster += alike.readings) > at(to_int64(q * to_double(of)))) return alike.reading();
  return readings_.rbegin()->second.reading();
}

double UsualClock::usual() const {
  constexpr double kBoosts = 0.01, kShared = 1.25;  // beside a busy SMT sibling, readings are 1.4 to 1.7 times as long
  check(all_ > 0, "a clock that was never read");
  const double fastest = quantile(kBoosts, all_);
  std::size_t free = 0;
  for (const auto& [bin, alike] : readings_)
    if (alike.reading() < kShared * fastest) free += alike.readings;
  return quantile(0.1, free);
}

double UsualClock::typical() const {
  const double usual_one = usual();
  Alike near;
  for (const auto& [bin, alike] : readings_)
    if (std::abs(std::log(alike.reading() / usual_one)) < TimedSample::kApart) {
      near.readings += alike.readings;
      near.speeds += alike.speeds;
    }
  return near.reading();
}

double TimedSample::normalised(double usual, double typical) const {
  return took >= kClockHolds && undisturbed(usual) ? took : took * typical / std::sqrt(before * after);
}

double TimedSample::distance(double usual) const {
  return std::max(std::abs(std::log(before / usual)), std::abs(std::log(after / usual)));
}

void summarise(MeasuredPoint& p, const std::vector<TimedSample>& samples, double usual) {
  check(samples.size() >= kLeastSamples, "too few samples");
  std::vector<TimedSample> all = samples;
  std::ranges::sort(all, [&](const TimedSample& a, const TimedSample& b) {
    return std::pair(a.throttled, a.distance(usual)) < std::pair(b.throttled, b.distance(usual));
  });
  std::vector<double> kept;
  for (const TimedSample& s : all)
    if (kept.size() < kLeastSamples || s.undisturbed(usual)) kept.push_back(s.took);
  std::ranges::sort(kept);
  p.samples = count(kept);
  p.discarded = to_int(all.size() - kept.size());
  p.low = Seconds{kept[kept.size() / 4]};
  p.median = Seconds{kept[kept.size() / 2]};
  p.high = Seconds{kept[kept.size() * 3 / 4]};
}

}  // namespace draftline
