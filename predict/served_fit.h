// SPDX-License-Identifier: Apache-2.0
// An engine's profile fitted to benchmarks of a server: the prediction of a step is the forward model, the device's
// file stays as it is. docs/recipes/your_server.md has the form, its priors and what it can't tell.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "inputs/served_runs.h"
#include "model/calibration/prior_fit.h"
#include "model/engines/served_profile.h"
#include "predict/engine_terms.h"
#include "predict/pricer.h"

namespace draftline {

// A run, and what priced it: its prices and choices are their owner's.
struct ServedPoint {
  ServedRun run;
  Pricer* pricer;
  Setup setup;  // of the shipped engine; its batch is the run's
  const MethodChoice* method;
};

// The time of a run as an engine's profile predicts it.
Seconds predicted_time(const ServedPoint&, const Engine&);

struct FittedTerm {
  EngineTerm term;
  double value, low, high;  // 90 % interval
  double learned;           // share of the prior's width that is gone
};
struct FittedRun {
  double shipped, fitted, left_out;  // predicted / measured - 1: before, after, and by the fit to all other runs
};
struct ServedFit {
  Engine engine;  // the shipped one with fitted values
  std::vector<FittedTerm> terms;
  std::vector<FittedRun> runs;
  double noise;  // standard deviation of a run about the fit, as a share
  bool padded;   // does it pad rows to its graphs' sizes?
  std::vector<std::string> warnings;
};

// Throws InputErrors without a run of plain decoding, and if most runs are a hundred times off.
ServedFit fit_served(const std::vector<ServedPoint>&);

// The fitted values as a profile has them.
std::vector<ProfileValue> profile_values(const ServedFit&);

}  // namespace draftline
