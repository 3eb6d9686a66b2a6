// SPDX-License-Identifier: Apache-2.0
// The loads at which speculation lowers the mean end-to-end latency of a server's requests, found by simulations at
// rising rates.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>

#include "sim/serving.h"

namespace draftline {

struct LoadAdvice {
  enum class Outcome {
    pays_between,         // latency is lower between two loads
    pays_until_overload,  // latency is lower until a server with plain decoding is overloaded, at `pays_to`
    never_pays,           // speculation is slower at every load
    too_few_requests      // the workload has too few requests to load a server
  } outcome = Outcome::pays_between;
  PerSecond pays_from, pays_to;  // requests/s; both 0 for never_pays and too_few_requests
  bool pays() const { return outcome == Outcome::pays_between || outcome == Outcome::pays_until_overload; }
  bool until_overload() const { return outcome == Outcome::pays_until_overload; }
};

// Compares a point's server with the same server under the scenario's plain method. Both get the same requests; unless
// these are recorded, their number fills a server several times. The plain server is simulated once for consecutive
// methods.
class LoadAdvisor {
 public:
  explicit LoadAdvisor(ServingSweep&);  // the scenario must have a plain method; the sweep must outlive this
  ~LoadAdvisor();
  // The advice for a point; none if the arrivals have no rate or if no KV pool fits.
  std::optional<LoadAdvice> at(const Point&, std::uint64_t seed);

 private:
  class PlainServer;
  LoadAdvice compare(ServingPoint& speculating, std::uint64_t seed);
  ServingSweep& serving_;
  std::size_t plain_method_;
  std::unique_ptr<PlainServer> plain_;  // for the last point
};

}  // namespace draftline
