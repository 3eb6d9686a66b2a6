// SPDX-License-Identifier: Apache-2.0
#include "sim/prediction_interval.h"

#include <algorithm>
#include <cmath>

namespace draftline {

static std::optional<Interval> error_of(const Origin& o) {
  if (!o.borrowed_from.empty() || (o.low == 1 && o.high == 1)) return std::nullopt;
  return Interval{o.low, o.high};
}

KnownErrors known_errors(const Device& d) {
  const auto decode = error_of(d.fits.decode.origin), prefill = error_of(d.fits.prefill.origin);
  std::optional<Interval> attention;  // a step may hold both: the wider
  if (decode && prefill)
    attention = Interval{std::min(decode->low, prefill->low), std::max(decode->high, prefill->high)};
  return {error_of(d.fits.gemm.origin), attention, error_of(d.fits.copy.origin), error_of(d.all_reduce_origin)};
}

std::optional<PredictionInterval> prediction_interval(const KnownErrors& errors, const StepShares& step,
                                                      const StepShares& baseline) {
  for (const KernelKind needed : {KernelKind::gemm, KernelKind::attention}) {
    const auto k = static_cast<std::size_t>(needed);
    if (!errors[k] && (step.waited[k].value > 0 || baseline.waited[k].value > 0)) return std::nullopt;
  }
  double shorter = 0, longer = 0, lower = 0, higher = 0, covered = 0;  // squares, but for the last
  const auto square = [](double x) { return x * x; };
  for (std::size_t k = 0; k < kKernelKinds; ++k) {
    if (!errors[k]) continue;
    const double mine = step.waited[k] / step.time, base = baseline.waited[k] / baseline.time;
    covered += mine;
    shorter += square(mine * (errors[k]->low - 1));
    longer += square(mine * (errors[k]->high - 1));
    // Both steps stretch by the same factor f: the speedup by (1 + base (f - 1)) / (1 + mine (f - 1)), monotonic in f.
    const auto moved = [&](double f) { return std::log((1 + base * (f - 1)) / (1 + mine * (f - 1))); };
    const double a = moved(errors[k]->low), b = moved(errors[k]->high);
    lower += square(std::min({a, b, 0.0}));
    higher += square(std::max({a, b, 0.0}));
  }
  const Interval time{1 - std::sqrt(shorter), 1 + std::sqrt(longer)};
  return PredictionInterval{{time.low * step.time.value, time.high * step.time.value},
                            {1 / time.high, 1 / time.low},
                            {std::exp(-std::sqrt(lower)), std::exp(std::sqrt(higher))},
                            covered};
}

}  // namespace draftline
