// SPDX-License-Identifier: Apache-2.0
// Asks a question of the command line and prints its answer as it is computed, with progress.
#pragma once
#include "api/question.h"
#include "cli/command.h"
#include "reports/serving_records.h"

namespace draftline::cli {

struct Printed {
  Format format = Format::table;
  int jobs = 1;              // threads
  bool dry_run = false;      // only the scenario with its defaults
  bool timing = false;       // "simulate": wall times too
  bool all_reasons = false;  // "advise": of every method
  ServingRecords::Files records = {};
};

int ask(const Question&, const Printed&, const Common&);  // returns the exit code

}  // namespace draftline::cli
