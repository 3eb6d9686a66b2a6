// SPDX-License-Identifier: Apache-2.0
#include "reports/page/scale.h"

#include <algorithm>
#include <cmath>

namespace draftline {

// The smallest of 1, 2 and 5 times a power of ten that is at least `least`.
static double round_step(double least) {
  const double power = std::pow(10, std::floor(std::log10(least)));
  for (const double step : {1.0, 2.0, 5.0})
    if (step * power >= least * (1 - 1e-9)) return step * power;
  return 10 * power;
}

Scale::Scale(bool logarithmic, std::vector<double> values, double from, double to, bool at_values, double gap)
    : logarithmic_(logarithmic), from_(from), to_(to), gap_(gap) {
  constexpr double kMargin = 0.04;  // of the axis, at each end
  constexpr std::size_t kMostValues = 14;
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  constexpr double kSame = 1e-9;  // values that differ by less are one, but for rounding
  low_ = values.front();
  high_ = values.back();
  const bool one = high_ - low_ <= kSame * std::max(std::abs(low_), std::abs(high_));
  const double least = low_ >= 0 ? 0 : -INFINITY;
  if (one) {
    const double apart = low_ == 0 ? 1 : std::abs(low_) / 2;
    high_ += apart;
    low_ = std::max(least, low_ - apart);
  } else if (!logarithmic_ && !at_values && low_ > 0 && low_ < high_ / 2) {
    low_ = 0;  // a linear axis begins at 0 where that costs less than half of it
  }
  const double margin = kMargin * (position(high_) - position(low_));
  const auto back = [&](double p) { return logarithmic_ ? std::exp(p) : p; };
  const double first = position(low_), last = position(high_);
  if (low_ != 0) low_ = back(first - margin);
  high_ = back(last + margin);
  if (at_values && values.size() <= kMostValues) {
    if (clear(values)) ticks_ = values;
  }
  if (ticks_.empty()) ticks_ = round_ticks();
}

double Scale::position(double value) const { return logarithmic_ ? std::log(value) : value; }

double Scale::place(double value) const {
  return from_ + (to_ - from_) * (position(value) - position(low_)) / (position(high_) - position(low_));
}

bool Scale::clear(const std::vector<double>& ticks) const {
  for (std::size_t i = 1; i < ticks.size(); ++i)
    if (std::abs(place(ticks[i]) - place(ticks[i - 1])) < gap_) return false;
  return true;
}

std::vector<double> Scale::logarithmic_ticks() const {
  constexpr std::size_t kFew = 3;
  const double first = std::floor(std::log10(low_)), last = std::ceil(std::log10(high_));
  const auto ticks_at = [&](const std::vector<double>& digits, double step) {
    std::vector<double> ticks;
    for (double power = std::ceil(first / step) * step; power <= last; power += step)
      for (const double digit : digits)
        if (const double v = digit * std::pow(10, power); v >= low_ && v <= high_) ticks.push_back(v);
    return ticks;
  };
  for (const std::vector<double>& digits : {std::vector<double>{1, 2, 5}, {1}})
    for (double step = 1; step <= (digits.size() > 1 ? 1 : last - first); ++step)
      if (auto ticks = ticks_at(digits, step); clear(ticks))
        return ticks.size() >= kFew ? ticks : std::vector<double>();
  return {};
}

std::vector<double> Scale::round_ticks() const {
  constexpr int kMost = 6;
  if (logarithmic_)
    if (auto ticks = logarithmic_ticks(); !ticks.empty()) return ticks;
  std::vector<double> ticks;
  const double step = round_step((high_ - low_) / kMost), start = std::ceil(low_ / step);
  for (int i = 0; i <= kMost && (start + i) * step <= high_; ++i) ticks.push_back((start + i) * step);
  return ticks;
}

}  // namespace draftline
