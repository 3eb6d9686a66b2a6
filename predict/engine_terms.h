// SPDX-License-Identifier: Apache-2.0
// What a served benchmark can say of an engine: the values of its profile that a device's file can't know. Each has a
// prior about the shipped value. It is log-normal, as values are above 0; only that of a layer's time beyond its
// kernels, which may be below 0, is normal.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "model/devices/device.h"
#include "model/engines/engine.h"
#include "model/engines/speculation.h"

namespace draftline {

struct EngineTerm {
  enum class Prior : std::uint8_t { log_normal, normal };
  enum class Unit : std::uint8_t { seconds, ratio };
  std::string_view key;    // of the profile
  std::string_view title;  // for people
  double typical;          // the prior's median, in `unit`
  double deviation;        // one standard deviation: a factor if the prior is log-normal, else a difference in `unit`
  Prior prior;
  Unit unit;
  double (*get)(const Engine&);
  void (*set)(Engine&, double);

  double at(double deviations) const;  // the value so many standard deviations from the median
};

// The terms of an engine's plain steps, and of its speculative steps too where those are asked for. Their priors: a
// guess is known to a factor of 3, a value that the profile doesn't have to a factor of 4, others to a factor of 1.5;
// the time of a layer to 10 us; the share of the bandwidth as well as the device's GEMM times.
std::vector<EngineTerm> terms_of(const Engine&, const Device&, Speculation);

// One of them by its key, or "layer_tree", which takes runs that verify trees. Bug if there is none.
EngineTerm engine_term(std::string_view key, const Engine&, const Device&);

// The profile with other values, each so many standard deviations from its prior's median.
Engine with_terms(const Engine&, std::span<const EngineTerm>, std::span<const double> deviations);

}  // namespace draftline
