// SPDX-License-Identifier: Apache-2.0
// The program: parses the command line, runs a verb and turns failures into messages and exit codes.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "cli/ranks.h"

namespace draftline::cli {

int run_program(int argc, const char* const* argv, Launched);  // returns the exit code
// Runs the program in a process that uses its standard streams for other output, such as a test.
int run_program(const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err);

}  // namespace draftline::cli
