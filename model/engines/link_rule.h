// SPDX-License-Identifier: Apache-2.0
// How an engine sums and gathers over the ranks of a tensor-parallel group: which library it calls, and what a call
// costs beyond the library's own time. Read from an engine's profile ("links"); the libraries' tables are the device's
// (model/devices/link.h). docs/explanation/kernel_model.md, "Links".
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/devices/link.h"

namespace draftline {

// One line of an engine's choice: this library, if all of its conditions hold.
struct LinkRule {
  std::string library;
  std::vector<int> ranks;          // only for these numbers of ranks; empty: for any
  std::optional<Bytes> below;      // only for messages smaller than this
  bool switched = false;           // only where NVLink connects every pair of devices
  std::string compute_capability;  // only on devices that have it (has_capability, model/devices/link.h)

  bool holds(const Links&, int ranks, Bytes message) const;
};

struct EngineLinks {
  std::vector<LinkRule> all_reduce;  // in order: the first that holds and whose library has a table
  // Ranks reach a collective operation at different times, and it waits for the last. Their times of arrival are taken
  // as normally distributed with this deviation. Probes call back to back and don't see it.
  Seconds rank_skew;
};

// The time of one call among `ranks` devices, with the wait for the last of them (expected_largest); 0 on one device.
// An operation of which no table is known takes the time of an all-reduce that sends as much: one of half the bytes for
// an all-gather or a reduce-scatter. For an all-to-all it is an all-reduce of all the bytes, which sends twice as much:
// an upper bound. Throws InputErrors, which name the device, if no table knows so many ranks.
Seconds collective_time(const Links&, const EngineLinks&, const CollectiveCall&, const std::string& device);

// Reads "links" of a profile. The names of values that nobody measured are added to `guesses`.
EngineLinks read_engine_links(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
