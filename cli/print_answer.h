// SPDX-License-Identifier: Apache-2.0
// Answers a question of the command line. Prints the answer, or writes it to files, while it is computed; and progress.
#pragma once
#include "api/question.h"
#include "cli/command.h"
#include "cli/format_options.h"
#include "reports/advise_report.h"
#include "reports/serving_records.h"

namespace draftline::cli {

struct Printed {
  Formats formats = {};
  int jobs = 1;                        // threads
  bool dry_run = false;                // only the scenario with its defaults
  bool plot = false;                   // "run": also a chart, as text
  bool timing = false;                 // "simulate": also wall times
  bool notes = true;                   // whether notes on the scenario are printed, on standard error
  Reasons reasons = Reasons::of_best;  // "advise"
  ServingRecords::Files records = {};
};

// Returns the exit code. A question about the file "-" is about the scenario on standard input.
int print_answer(const Question&, const Printed&, const Common&);

}  // namespace draftline::cli
