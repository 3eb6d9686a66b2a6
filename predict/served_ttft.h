// SPDX-License-Identifier: Apache-2.0
// Times to the first token of served runs, predicted beside measured, and the engine's front end fitted to them.
// Prompts are priced by the device's fits; what is left of a median TTFT is the time of a request outside the steps.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "predict/served_fit.h"

namespace draftline {

struct ServedTtft {
  std::string place;
  Seconds measured, shipped, fitted;
};

struct TtftFit {
  std::vector<ServedTtft> runs;           // those that have a TTFT
  std::optional<ProfileValue> front_end;  // none: no run has a TTFT
};

TtftFit fit_ttft(const std::vector<ServedPoint>&, const ServedFit&);

}  // namespace draftline
