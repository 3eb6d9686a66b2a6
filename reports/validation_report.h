// SPDX-License-Identifier: Apache-2.0
// The report of `draftline validate`: predicted, measured and error by cell, by op and of a live server, and the error
// budget. It is written as text for a terminal, as Markdown for docs/explanation/accuracy.md, as a page with charts,
// and as JSON (validation_json.cpp).
#pragma once
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "measure/validation.h"
#include "model/calibration/engine_fit.h"
#include "model/calibration/measured.h"
#include "model/devices/fit_quality.h"
#include "reports/output.h"

namespace draftline {

struct ValidationReport {
  std::string device, title, commit;  // "cpu" or "cuda"; the name of the machine; the program's commit
  double rate = 0;                    // acceptance rate, 0 to 1, an input
  std::vector<FitQuality> fits = {};
  std::vector<ValidationCell> cells = {};
  std::vector<MeasuredCell> skipped = {};  // cells that could not run, with their reasons
  std::vector<ComparedServing> serving = {};
  std::size_t left_out = 0;  // cells of the grid that were not measured
  InputFiles input_files = {};
  std::filesystem::path data = {};  // the folder data/, for input_name()
};

void write_validation_json(std::ostream&, const ValidationReport&);
// A report for people; of text the worst cells alone. Throws OutputError.
void write_validation(const Output&, const ValidationReport&);
std::string label_with_length(const MethodSpec&);  // "medusa k=3"

}  // namespace draftline
