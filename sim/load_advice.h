// SPDX-License-Identifier: Apache-2.0
// At which loads speculation lowers the mean end-to-end latency of a server's requests, by simulations at rising rates.
#pragma once
#include <cstdint>

#include "sim/serving.h"

namespace draftline {

struct LoadAdvice {
  PerSecond pays_from, pays_to;  // requests/s between which latency is lower; both 0 if `never` or `too_few`
  bool overloaded = false;  // `pays_to` is what a plainly decoding server serves at most: speculation pays until then
  bool never = false;       // speculation is slower at every load
  bool too_few = false;     // the workload has too few requests to load a server
};

// Of the point's server against the same with the scenario's plain method. Both get the same requests; where these are
// no recording, as many as fill a server several times over.
LoadAdvice advise_load(ServingSweep&, const Point&, std::size_t plain_method, std::uint64_t seed);

}  // namespace draftline
