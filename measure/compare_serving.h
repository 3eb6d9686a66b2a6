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
  std::filesystem::path out, data;  // out: holds device.json and engine.json; arrivals and traces are written there
  std::string network;
  ServingLoad load;
  int requests = 2, runs = 1;
  std::optional<Seconds> time;        // for all of it, about: fewer runs, then fewer servers
  std::function<void()> ready;        // comes before each run
  std::function<bool()> undisturbed;  // comes behind it
};
// Live and simulated, static and continuous, without and with the method.
std::vector<ComparedServing> compare_serving(const ServingAsked&, const Networks&, ValidationDevice&, Validation&);

}  // namespace draftline::measure
