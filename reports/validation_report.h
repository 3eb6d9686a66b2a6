// SPDX-License-Identifier: Apache-2.0
// What `draftline validate` says: predicted | measured | error, by cell, by op, of a served load; which op is to blame. As
// text for a terminal, Markdown for docs/accuracy.md, and JSON.
#pragma once
#include <filesystem>
#include <ostream>
#include <string>
#include <vector>

#include "measure/validation.h"
#include "model/engine_fit.h"
#include "model/fit_quality.h"
#include "model/measured.h"

namespace draftline {

struct ValidationReport {
  std::string device, title, commit;  // title: the machine's
  double rate = 0;                    // of acceptance, an input
  std::vector<FitQuality> fits;
  std::vector<Drift> drift;  // of the machine, from probing to after decoding
  std::vector<ValidationCell> cells;
  std::vector<MeasuredCell> skipped;  // that could not run, with their reasons
  std::vector<ComparedServing> serving;
  std::size_t left_out = 0;  // cells of the grid that were not measured
  InputFiles input_files = {};
  std::filesystem::path data = {};  // the folder data/, by which they are named
};

void write_validation_json(std::ostream&, const ValidationReport&);
std::string validation_text(const ValidationReport&, std::size_t width);
std::string validation_markdown(const ValidationReport&);

}  // namespace draftline
