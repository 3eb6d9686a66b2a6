// SPDX-License-Identifier: Apache-2.0
// The output of `draftline run`, with the 90 % intervals of its points and how requests differ from decoding.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "reports/kernel_report.h"
#include "reports/point_report.h"
#include "reports/run_charts.h"
#include "reports/run_figures.h"

namespace draftline {

class RunReport : public PointReport<Outcome, RunCharts> {
 public:
  RunReport(Output, const Scenario&);  // the scenario must outlive the report

 private:
  void note(const Outcome&) override;
  void write_sentences(Page&) const override;
  void write_more(JsonWriter&, const Outcome&) const override;
  std::string intervals() const;
  std::string requests() const;
  std::string experts() const;

  // 90 % intervals of the points of a table, as ratios to the predicted values.
  std::vector<RatioInterval> step_times_, speedups_;
  KernelReport kernels_;
  std::optional<Outcome> farthest_;  // where the speedup of requests is farthest from that of decoding
};

}  // namespace draftline
