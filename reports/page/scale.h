// SPDX-License-Identifier: Apache-2.0
// The scale of a chart's axis: the place of each value, and the values that are marked.
#pragma once
#include <vector>

#include "reports/page/chart.h"

namespace draftline {

class Scale {
 public:
  // `values`: what the axis must hold, at least one. They lie between the places `from` and `to`, in pixels. With
  // `at_values` and few values, only these are marked: batch sizes, for example. Marks are at least `gap` pixels apart.
  Scale(bool logarithmic, std::vector<double> values, double from, double to, bool at_values, double gap = 30);
  double place(double value) const;
  const std::vector<double>& ticks() const { return ticks_; }

 private:
  double position(double value) const;                 // on a linear scale
  bool clear(const std::vector<double>& ticks) const;  // whether they are `gap` apart
  std::vector<double> round_ticks() const;
  std::vector<double> logarithmic_ticks() const;  // none: too few

  bool logarithmic_;
  double low_, high_, from_, to_, gap_;  // values; places
  std::vector<double> ticks_;
};

}  // namespace draftline
