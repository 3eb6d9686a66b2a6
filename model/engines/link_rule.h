// SPDX-License-Identifier: Apache-2.0
// How an engine sums and gathers over the ranks of a tensor-parallel group: the library that it calls, and the cost of
// a call beyond the library's time. It is read from an engine's profile ("links"). The device's file contains the
// libraries' tables (model/devices/link.h). docs/explanation/kernel_model.md, "Links".
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/devices/link.h"

namespace draftline {

// One line of an engine's choice: this library, if all of its conditions hold.
struct LinkRule {
  std::string library;
  std::vector<int> ranks;          // only for these numbers of ranks; empty: for all
  std::optional<Bytes> below;      // only for messages smaller than this
  bool switched = false;           // only where NVLink connects every pair of devices
  std::string compute_capability;  // only on devices with this capability (has_capability, model/devices/link.h)

  bool holds(const Links&, int ranks, Bytes message) const;
};

// An all-reduce whose kernel also adds the residual and normalises. Engines list the architectures that have it.
struct FusedAllReduce {
  std::vector<std::string> architectures;  // of config.json
  std::string library;
  Seconds rank_skew;
  std::optional<int> rows;  // of a step at most; none: any number

  bool applies(const Links&, int ranks, std::string_view architecture) const;  // false without a table of the library
};

struct EngineLinks {
  std::vector<LinkRule> all_reduce;  // the first that applies and whose library has a table is used
  // Ranks reach a collective operation at different times, and it waits for the last rank. Arrival times are assumed to
  // be normally distributed with this standard deviation. Probes call back to back and do not measure it.
  Seconds rank_skew;
  std::optional<FusedAllReduce> fused;  // takes the place of both where it applies

  EngineLinks with_fused(Bytes row) const;  // as where `fused` applies, to messages with rows of this size
};

// The time of one call among `ranks` devices, with the wait for the last of them (expected_largest); 0 on one device.
// An operation without a table takes the time of an all-reduce with the same traffic: of half the bytes for an
// all-gather or a reduce-scatter. For an all-to-all it is an all-reduce of all bytes, an upper bound with twice the
// traffic. Throws InputErrors that name the device if no table has points for `ranks` ranks.
Seconds collective_time(const Links&, const EngineLinks&, const CollectiveCall&, const std::string& device);
// The tables that collective_time uses for messages of any size; of an operation without a table those of all-reduce.
std::vector<const LinkTable*> tables_of_calls(const Links&, const EngineLinks&, Collective, int ranks);

// Reads "links" of a profile. Names of values that were not measured are added to `guesses`.
EngineLinks read_engine_links(const Reader&, std::vector<std::string>& guesses);

}  // namespace draftline
