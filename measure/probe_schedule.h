// SPDX-License-Identifier: Apache-2.0
// The order in which the points of a device's grid are probed, and their time budgets.
#pragma once
#include <functional>
#include <optional>
#include <vector>

#include "core/int_indexed.h"
#include "model/calibration/measured.h"

namespace draftline::measure {

// The points of a grid in the order in which they are timed. The first `enough` of them suffice for a calibration.
struct ProbeOrder {
  std::vector<MeasuredPoint> points;
  int enough = 0;
};
// Every part of the order contains points of all ops and all kinds of shapes, so that a disturbance of some seconds
// affects a few points of each op instead of all points of one op.
ProbeOrder spread(const std::vector<MeasuredPoint>& grid);

// Divides the time among the points: each gets its overhead and an equal part of the rest. If overheads exceed the
// estimates, later points get less time, so that the total is kept.
class ProbeSchedule {
 public:
  // The time of a point without its samples; none: equal to that of its samples.
  using Overhead = std::function<std::optional<Seconds>(const MeasuredPoint&)>;
  ProbeSchedule(const Overhead&, const std::vector<MeasuredPoint>& grid, const std::vector<MeasuredPoint>& todo,
                Seconds whole);

  Seconds expected() const { return expected_; }
  Seconds done() const { return expected_ - left_; }
  Seconds time_budget() const { return time_budget_; }  // of a point's samples
  Seconds time_budget_for(int point, Seconds elapsed) const;
  void finished(int point) { left_ -= overhead_[at(point)] + time_budget_; }

 private:
  Seconds time_budget_, expected_, left_;
  std::vector<Seconds> overhead_;
  bool adapts_ = false;
};

}  // namespace draftline::measure
