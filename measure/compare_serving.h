// SPDX-License-Identifier: Apache-2.0
// The serving part of `draftline validate`: compares a live server with the simulator on the same requests.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/validation_device.h"

namespace draftline::measure {

struct ServingAsked {
  std::filesystem::path out, data;  // `out` contains device.json and engine.json; arrivals and traces are written there
  std::string network;              // the target, one of Networks
  ServingLoad load;
  int requests = 2, runs = 1;
  std::optional<Seconds> time;        // approximate time of all runs; if it is short, runs and then servers are omitted
  std::function<void()> ready;        // called before each run
  std::function<bool()> undisturbed;  // called after each run; false: another program disturbed the run
  std::function<bool()> interrupted;  // called between steps; true: nothing more is run, and the rest is left out
};
// Serves the requests live and in the simulator, with static and continuous batching, without and with the method: one
// element for each combination. `skipped` contains the reason if a combination can't be served or no time is left.
std::vector<ComparedServing> compare_serving(const ServingAsked&, const Networks&, ValidationDevice&, Validation&);

}  // namespace draftline::measure
