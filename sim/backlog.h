// SPDX-License-Identifier: Apache-2.0
// What a pool of servers has before it while requests arrive, which shows whether its queue only grows, and whether the
// servers were still filling when arrivals ended.
#pragma once
#include <cstdint>
#include <limits>

#include "inputs/workload.h"
#include "sim/server_pool.h"

namespace draftline {

class Backlog {
 public:
  explicit Backlog(std::int64_t arrivals) : arrivals_(arrivals) {}
  // sample() is called before request `i` of these reaches its server, and end() after the last of them.
  void sample(std::int64_t i, const ServerPool&);
  void end(const ServerPool&);

  // The queue grew, by more than the arrivals' chance explains; `unsettled()`: by no more.
  bool diverges(const Workload&) const;
  bool unsettled(const Workload& w) const { return grew() && !diverges(w); }
  // More requests were in flight at the end than halfway, by more than chance explains. Not known of bursts, of which
  // a moment tells nothing.
  bool fills(const Workload&) const;
  double growth() const;  // requests by which the queue grew for each that arrived in the second half

 private:
  bool grew() const;
  std::int64_t arrivals_, half_ = -1, all_ = 0;  // waiting, halfway and at the end
  // The least that waited in the third and in the last quarter of arrivals: a queue that bursts fill and lulls empty
  // is short again and again, one that grows is not.
  std::int64_t third_quarter_ = std::numeric_limits<std::int64_t>::max(), last_quarter_ = third_quarter_;
  std::int64_t in_flight_at_half_ = 0, in_flight_at_end_ = 0;
};

}  // namespace draftline
