// SPDX-License-Identifier: Apache-2.0
// Answers a question of the command line. Prints the answer while it is computed, and progress.
#pragma once
#include "api/question.h"
#include "cli/command.h"
#include "reports/serving_records.h"

namespace draftline::cli {

struct Printed {
  Format format = Format::table;
  int jobs = 1;              // threads
  bool dry_run = false;      // only the scenario with its defaults
  bool timing = false;       // "simulate": also wall times
  bool all_reasons = false;  // "advise": print the reasons of every method
  ServingRecords::Files records = {};
};

int ask(const Question&, const Printed&, const Common&);  // returns the exit code

}  // namespace draftline::cli
