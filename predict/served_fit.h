// SPDX-License-Identifier: Apache-2.0
// An engine's profile fitted to benchmarks of a server. The prediction of a step is the forward model; the device's
// file is not changed. docs/recipes/your_server.md describes the form, its priors and its limits.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inputs/served_runs.h"
#include "model/calibration/prior_fit.h"
#include "model/engines/served_profile.h"
#include "predict/engine_terms.h"
#include "predict/pricer.h"

namespace draftline {

// A run and the objects that price it, which it does not own.
struct ServedPoint {
  ServedRun run;
  Pricer* pricer;
  Setup setup;          // with the shipped engine and the run's batch
  MethodChoice method;  // with the acceptance of the run
};

// The time of a run as an engine's profile predicts it.
Seconds predicted_time(const ServedPoint&, const Engine&);

struct FittedTerm {
  EngineTerm term;
  double value, low, high;  // 90 % interval
  double learned;           // share by which the fit narrows the prior
};
struct FittedRun {
  double shipped, fitted, left_out;  // predicted / measured - 1; left_out: by the fit to all other runs
  std::optional<bool> inside;        // the 90 % interval under the shipped profile; none: it has no interval
};
struct ServedFit {
  Engine engine;  // the shipped one with fitted values
  std::vector<FittedTerm> terms;
  std::vector<FittedRun> runs;
  double noise;  // standard deviation of a run about the fit, as a share
  bool padded;   // whether it pads rows to its graphs' sizes
  std::vector<std::string> warnings;
};

// Throws InputErrors if there is no run of plain decoding, or if most predictions are wrong by a factor of a hundred.
ServedFit fit_served(const std::vector<ServedPoint>&);

// The fitted values in the form of a profile.
std::vector<ProfileValue> profile_values(const ServedFit&);

}  // namespace draftline
