// SPDX-License-Identifier: Apache-2.0
// Waiting for other programs to leave the core. A neighbour on a core's twin stays for seconds to minutes and makes
// arithmetic take 1.4 to 1.7 times as long, reads of memory hardly longer: no clock can tell one from the other afterwards.
#pragma once
#include <functional>
#include <string>

#include "core/quantity.h"
#include "probes/cpu_probe.h"

namespace draftline::measure {

class FreeCore {
 public:
  using Read = std::function<ClockReference::Readings(int more)>;
  // `read`: none where there is nothing to wait for. `at_most`: what all waits may take.
  FreeCore(
      Read read, Seconds at_most, std::function<bool()> interrupted = [] { return false; })
      : read_(std::move(read)), at_most_(at_most), interrupted_(std::move(interrupted)) {}
  // Until the core is free, the time is over, or it is interrupted. `waiting` is told again and again meanwhile, if there.
  void wait(const std::function<void()>& waiting = {});
  bool stayed_free() const;    // since then, going by the readings taken meanwhile
  std::string report() const;  // a sentence, empty where nobody had to wait

 private:
  Read read_;
  Seconds at_most_, waited_;
  std::function<bool()> interrupted_;
  ClockReference::Readings then_;
};

}  // namespace draftline::measure
