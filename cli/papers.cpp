// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
namespace draftline::cli {
void add_papers(CLI::App&, Action&) {}
}  // namespace draftline::cli
