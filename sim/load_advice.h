// SPDX-License-Identifier: Apache-2.0
// The loads at which speculation lowers the mean end-to-end latency of a server's requests, by simulations at rising
// rates.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/serving.h"

namespace draftline {

struct LoadAdvice {
  enum class Outcome {
    pays_between,         // latency is lower between two loads
    pays_until_overload,  // it is until a plainly decoding server is overloaded, at `pays_to`
    never_pays,           // speculation is slower at every load
    too_few_requests      // the workload has too few requests to load a server
  } outcome = Outcome::pays_between;
  PerSecond pays_from, pays_to;  // requests/s; both 0 where it never pays, or the requests are too few
  bool pays() const { return outcome == Outcome::pays_between || outcome == Outcome::pays_until_overload; }
  bool until_overload() const { return outcome == Outcome::pays_until_overload; }
};

// Compares a point's server with the same under the scenario's plain method. Both get the same requests; where these
// are no recording, as many as fill a server several times over. What the plain server does is found once for all
// methods in a row.
class LoadAdvisor {
 public:
  explicit LoadAdvisor(ServingSweep&);  // of a scenario with a plain method; the sweep must outlive it
  ~LoadAdvisor();
  // The advice for a point; none if arrivals have no rate, or if no KV pool fits.
  std::optional<LoadAdvice> at(const Point&, std::uint64_t seed);

 private:
  class PlainServer;
  LoadAdvice compare(ServingPoint& speculating, std::uint64_t seed);
  ServingSweep& serving_;
  std::size_t plain_method_;
  std::unique_ptr<PlainServer> plain_;  // of the last point
};

}  // namespace draftline
