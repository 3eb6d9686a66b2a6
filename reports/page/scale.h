// SPDX-License-Identifier: Apache-2.0
// The scale of a chart's axis: the place of each value, and the values that are marked.
#pragma once
#include <vector>

#include "reports/page/chart.h"

namespace draftline {

class Scale {
 public:
  // `values`: what the axis must hold, at least one. They lie between the places `from` and `to`, in pixels. With
  // `at_values` and few values, only these are marked: batch sizes, for example.
  Scale(bool logarithmic, std::vector<double> values, double from, double to, bool at_values);
  double place(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double position(double value) const;  // on a linear scale
  std::vector<double> round_ticks() const;

  bool logarithmic_;
  double low_, high_, from_, to_;  // values; places
  std::vector<double> ticks_;
};

}  // namespace draftline
