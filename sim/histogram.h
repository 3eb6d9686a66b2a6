// SPDX-License-Identifier: Apache-2.0
// A histogram of times with bins at most 0.2 % wide, so that a percentile is exact to 0.1 %; the mean is exact. Counts
// are integers, so that percentiles do not depend on the order of additions. Memory is allocated for the range in use.
#pragma once
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <memory>
#include <tuple>

#include "core/clock.h"

namespace draftline {

class Histogram {
 public:
  void add(Ticks t, std::int64_t times = 1) {  // adds t, which is not negative, `times` times
    count_ += times;
    sum_ += to_double(t) * to_double(times);
    add_to_bin(t, times);
  }
  // Adds each of the `steps` values t, t + rise, t + 2 rise, ... `times` times.
  void add_rising(Ticks t, Ticks rise, std::int64_t steps, std::int64_t times);

  std::int64_t count() const { return count_; }
  Seconds mean() const { return {count_ == 0 ? 0 : sum_ / to_double(count_) / kTicksPerSecond}; }
  // The mean of `values` values (at least count()), counting values not added yet as 0.
  Seconds mean_of(std::int64_t values) const { return {sum_ / to_double(values) / kTicksPerSecond}; }
  Seconds quantile(double share) const;  // `share`: 0 to 1; the middle of a bin, 0 s if empty
  static Seconds middle(Ticks t);        // the middle of the value's bin
  // The rank, from 1 and in ascending order, of the quantile among `values` values (at least 1).
  static std::int64_t rank(double share, std::int64_t values) {
    return std::clamp<std::int64_t>(to_int64(std::ceil(share * to_double(values))), 1, values);
  }
  double share_below(Seconds) const;  // share of values at or below a time, to the precision of a bin; 1 if empty

  static auto members(auto& self) {  // core/packed.h
    auto& [count, sum, pages] = self;
    return std::tie(count, sum, pages);
  }

 private:
  static constexpr int kBits = 10;
  using Page = std::array<std::int64_t, 1 << kBits>;
  static int page_of(Ticks t) { return std::max(0, to_int(std::bit_width(at(t))) - kBits); }
  static Seconds middle(int page, Ticks bin) { return to_seconds((bin << page) + (((Ticks{1} << page) - 1) / 2)); }
  void add_to_bin(Ticks t, std::int64_t times) {
    const int page = page_of(t);
    auto& counts = pages_[at(page)];
    if (!counts) counts = std::make_unique<Page>();
    (*counts)[at(t >> page)] += times;
  }
  template <class Act>
  void each_bin(Act act) const {  // act(page, bin, times), ascending
    for (int p = 0; p < draftline::count(pages_); ++p)
      for (int b = 0; pages_[at(p)] && b < draftline::count(*pages_[at(p)]); ++b) act(p, b, (*pages_[at(p)])[at(b)]);
  }
  std::int64_t count_ = 0;
  double sum_ = 0;
  std::array<std::unique_ptr<Page>, 64> pages_;
};

}  // namespace draftline
