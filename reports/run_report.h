// SPDX-License-Identifier: Apache-2.0
// The output of `draftline run`: one result per point, as a table, a page of HTML, CSV or a JSON document.
#pragma once
#include <memory>
#include <ostream>

#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/point.h"
#include "reports/run_charts.h"
#include "reports/run_figures.h"
#include "reports/table.h"

namespace draftline {

class RunReport {
 public:
  RunReport(Output, const Scenario&);  // the scenario must outlive the report
  void add(const Outcome&);            // in order of the points; JSON is written as it comes, CSV many rows at a time
  void finish();                       // must be called last; throws OutputError (core/json_writer)

 private:
  void add_json(const Outcome&);
  Table new_table() const;
  void note_interval(const Prediction&);
  std::string intervals() const;
  void note_request(const Outcome&);
  std::string requests() const;
  std::string experts() const;
  void write_page();

  Output to_;
  const Scenario& scenario_;
  PointInputs inputs_;
  Figures<Outcome> columns_;
  std::unique_ptr<JsonWriter> json_;
  Table table_;
  RunCharts charts_;
  SkippedPoints skipped_;
  // 90 % intervals of the points of a table, as ratios to the predicted values.
  std::vector<RatioInterval> step_times_, speedups_;
  std::vector<std::string> warnings_;  // of the points, each once
  std::optional<Outcome> farthest_;    // where the speedup of requests is farthest from that of decoding
  bool header_written_ = false;
};

}  // namespace draftline
