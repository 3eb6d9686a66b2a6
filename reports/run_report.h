// SPDX-License-Identifier: Apache-2.0
// What `draftline run` prints: one result per point, as a table, CSV or a JSON document.
#pragma once
#include <memory>
#include <ostream>

#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/point.h"
#include "reports/run_figures.h"
#include "reports/table.h"

namespace draftline {

class RunReport {
 public:
  RunReport(Output, const Scenario&);
  void add(const Outcome&);
  void finish();

 private:
  void add_json(const Outcome&);
  Table new_table() const;
  void note_interval(const Prediction&);
  std::string intervals() const;

  Output to_;
  const Scenario& scenario_;
  PointInputs inputs_;
  Figures<Outcome> columns_;
  std::unique_ptr<JsonWriter> json_;
  Table table_;
  std::size_t skipped_ = 0;
  std::string reason_;
  std::vector<Interval> step_times_,
      speedups_;  // of each point of a table that has them, as ratios to the predicted one
  bool header_written_ = false;
};

}  // namespace draftline
