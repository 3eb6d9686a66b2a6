// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction_interval.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <utility>

namespace draftline {

static double square(double x) { return x * x; }

// Of a transferred fit it holds what the transfer costs.
static std::optional<RatioInterval> error_of(const Origin& o) { return o.interval; }

// The union of two intervals, for kernels that use both fits; none if either is unknown.
static std::optional<RatioInterval> wider(const std::optional<RatioInterval>& a,
                                          const std::optional<RatioInterval>& b) {
  if (!a || !b) return std::nullopt;
  return RatioInterval{std::min(a->low, b->low), std::max(a->high, b->high)};
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

// Why the error of one of these fits is unknown; "" if it is known of all.
static std::string why_unknown(std::initializer_list<const Origin*> origins) {
  for (const Origin* o : origins)
    if (!o->borrowed_from.empty() && !o->interval) return "the fit is that of " + o->borrowed_from;
  for (const Origin* o : origins)  // `because` alone: `calibrate` copied the fit of a relative
    if (!o->interval)
      return o->because.empty() || o->kind == "guess" ? "too few measured points" : "the fit is a relative's";
  return {};
}
static std::string why_unknown(const GpuModel& gpu, const ChosenFits& fits) {
  const std::string formats = "these formats were not measured";
  for (const ChosenGemmFit& chosen : fits.target)
    if (chosen.guess) return formats;
  if (fits.draft && fits.draft->guess) return "the drafter's formats were not measured";
  if (std::string why = why_unknown({&gpu.gemm.origin}); !why.empty()) return why;
  for (const ChosenGemmFit& chosen : fits.target)
    if (std::string why = why_unknown({&chosen.fit.origin}); !why.empty()) return why;
  return fits.draft ? why_unknown({&fits.draft->fit.origin}) : "";
}

static KnownErrors known_errors_of(const CpuModel& cpu) {
  KnownErrors errors;
  errors.of[KernelKind::gemm] = error_of(cpu.gemm.origin);
  errors.of[KernelKind::attention] = errors.plain_attention = error_of(cpu.attention.origin);
  errors.of[KernelKind::elementwise] = error_of(cpu.elements.origin);
  errors.why[KernelKind::gemm] = why_unknown({&cpu.gemm.origin});
  errors.why[KernelKind::attention] = why_unknown({&cpu.attention.origin});
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
  errors.why[KernelKind::gemm] = why_unknown(gpu, fits);
  errors.why[KernelKind::attention] = why_unknown({&fit.decode.origin, &fit.prefill.origin});
  if (errors.why[KernelKind::attention].empty())
    errors.why[KernelKind::attention] = "the engine's library was not measured";
  if (gpu.delta_net) errors.why[KernelKind::recurrence] = why_unknown({&gpu.delta_net->origin});
  if (experts != nullptr)
    errors.why[KernelKind::experts] =
        fits.experts->guess ? "these formats were not measured" : why_unknown({&experts->origin});
  return errors;
}

KnownErrors known_errors(const Device& d, const ChosenFits& fits, const AttentionChoice& attention) {
  const auto* cpu = d.cpu();
  return cpu != nullptr ? known_errors_of(*cpu) : known_errors_of(d.gpu(), fits, attention);
}

// The share of a step's time that waits for each kind of kernel; experts are added to GEMMs where they share their
// error.
static EnumArray<KernelKind, double, kKernelKinds> shares_of(const StepBreakdown& step, bool experts_as_gemm) {
  EnumArray<KernelKind, double, kKernelKinds> shares;
  for (std::size_t k = 0; k < kKernelKinds; ++k) shares[k] = step.waited[k] / step.time;
  if (experts_as_gemm) shares[KernelKind::gemm] += std::exchange(shares[KernelKind::experts], 0);
  return shares;
}

namespace {

using KindShares = EnumArray<KernelKind, double, kKernelKinds>;
using KindErrors = EnumArray<KernelKind, std::optional<RatioInterval>, kKernelKinds>;

// Plain steps have one row a sequence. Drafting has too, but how much of a step's attention is drafting's, it doesn't
// say: a speculative step's errs as that of few rows does, which nobody measured.
KindErrors plain_errors(const KnownErrors& known) {
  KindErrors plain = known.of;
  plain[KernelKind::attention] = known.plain_attention;
  return plain;
}

// Sums of squares, of independent errors.
struct Spread {
  double shorter = 0, longer = 0;  // of the step, as shares of it
  double lower = 0, higher = 0;    // of the speedup, logarithms
};

// The speedup is lower if this step takes longer or the plain step less time. Both are factors, hence logarithms.
void add_kernels(Spread& spread, std::size_t kind, const KindShares& mine, const RatioInterval& error,
                 const KindShares& base, const std::optional<RatioInterval>& base_error) {
  spread.shorter += square(mine[kind] * (error.low - 1));
  spread.longer += square(mine[kind] * (error.high - 1));
  const auto stretch = [](double share, double f) { return square(std::log(1 + share * (f - 1))); };
  if (!base_error) return;
  spread.lower += stretch(mine[kind], error.high) + stretch(base[kind], base_error->low);
  spread.higher += stretch(mine[kind], error.low) + stretch(base[kind], base_error->high);
}

constexpr double kLeastShare = 0.02;  // of a step, which no term shortens to nothing

// A term moves this step and the plain step together: what it does to their ratio is one error.
void add_term(Spread& spread, const TermEffect& effect, const UncertainStep& mine, const UncertainStep* base) {
  const auto factor = [](const UncertainStep& s, Seconds change) {
    return std::max(kLeastShare, 1 + change / s.step.time);
  };
  const auto moved = [&](Seconds TermEffect::*end) {
    double plain = 1;
    if (base != nullptr)
      for (const TermEffect& same : base->effects)
        if (same.field == effect.field) plain = factor(*base, same.*end);
    return std::pair(factor(mine, effect.*end), plain);
  };
  const auto low = moved(&TermEffect::at_low), high = moved(&TermEffect::at_high);
  const auto [least, most] = std::minmax({1.0, low.first, high.first});
  spread.shorter += square(1 - least);
  spread.longer += square(most - 1);
  if (base == nullptr) return;
  const auto [lowest, highest] =
      std::minmax({0.0, std::log(low.second / low.first), std::log(high.second / high.first)});
  spread.lower += square(lowest);
  spread.higher += square(highest);
}

}  // namespace

namespace {

constexpr double kMostOfOthers = 0.1;  // of a step that has an interval: communication whose times are not the device's
constexpr std::pair<KernelKind, const char*> kNeeded[] = {{KernelKind::communication, "communication"},
                                                          {KernelKind::gemm, "GEMMs"},
                                                          {KernelKind::attention, "attention"},
                                                          {KernelKind::experts, "experts"},
                                                          {KernelKind::recurrence, "recurrences"}};

// The shares of two steps by kind, and their errors.
struct Compared {
  Compared(const KnownErrors& known, const StepBreakdown& step, const StepBreakdown* baseline)
      : plain(plain_errors(known)),
        errors(baseline == nullptr ? plain : known.of),
        mine(shares_of(step, known.experts_as_gemm)),
        base(baseline == nullptr ? KindShares{} : shares_of(*baseline, known.experts_as_gemm)),
        measured_links(known.why[KernelKind::communication].empty()) {}
  bool lacks(KernelKind k) const {
    if (k == KernelKind::communication && measured_links) return false;
    const double most = k == KernelKind::communication ? kMostOfOthers : 0;
    return (!errors[k] && mine[k] > most) || (!plain[k] && base[k] > most);
  }

  KindErrors plain;
  const KindErrors& errors;
  KindShares mine, base;
  bool measured_links;
};

}  // namespace

std::optional<std::string> missing_error(const KnownErrors& known, const StepBreakdown& step,
                                         const StepBreakdown* baseline) {
  const Compared both(known, step, baseline);
  std::string kinds;
  for (const auto& [k, name] : kNeeded)
    if (both.lacks(k))
      kinds +=
          (kinds.empty() ? "" : ", ") + std::string(name) + (known.why[k].empty() ? "" : " (" + known.why[k] + ")");
  if (kinds.empty()) return std::nullopt;
  return "no interval: unknown errors of " + kinds;
}

std::optional<PredictionInterval> prediction_interval(const KnownErrors& known, const UncertainStep& mine,
                                                      const UncertainStep* baseline) {
  const Compared both(known, mine.step, baseline == nullptr ? nullptr : &baseline->step);
  for (const auto& [k, name] : kNeeded)
    if (both.lacks(k)) return std::nullopt;
  Spread spread;
  double covered = 0;
  for (std::size_t k = 0; k < kKernelKinds; ++k) {
    if (!both.errors[k]) continue;  // plain steps' error is known then too
    covered += both.mine[k];
    add_kernels(spread, k, both.mine, *both.errors[k], both.base, baseline == nullptr ? std::nullopt : both.plain[k]);
  }
  for (const TermEffect& effect : mine.effects) add_term(spread, effect, mine, baseline);
  spread.shorter += square(1 - known.steps.low);  // of both steps alike, and not of their ratio
  spread.longer += square(known.steps.high - 1);
  const RatioInterval time{std::max(1e-3, 1 - std::sqrt(spread.shorter)), 1 + std::sqrt(spread.longer)};
  return PredictionInterval{time,
                            {1 / time.high, 1 / time.low},
                            {std::exp(-std::sqrt(spread.lower)), std::exp(std::sqrt(spread.higher))},
                            covered};
}

}  // namespace draftline
