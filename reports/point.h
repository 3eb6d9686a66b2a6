// SPDX-License-Identifier: Apache-2.0
// How a scenario and one point of its product are named in tables and in JSON.
#pragma once
#include <filesystem>
#include <ostream>
#include <string>

#include "core/json_writer.h"
#include "inputs/scenario.h"
#include "reports/output.h"
#include "reports/point_figures.h"

namespace draftline {

// How the points of a scenario are told apart: cells in front of their figures, "inputs": {..} in JSON.
class PointInputs {
 public:
  PointInputs(const Scenario&, Format);
  std::vector<Table::Column> titles() const;
  std::vector<Cell> cells(const Point&) const;
  void write(JsonWriter&, const Point&) const;

 private:
  const Scenario& scenario_;
  Figures<PointOf> all_, columns_;
};

// The head of a document of results, which stays open: {"schema_version", "commit", "model", "input_files", "question",
// "resolved". Equal commits, models and input files make equal results.
void begin_document(JsonWriter&, int schema_version, const Asked&, const Scenario&);
void write_program(JsonWriter&, int schema_version);  // "schema_version", "commit", "model"
void write_input_files(JsonWriter&, const InputFiles&, const std::filesystem::path& data);
void write_resolved(std::ostream&, const Scenario&);  // the scenario with its defaults

}  // namespace draftline
