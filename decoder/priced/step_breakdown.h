// SPDX-License-Identifier: Apache-2.0
// The breakdown of a step's time, used by predictions, advice, the simulator, validation and reports. Its entries are
// additive, so that means over contexts and differences between methods are computed entry by entry. All entries are in
// seconds.
#pragma once
#include "core/int_indexed.h"
#include "core/quantity.h"
#include "decoder/tape.h"

namespace draftline {

// What a kernel does. Kernels of one kind share the coefficients of their fit, so their predictions err together;
// experts share those of GEMMs.
enum class KernelKind { gemm, attention, experts, elementwise, communication, recurrence };
inline constexpr std::size_t kKernelKinds = 6, kPhases = 3;
using KindTimes = EnumArray<KernelKind, Seconds, kKernelKinds>;

struct StepBreakdown {
  Seconds time;                                    // of the step, from its first launch to its last read
  EnumArray<Phase, KindTimes, kPhases> kernels{};  // execution on the device: [phase][kind]
  KindTimes waited{};                              // the exposed part by kind, not hidden behind host work
  Seconds drafting;  // the part of host() while drafting, before and between the drafter's kernels

  Seconds& of(Phase p, KernelKind k) { return kernels[p][k]; }
  Seconds of(Phase p, KernelKind k) const { return kernels[p][k]; }
  Seconds of(Phase p) const {  // without communication, which reports list separately
    return of(p, KernelKind::gemm) + of(p, KernelKind::attention) + of(p, KernelKind::experts) +
           of(p, KernelKind::elementwise) + of(p, KernelKind::recurrence);
  }
  Seconds communication() const {
    constexpr auto kKind = KernelKind::communication;
    return of(Phase::draft, kKind) + of(Phase::verify, kKind) + of(Phase::commit, kKind);
  }
  Seconds device() const { return of(Phase::draft) + of(Phase::verify) + of(Phase::commit) + communication(); }
  Seconds host() const { return time - device(); }  // time for which the device waits for the host

  // Adds `weight` times each entry of `other`.
  StepBreakdown& add(const StepBreakdown& other, double weight) {
    time += weight * other.time;
    drafting += weight * other.drafting;
    for (std::size_t k = 0; k < kKernelKinds; ++k) {
      for (std::size_t p = 0; p < kPhases; ++p) kernels[p][k] += weight * other.kernels[p][k];
      waited[k] += weight * other.waited[k];
    }
    return *this;
  }
  friend StepBreakdown operator-(StepBreakdown a, const StepBreakdown& b) { return a.add(b, -1); }
};

}  // namespace draftline
