// SPDX-License-Identifier: Apache-2.0
#include "sim/histogram.h"

#include <optional>

namespace draftline {

void Histogram::add_rising(Ticks t, Ticks rise, std::int64_t steps, std::int64_t times) {
  if (steps == 1) return add(t, times);
  const auto n = to_double(steps);
  count_ += steps * times;
  sum_ += to_double(times) * (n * to_double(t) + to_double(rise) * n * (n - 1) / 2);
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
  std::int64_t wanted = rank(share, count_);
  std::optional<Seconds> found;
  each_bin([&](int page, int bin, std::int64_t times) {
    if (!found && (wanted -= times) <= 0) found = middle(page, bin);
  });
  return found.value_or(Seconds{});
}

double Histogram::share_below(Seconds t) const {
  if (count_ == 0) return 1;
  const Ticks most = to_ticks(t);
  std::int64_t below = 0;
  each_bin([&](int page, int bin, std::int64_t times) { below += (Ticks{bin} << page) <= most ? times : 0; });
  return to_double(below) / to_double(count_);
}

}  // namespace draftline
