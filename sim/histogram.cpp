// SPDX-License-Identifier: Apache-2.0
#include "sim/histogram.h"

namespace draftline {

void Histogram::add_rising(Ticks t, Ticks rise, std::int64_t steps, std::int64_t times) {
  if (steps == 1) return add(t, times);
  const auto n = static_cast<double>(steps);
  count_ += steps * times;
  sum_ += static_cast<double>(times) * (n * static_cast<double>(t) + static_cast<double>(rise) * n * (n - 1) / 2);
  while (steps > 0) {
    const int page = page_of(t);
    const Ticks end = ((t >> page) + 1) << page;
    const std::int64_t here = rise <= 0 ? steps : std::min(steps, (end - t + rise - 1) / rise);
    add_to_bin(t, here * times);
    steps -= here;
    t += here * rise;
  }
}

Seconds Histogram::middle(Ticks t) {
  const int page = page_of(t);
  return middle(page, t >> page);
}

Seconds Histogram::quantile(double share) const {
  if (count_ == 0) return {};
  std::int64_t wanted = rank(share, count_);
  for (int p = 0; p < static_cast<int>(pages_.size()); ++p) {
    const auto& counts = pages_[static_cast<std::size_t>(p)];
    if (!counts) continue;
    for (int b = 0; b < static_cast<int>(counts->size()); ++b) {
      wanted -= (*counts)[static_cast<std::size_t>(b)];
      if (wanted <= 0) return middle(p, b);
    }
  }
  return {};
}

double Histogram::share_below(Seconds t) const {
  if (count_ == 0) return 1;
  const Ticks most = to_ticks(t);
  std::int64_t below = 0;
  for (int p = 0; p < static_cast<int>(pages_.size()); ++p) {
    const auto& counts = pages_[static_cast<std::size_t>(p)];
    if (!counts) continue;
    for (int b = 0; b < static_cast<int>(counts->size()); ++b)
      if ((Ticks{b} << p) <= most) below += (*counts)[static_cast<std::size_t>(b)];
  }
  return static_cast<double>(below) / static_cast<double>(count_);
}

}  // namespace draftline
