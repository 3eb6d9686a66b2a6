// SPDX-License-Identifier: Apache-2.0
// The kernels of the steps of `draftline run --explain`: a table for each point, and a roofline, on which each kernel
// is a point.
#pragma once
#include <string>
#include <vector>

#include "predict/sweep.h"
#include "reports/page/page.h"
#include "reports/point.h"

namespace draftline {

class KernelReport {
 public:
  explicit KernelReport(const Scenario& s) : scenario_(s) {}  // the scenario must outlive the report
  void add(const Outcome&, const std::string& name);          // of a point with kernels; others are ignored
  void show_on(Page&) const;

 private:
  struct Step {
    std::string name;
    Table table;
    Chart roofline;
  };
  Chart roofline_of(const Outcome&, const std::string& name) const;

  const Scenario& scenario_;
  std::vector<Step> steps_;
  std::size_t left_out_ = 0;
};

}  // namespace draftline
