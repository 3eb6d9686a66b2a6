// SPDX-License-Identifier: Apache-2.0
// One verb per file; main.cpp lists them.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include <CLI/CLI.hpp>

#include "cli/ranks.h"
#include "reports/output.h"

namespace draftline::cli {

// What every verb needs to know.
struct Common {
  std::filesystem::path data;  // the folder data/
  const Ranks& ranks;          // one, unless the verb shares its work
};

// What several ranks (mpirun) make of a verb: they share its work; rank 0 does what is soon done, and the others leave;
// or it measures one machine, which several processes would only disturb.
enum class AcrossRanks { shares, first_alone, refuses };

// Adds a verb to the program; when it is chosen, its action runs after parsing.
struct Action {
  AcrossRanks ranks;
  std::function<int(const Common&)> run;
};
void add_run(CLI::App&, Action& chosen);
void add_list(CLI::App&, Action& chosen);
void add_probe(CLI::App&, Action& chosen);
void add_calibrate(CLI::App&, Action& chosen);
void add_decode(CLI::App&, Action& chosen);
void add_simulate(CLI::App&, Action& chosen);
void add_papers(CLI::App&, Action& chosen);

void add_advise(CLI::App&, Action& chosen);
void add_plan(CLI::App&, Action& chosen);
void add_check(CLI::App&, Action& chosen);
void add_validate(CLI::App&, Action& chosen);

// The exit code of a sweep that took so many points: 0, or that of the signal with a message of how to go on.
int interrupted_after(std::size_t done, std::size_t points);

int terminal_width();  // of standard output; 0 if it is no terminal
Output to_standard_output(bool json, bool csv, Asked);

}  // namespace draftline::cli
