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

// The arguments of every verb.
struct Common {
  std::filesystem::path data;  // the folder data/
  const Ranks& ranks;          // only one rank unless the verb shares its work
};

// How a verb runs on several ranks (mpirun). shares: they share its work. first_alone: rank 0 does all work, which is
// short. refuses: the verb measures one machine, which several processes would disturb.
enum class AcrossRanks { shares, first_alone, refuses };

// The program's exit codes (docs/reference/output.md, "Exit codes"). kMissed: `check` found a changed figure, or `plan`
// found no option that meets the targets.
enum ExitCode { kFine = 0, kMissed = 1, kInput = 2, kDevice = 3, kBug = 4 };

// The action of a verb, which returns the exit code. add_x() adds the verb x to the program and sets `chosen` when it
// is parsed.
struct Action {
  AcrossRanks ranks;
  std::function<int(const Common&)> run;
};
void add_run(CLI::App&, Action& chosen);
void add_list(CLI::App&, Action& chosen);
void add_traces(CLI::App&, Action& chosen);
void add_probe(CLI::App&, Action& chosen);
void add_calibrate(CLI::App&, Action& chosen);
void add_decode(CLI::App&, Action& chosen);
void add_simulate(CLI::App&, Action& chosen);
void add_papers(CLI::App&, Action& chosen);
void add_ask(CLI::App&, Action& chosen);
void add_from(CLI::App&, Action& chosen);
void add_advise(CLI::App&, Action& chosen);
void add_plan(CLI::App&, Action& chosen);
void add_check(CLI::App&, Action& chosen);
void add_validate(CLI::App&, Action& chosen);
void add_schema(CLI::App&, Action& chosen);
void add_completion(CLI::App&, Action& chosen);
void add_man(CLI::App&, Action& chosen);

// The exit code of a sweep after `done` of `points` points: 0 if all are done; otherwise that of the signal, after a
// message on standard error that explains how to continue.
int interrupted_after(std::size_t done, std::size_t points);

void print_note(const std::string&);  // on standard error, with control characters escaped
bool is_terminal(int stream);         // STDOUT_FILENO or STDERR_FILENO
int text_width();                     // terminal columns of standard output; 120 if it is no terminal
Output to_standard_output(Format, Asked);

}  // namespace draftline::cli
