// SPDX-License-Identifier: Apache-2.0
// The serving part of `draftline validate`: a live server and the simulator, given the same requests.
#pragma once
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "measure/validation_device.h"

namespace draftline::measure {

struct ServingAsked {
  std::filesystem::path out, data;  // `out` holds device.json and engine.json, and gets arrivals and traces
  std::string network;              // the target, one of Networks
  ServingLoad load;
  int requests = 2, runs = 1;
  std::optional<Seconds> time;  // for all runs, about; if it is too short there are fewer runs, then fewer servers
  std::function<void()> ready;  // called before each run
  std::function<bool()> undisturbed;  // called after each run: whether no other program disturbed it
};
// Serves the requests live and in the simulator, with static and continuous batching, without and with the method: one
// element for each combination. If it can't be served, or the time is over, `skipped` has the reason.
std::vector<ComparedServing> compare_serving(const ServingAsked&, const Networks&, ValidationDevice&, Validation&);

}  // namespace draftline::measure
