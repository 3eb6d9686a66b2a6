// SPDX-License-Identifier: Apache-2.0
#include "sim/backlog.h"

#include <algorithm>
#include <cmath>

namespace draftline {

void Backlog::sample(std::int64_t i, const ServerPool& servers) {
  if (i < arrivals_ / 2) return;
  const std::int64_t waiting = servers.waiting();
  if (half_ < 0) {
    half_ = waiting;
    in_flight_at_half_ = servers.in_flight();
  }
  std::int64_t& least = i < arrivals_ / 2 + arrivals_ / 4 ? third_quarter_ : last_quarter_;
  least = std::min(least, waiting);
}

void Backlog::end(const ServerPool& servers) {
  all_ = servers.waiting();
  in_flight_at_end_ = servers.in_flight();
  half_ = std::max<std::int64_t>(half_, 0);
  third_quarter_ = std::min(third_quarter_, all_);
  last_quarter_ = std::min(last_quarter_, all_);
}

// A queue that grows evenly from nothing is 1.5 times as long after another quarter; half of that growth counts.
bool Backlog::grew() const {
  return all_ >= 32 && last_quarter_ > 0 && last_quarter_ >= third_quarter_ + third_quarter_ / 4;
}

// The number of arrivals in a long time scatters around its mean by the square root of that times this. Of phases whose
// durations are exponentially distributed, the time that is on has the variance 2 (on off)^2 / (on + off)^3 in a unit
// of time.
static double scatter_of(const ArrivalProcess& a) {
  if (a.kind == ArrivalProcess::Kind::gamma) return a.cv;
  if (a.kind != ArrivalProcess::Kind::on_off) return 1;
  const double off = a.off / (a.on + a.off);
  return std::sqrt(1 + 2 * a.rate * a.on * off * off);
}

// A queue that servers empty again and again scatters by less than arrivals do. Few requests tell a large overload.
bool Backlog::diverges(const Workload& w) const {
  const auto n = to_double(arrivals_);
  const double chance = 3 * scatter_of(w.arrivals) * std::sqrt(n), share = n / 25;
  double many = std::min(chance, share);
  if (w.arrivals.kind == ArrivalProcess::Kind::on_off) many = chance;
  if (w.arrivals.kind == ArrivalProcess::Kind::trace) many = share;  // nothing is known of its chance
  return grew() && to_double(all_) >= many && to_double(last_quarter_) >= many / 2;
}

// A number of requests in flight scatters by its square root, if they arrive at random.
bool Backlog::fills(const Workload& w) const {
  using Kind = ArrivalProcess::Kind;
  if (w.arrivals.kind != Kind::poisson && w.arrivals.kind != Kind::gamma) return false;
  const double halfway = to_double(std::max<std::int64_t>(in_flight_at_half_, 1));
  return to_double(in_flight_at_end_) > halfway + 3 * std::max(1.0, scatter_of(w.arrivals)) * std::sqrt(halfway);
}

double Backlog::growth() const { return to_double(all_ - half_) / to_double(arrivals_ - arrivals_ / 2); }

}  // namespace draftline
