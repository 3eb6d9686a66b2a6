// SPDX-License-Identifier: Apache-2.0
// The values of an engine's profile that a benchmark of a server can determine and a device's file does not contain.
// Each has a prior around the shipped value (model/engines/engine_fields.h).
#pragma once
#include <span>
#include <string_view>
#include <vector>

#include "core/interval.h"
#include "model/devices/device.h"
#include "model/engines/engine_fields.h"

namespace draftline {

struct EngineTerm {
  const EngineField* field;
  double typical;    // the prior's median, in base units
  double deviation;  // one standard deviation: a difference for a normal prior, else a factor

  double at(double deviations) const;  // the value so many standard deviations from the median
};

// The terms that runs of plain steps determine, and those that speculative runs determine if there are any. Standard
// deviations of the priors: a factor of 3 for a guess, 4 for a value that the profile lacks, 1.5 for other values; 10
// us for the time of a layer; the error of the device's GEMM times for the share of the bandwidth.
std::vector<EngineTerm> terms_of(const Engine&, const Device&, Speculation);

// A term by its key. Throws Bug if no such term can be fitted.
EngineTerm engine_term(std::string_view key, const Engine&, const Device&);

// The 90 % interval of a term's value, in base units: that of the fit that determined the value, else that of the
// prior. It contains the profile's value; a value that lies outside its fit's interval was edited, and has the prior's.
Interval interval_of(const EngineTerm&, const Engine&);

// The profile with another value of one term. Values that are added to it keep their difference.
Engine with_term(const Engine&, const EngineField&, double value);

// The profile with other values, each so many standard deviations from its prior's median. A value that is added to
// another value, such as `step_speculating` to `step`, keeps its difference.
Engine with_terms(const Engine&, std::span<const EngineTerm>, std::span<const double> deviations);

}  // namespace draftline
