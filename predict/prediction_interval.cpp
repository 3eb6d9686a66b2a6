// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction_interval.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace draftline {

static double square(double x) { return x * x; }

static std::optional<RatioInterval> error_of(const Origin& o) {
  return o.borrowed_from.empty() ? o.interval : std::nullopt;
}

// The union of two intervals, for kernels that use both fits; none if either is unknown.
static std::optional<RatioInterval> wider(const std::optional<RatioInterval>& a,
                                          const std::optional<RatioInterval>& b) {
  if (!a || !b) return std::nullopt;
  return RatioInterval{std::min(a->low, b->low), std::max(a->high, b->high)};
}

// An engine may call any library that the device has: the widest of their intervals, where all have one.
static std::optional<RatioInterval> error_of(const Links& links) {
  std::optional<RatioInterval> widest;
  for (const LinkTable& t : links.tables) {
    const auto one = error_of(t.origin);
    if (!one) return std::nullopt;
    widest = widest ? RatioInterval{std::min(widest->low, one->low), std::max(widest->high, one->high)} : *one;
  }
  return widest;
}

// The widest error of all products: of the network's, of what of it keeps 16 bits, and of a drafter's.
static std::optional<RatioInterval> error_of_gemms(const GpuModel& gpu, const ChosenFits& fits) {
  std::optional<RatioInterval> widest = error_of(gpu.gemm.origin);
  std::vector<ChosenGemmFit> all = fits.target;
  if (fits.draft) all.push_back(*fits.draft);
  for (const ChosenGemmFit& chosen : all) {
    if (chosen.guess) return std::nullopt;
    widest = wider(widest, error_of(chosen.fit.origin));
  }
  return widest;
}

static KnownErrors known_errors_of(const CpuModel& cpu) {
  KnownErrors errors;
  errors.of[KernelKind::gemm] = error_of(cpu.gemm.origin);
  errors.of[KernelKind::attention] = errors.plain_attention = error_of(cpu.attention.origin);
  errors.of[KernelKind::elementwise] = error_of(cpu.elements.origin);
  return errors;
}

static KnownErrors known_errors_of(const GpuModel& gpu, const ChosenFits& fits, const AttentionChoice& attention) {
  KnownErrors errors;
  errors.of[KernelKind::gemm] = error_of_gemms(gpu, fits);
  const AttentionFit& fit = attention.fit == nullptr ? gpu.attention.fits.front() : *attention.fit;
  const auto known = [&](const std::optional<RatioInterval>& own) {
    return attention.measured ? own : wider(own, gpu.attention.other_library);
  };
  errors.plain_attention = known(error_of(fit.decode.origin));
  errors.of[KernelKind::attention] = known(wider(error_of(fit.decode.origin), error_of(fit.prefill.origin)));
  errors.of[KernelKind::elementwise] = error_of(gpu.copy.origin);
  if (gpu.delta_net) errors.of[KernelKind::recurrence] = error_of(gpu.delta_net->origin);
  const ExpertFit* experts = fits.experts->fit;
  errors.experts_as_gemm = experts == nullptr;
  if (experts != nullptr && !fits.experts->guess) errors.of[KernelKind::experts] = error_of(experts->origin);
  return errors;
}

KnownErrors known_errors(const Device& d, const ChosenFits& fits, const AttentionChoice& attention) {
  const auto* cpu = d.cpu();
  KnownErrors errors = cpu != nullptr ? known_errors_of(*cpu) : known_errors_of(d.gpu(), fits, attention);
  errors.of[KernelKind::communication] = error_of(d.links);
  return errors;
}

// The share of a step's time that waits for each kind of kernel; experts are added to GEMMs where they share their
// error.
static EnumArray<KernelKind, double, kKernelKinds> shares_of(const StepBreakdown& step, bool experts_as_gemm) {
  EnumArray<KernelKind, double, kKernelKinds> shares;
  for (std::size_t k = 0; k < kKernelKinds; ++k) shares[k] = step.waited[k] / step.time;
  if (experts_as_gemm) shares[KernelKind::gemm] += std::exchange(shares[KernelKind::experts], 0);
  return shares;
}

std::optional<PredictionInterval> prediction_interval(const KnownErrors& known, const StepBreakdown& step,
                                                      const StepBreakdown* baseline) {
  // Plain steps have one row a sequence. Drafting has too, but how much of a step's attention is drafting's, it doesn't
  // say: a speculative step's errs as that of few rows does, which nobody measured.
  auto plain = known.of;
  plain[KernelKind::attention] = known.plain_attention;
  const auto& errors = baseline == nullptr ? plain : known.of;
  const auto mine = shares_of(step, known.experts_as_gemm),
             base = baseline == nullptr ? decltype(mine){} : shares_of(*baseline, known.experts_as_gemm);
  for (const KernelKind k : {KernelKind::gemm, KernelKind::attention, KernelKind::experts, KernelKind::recurrence})
    if ((!errors[k] && mine[k] > 0) || (!plain[k] && base[k] > 0)) return std::nullopt;
  double shorter = 0, longer = 0, lower = 0, higher = 0, covered = 0;  // all but the last are sums of squares
  for (std::size_t k = 0; k < kKernelKinds; ++k) {
    if (!errors[k]) continue;  // plain steps' error is known then too
    covered += mine[k];
    shorter += square(mine[k] * (errors[k]->low - 1));
    longer += square(mine[k] * (errors[k]->high - 1));
    if (baseline == nullptr) continue;
    // The speedup is lower if this step takes longer or the plain step less time. Both are factors, hence logarithms.
    const auto stretch = [](double share, double f) { return square(std::log(1 + share * (f - 1))); };
    if (!plain[k]) continue;
    lower += stretch(mine[k], errors[k]->high) + stretch(base[k], plain[k]->low);
    higher += stretch(mine[k], errors[k]->low) + stretch(base[k], plain[k]->high);
  }
  const RatioInterval time{1 - std::sqrt(shorter), 1 + std::sqrt(longer)};
  return PredictionInterval{
      time, {1 / time.high, 1 / time.low}, {std::exp(-std::sqrt(lower)), std::exp(std::sqrt(higher))}, covered};
}

}  // namespace draftline
