// SPDX-License-Identifier: Apache-2.0
// The connection between the devices of a node, as tables of how long its libraries take for a collective operation.
// Which library an engine calls is the engine's rule (model/engines/link_rule.h). Units: bytes, seconds; every table
// names its source. docs/explanation/kernel_model.md, "Links".
#pragma once
#include <cmath>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"
#include "model/devices/origin.h"
#include "model/work.h"

namespace draftline {

// One measured call; `message` as of CollectiveCall.
struct LinkPoint {
  int ranks = 2;
  Bytes message;
  Seconds time;
};

// The times of one library's collective operation. Between points they are log-interpolated. Below the first point its
// time holds, as a call has a cost of its own however small its message. Beyond the last point, bytes cost what they do
// between the last two, or at the only point.
struct LinkTable {
  std::string library;  // "nccl", "one_shot", "two_shot", "symmetric_memory"
  Collective collective = Collective::all_reduce;
  std::vector<LinkPoint> points;  // by ranks, then message; a time is never above that of a larger message
  Origin origin;

  bool knows(int ranks) const;  // whether it has points for that many ranks, or more
  // All three take the points of the nearest number of ranks that is not smaller. Bug if there are none.
  // `at_most`: the highest rate of bytes beyond the last point.
  Seconds time(int ranks, Bytes message, BytesPerSecond at_most = BytesPerSecond{INFINITY}) const;
  Bytes largest_message(int ranks) const;
  // The rate of bytes beyond the last point; infinite if the last two points cost the same.
  BytesPerSecond last_rate(int ranks) const;
};

struct Links {
  bool switched = false;           // every pair of devices has NVLink; else they meet over PCIe
  std::string compute_capability;  // of the devices, as in CUDA ("9.0"); empty: unknown
  std::vector<LinkTable> tables;   // in the order of the file

  const LinkTable* find(std::string_view library, Collective, int ranks) const;  // null: no points for that many ranks
  const LinkTable* any(Collective, int ranks) const;                             // the first that does
  // A table's time. A small table may end where its calls hardly depend on their bytes: beyond it they are no faster
  // than at the end of the device's longest table.
  Seconds time(const LinkTable&, int ranks, Bytes message) const;
  bool connects(int ranks) const { return any(Collective::all_reduce, ranks) != nullptr; }
};

// Whether a rule for `asked` holds on a device: "10.0" for that compute capability alone, "10" for all from 10.0 to
// 10.9, "" for all.
bool has_capability(std::string_view asked, std::string_view of_device);

// Reads what connects the devices, and what they are: {"switched": .., "compute_capability": ..}, each if it is given.
void read_link_traits(const Reader&, Links&);
// {"switched": .., "compute_capability": .., "tables": [{"library": .., "collective": .., origin, "groups": [..]}]}
Links read_links(const Reader&);
// Reads a table's groups alone, as probes of one library give them:
// [{"ranks": n, "points": [{"message": .., "time": ..}]}]
std::vector<LinkPoint> read_link_points(const Reader& groups);

}  // namespace draftline
