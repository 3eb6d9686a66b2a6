// SPDX-License-Identifier: Apache-2.0
// The queue of a pool of servers while requests arrive. It shows whether the queue grows without limit, and whether the
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
  // sample() is called before request `i` reaches its server, and end() after the last request.
  void sample(std::int64_t i, const ServerPool&);
  void end(const ServerPool&);

  // diverges(): the queue grew more than random arrivals explain. unsettled(): it grew, but not more.
  bool diverges(const Workload&) const;
  bool unsettled(const Workload& w) const { return grew() && !diverges(w); }
  // Whether more requests were in flight at the end than halfway, beyond chance. False for bursts, for which a single
  // moment is not representative.
  bool fills(const Workload&) const;
  double growth() const;  // growth of the queue per request that arrived in the second half

 private:
  bool grew() const;
  std::int64_t arrivals_, half_ = -1, all_ = 0;  // waiting, halfway and at the end
  // The least number of waiting requests in the third and in the last quarter of arrivals. A queue that bursts fill and
  // pauses empty is short repeatedly; a growing queue is not.
  std::int64_t third_quarter_ = std::numeric_limits<std::int64_t>::max(), last_quarter_ = third_quarter_;
  std::int64_t in_flight_at_half_ = 0, in_flight_at_end_ = 0;
};

}  // namespace draftline
