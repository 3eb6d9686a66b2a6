// SPDX-License-Identifier: Apache-2.0
// What a served benchmark can say of an engine: the values of its profile that a device's file can't know, each with a
// prior about the shipped value (model/engines/engine_fields.h).
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "model/devices/device.h"
#include "model/engines/engine_fields.h"

namespace draftline {

struct EngineTerm {
  const EngineField* field;
  double typical;    // the prior's median, in base units
  double deviation;  // one standard deviation: a difference of a normal prior, a factor of another one

  double at(double deviations) const;  // the value so many standard deviations from the median
};

// The terms that runs of plain steps can tell, and of speculative steps too where there are any. Their priors: a guess
// is known to a factor of 3, a value that the profile doesn't have to a factor of 4, others to a factor of 1.5; the
// time of a layer to 10 us; the share of the bandwidth as well as the device's GEMM times.
std::vector<EngineTerm> terms_of(const Engine&, const Device&, Speculation);

// A term by its key. Bug if there is none that can be fitted.
EngineTerm engine_term(std::string_view key, const Engine&, const Device&);

// The profile with other values, each so many standard deviations from its prior's median. A value that adds to another
// one, as `step_speculating` does to `step`, still adds as much.
Engine with_terms(const Engine&, std::span<const EngineTerm>, std::span<const double> deviations);

}  // namespace draftline
