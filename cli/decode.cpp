// SPDX-License-Identifier: Apache-2.0
#include "cli/command.h"
namespace draftline::cli {
void add_decode(CLI::App&, Action&) {}
}  // namespace draftline::cli
