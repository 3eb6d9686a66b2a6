// SPDX-License-Identifier: Apache-2.0
// Ends simulations that take long and whose result is no longer wanted, as after Ctrl-C.
#pragma once
#include <functional>
#include <stdexcept>
#include <utility>

#include "sim/serving_figures.h"

namespace draftline {

struct Stopped : std::runtime_error {
  Stopped() : std::runtime_error("stopped") {}
};

// Throws Stopped out of a run, between two steps, once `stopped()`.
class Stopping : public ServingObserver {
 public:
  explicit Stopping(std::function<bool()> stopped) : stopped_(std::move(stopped)) {}
  void on_step(const StepRun&) override {
    if (stopped_()) throw Stopped();
  }

 private:
  std::function<bool()> stopped_;
};

}  // namespace draftline
