// SPDX-License-Identifier: Apache-2.0
// The identification of a scenario and of a point of its product in tables, CSV and JSON.
#pragma once
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>

#include "core/interval.h"
#include "core/json_writer.h"
#include "inputs/scenario.h"
#include "reports/output.h"
#include "reports/page/page.h"
#include "reports/point_figures.h"

namespace draftline {

// The inputs that identify a point: cells in front of its figures, "inputs": {..} in JSON. The scenario must outlive
// this object.
class PointInputs {
 public:
  // `without`: names of inputs in JSON that are no columns.
  PointInputs(const Scenario&, Format, std::initializer_list<std::string_view> without = {});
  void leave_out(std::string_view name);  // one more of these
  std::vector<Table::Column> titles() const;
  std::vector<Cell> cells(const Point&) const;  // one for each title
  std::string text(const Point&) const;         // "device h100-sxm, TP 2"; "" if there is no column
  void write(JsonWriter&, const Point&) const;  // the member "inputs" of an open object

 private:
  const Scenario& scenario_;
  Figures<PointOf> all_, columns_;
};

// The points that could not run, which tables leave out.
class SkippedPoints {
 public:
  void add(const std::string& point, const std::string& why);
  std::string sentence() const;  // how many, and of the first which and why; "" if there are none

 private:
  std::size_t count_ = 0;
  std::string first_, why_;
};

// "-10 to +17 %": the medians of the ends of these intervals, of which there is at least one.
std::string median_interval(const std::vector<RatioInterval>&);

// "medusa, k 3"; with its acceptance where methods of the scenario differ in nothing else.
std::string method_text(const Scenario&, const Point&, bool with_length = true);

// A page that begins with the scenario's question, in HTML also with what its points have in common.
std::unique_ptr<Page> page_of(const Output&, const Scenario&);

// Begins a document of results and leaves its object open: {"schema_version", "commit", "model", "input_files",
// "question", "resolved".
void begin_document(JsonWriter&, int schema_version, const Asked&, const Scenario&);
void write_program(JsonWriter&, int schema_version);  // "schema_version", "commit", "model"
// The member "input_files": fingerprints by input_name(), where `data` is the folder data/.
void write_input_files(JsonWriter&, const InputFiles&, const std::filesystem::path& data);
void write_resolved(std::ostream&, const Scenario&);  // the scenario as JSON with all defaults, for `run --dry-run`

}  // namespace draftline
