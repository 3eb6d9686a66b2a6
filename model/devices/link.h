// SPDX-License-Identifier: Apache-2.0
// The connection between the devices of a node, as tables of the times of its libraries' collective operations. The
// engine's rule selects the library (model/engines/link_rule.h). Units: bytes, seconds. Every table names its source.
// docs/explanation/kernel_model.md, "Links".
#pragma once
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"
#include "model/devices/origin.h"
#include "model/work.h"

namespace draftline {

// One measured call; `message` as in CollectiveCall.
struct LinkPoint {
  int ranks = 2;
  Bytes message;
  Seconds time;
};

// The times of one library's collective operation. Between points they are log-interpolated. Below the first point its
// time applies, because a call has a fixed cost. Beyond the last point, further bytes take the rate between the last
// two points, or that of the only point.
struct LinkTable {
  std::string library;  // "nccl", "one_shot", "two_shot", "symmetric_memory"
  Collective collective = Collective::all_reduce;
  std::vector<LinkPoint> points;  // by ranks, then message; a time is never above that of a larger message
  Origin origin;

  int most_ranks() const { return points.empty() ? 0 : points.back().ranks; }
  bool knows(int ranks) const { return most_ranks() >= ranks; }  // whether it has points for at least that many ranks
  // These use the points of the smallest number of ranks that is not below `ranks`. They throw Bug if there are none.
  // `at_most`: the highest rate of bytes beyond the last point.
  Seconds time(int ranks, Bytes message, BytesPerSecond at_most = BytesPerSecond{INFINITY}) const;
  Bytes largest_message(int ranks) const;
  // The rate of bytes beyond the last point; infinite if the last two points cost the same.
  BytesPerSecond last_rate(int ranks) const;
};

// Nodes whose devices have a network adapter each.
struct NodeNetwork {
  int devices = 8;           // of a node
  BytesPerSecond bandwidth;  // of one device's adapter, in each direction
  Seconds latency;           // of a message from node to node, the library's part included
  Origin origin;
};

// Groups of more ranks than were measured: up to `domain` the times of the largest measured group are extended, and
// beyond a node what lies inside nodes and what lies between them add up.
struct Links {
  bool switched = false;           // every pair of devices has NVLink; otherwise PCIe
  std::string compute_capability;  // the devices' CUDA compute capability ("9.0"); empty: unknown
  std::vector<LinkTable> tables;   // in the order of the file
  std::optional<int> domain =
      {};  // devices that switches join, such as those of a rack; none: as many as were measured
  std::optional<NodeNetwork> between_nodes = {};

  // The first table that was measured with that many ranks, else the one with the most ranks if it can be extended;
  // null: none.
  const LinkTable* find(std::string_view library, Collective, int ranks) const;
  const LinkTable* any(Collective, int ranks) const;  // of any library
  // A table's time. A small table may end where times hardly depend on the bytes; beyond its end the rate is at most
  // that at the end of the device's longest table.
  Seconds time(const LinkTable&, int ranks, Bytes message) const;
  bool connects(int ranks) const { return any(Collective::all_reduce, ranks) != nullptr; }
  int nodes(int ranks) const;                                                         // that a group of ranks spans
  int in_node(int ranks) const { return (ranks + nodes(ranks) - 1) / nodes(ranks); }  // ranks of the largest share

 private:
  template <class IsWanted>
  const LinkTable* first(int ranks, IsWanted) const;
  Seconds time_in_node(const LinkTable&, int ranks, Bytes message) const;
};

// Whether a rule for `asked` applies to a device: "10.0" only to that compute capability, "10" to all from 10.0 to
// 10.9, "" to all.
bool has_capability(std::string_view asked, std::string_view of_device);

// The keys of properties of the devices and their connection, each optional.
inline constexpr std::array<std::string_view, 4> kLinkTraits{"switched", "compute_capability", "domain",
                                                             "between_nodes"};
void read_link_traits(const Reader&, Links&);
// {traits, "tables": [{"library": .., "collective": .., origin, "groups": [..]}]}
Links read_links(const Reader&);
// Reads only a table's groups, in the form that probes of one library write:
// [{"ranks": n, "points": [{"message": .., "time": ..}]}]
std::vector<LinkPoint> read_link_points(const Reader& groups);

}  // namespace draftline
