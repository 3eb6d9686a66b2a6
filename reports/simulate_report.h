// SPDX-License-Identifier: Apache-2.0
// The output of `draftline simulate`, with what was preempted and which loads were more than can be served.
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "reports/point_report.h"
#include "reports/serving_charts.h"
#include "reports/simulate_figures.h"

namespace draftline {

class SimulateReport : public PointReport<ServingOutcome, ServingCharts> {
 public:
  SimulateReport(Output, const Scenario&);  // the scenario must outlive the report
  ServingObserver* observer();              // of the first run of a single point; null: none is needed
  void show_load(const LoadHistory& load) { charts().history() = load; }  // of this run, observed before

 private:
  void note(const ServingOutcome&) override;
  void write_sentences(Page&) const override;
  void write_more(JsonWriter&, const ServingOutcome&) const override;
  std::string intervals() const;  // of the only row, or the medians over the rows; "" if there are none
  std::string overload() const;   // a warning that counts the rows whose load is too high; "" if there are none

  std::size_t overloaded_ = 0;  // points
  std::int64_t preemptions_ = 0;
  std::string overload_;                                               // the message of the last of these points
  std::string interval_;                                               // of the last point
  std::map<std::string_view, std::vector<RatioInterval>> over_steps_;  // by mean: of each point with an interval
};

}  // namespace draftline
