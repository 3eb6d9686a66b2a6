// SPDX-License-Identifier: Apache-2.0
// What `draftline simulate` prints: one result per point, as a table, CSV or a JSON document.
#pragma once
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/point.h"
#include "reports/simulate_figures.h"
#include "reports/table.h"

namespace draftline {

class SimulateReport {
 public:
  SimulateReport(Output, const Scenario&);
  void add(const ServingOutcome&);
  void finish();

 private:
  void add_json(const ServingOutcome&);
  Table new_table() const;

  Output to_;
  const Scenario& scenario_;
  bool single_;  // one point: its figures stand at the top of the document
  PointInputs inputs_;
  Figures<ServingOutcome> figures_, columns_;
  std::unique_ptr<JsonWriter> json_;
  Table table_;
  std::vector<std::string> warnings_;
  std::size_t skipped_ = 0;
  std::int64_t preemptions_ = 0;
  std::string reason_;
};

}  // namespace draftline
