// SPDX-License-Identifier: Apache-2.0
// How a router chooses the server, or the data-parallel rank of a server, for the next request.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "inputs/serving_limits.h"

namespace draftline {

// `turn`: the number of requests routed before. The least loaded has the fewest requests in flight, then the fewest
// tokens still to be computed or generated, then the lowest index.
template <class One>
One& chosen_by(FleetShape::Routing how, const std::vector<std::unique_ptr<One>>& among, std::int64_t turn) {
  if (how == FleetShape::Routing::round_robin) return *among[at(turn) % among.size()];
  return **std::ranges::min_element(among, [](const auto& a, const auto& b) {
    return a->in_flight() != b->in_flight() ? a->in_flight() < b->in_flight()
                                            : a->outstanding_tokens() < b->outstanding_tokens();
  });
}

}  // namespace draftline
