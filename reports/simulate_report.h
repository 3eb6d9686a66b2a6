// SPDX-License-Identifier: Apache-2.0
// The output of `draftline simulate`: one result per point, as a table, a page of HTML, CSV or a JSON document.
#pragma once
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/point.h"
#include "reports/serving_charts.h"
#include "reports/simulate_figures.h"
#include "reports/table.h"

namespace draftline {

class SimulateReport {
 public:
  SimulateReport(Output, const Scenario&);  // the scenario must outlive the report
  void add(const ServingOutcome&);          // in order of the points; JSON is written as it comes, all else by finish()
  void finish();                            // must be called last; throws OutputError (core/json_writer)

 private:
  void add_json(const ServingOutcome&);
  void write_page();
  Table new_table() const;
  std::string overload() const;  // a warning that counts the rows whose load is too much; "" if none's is

  Output to_;
  const Scenario& scenario_;
  bool single_;  // with one point, its figures are members of the document itself
  PointInputs inputs_;
  Figures<ServingOutcome> figures_, columns_;
  std::unique_ptr<JsonWriter> json_;
  Table table_;
  ServingCharts charts_;
  std::vector<std::string> warnings_;
  SkippedPoints skipped_;
  std::size_t overloaded_ = 0;  // points
  std::int64_t preemptions_ = 0;
  std::string overload_;  // the warning of the last of these
};

}  // namespace draftline
