// SPDX-License-Identifier: Apache-2.0
// The output of `draftline advise`: what to use on each setup and the draft lengths by batch, a table that ranks the
// methods, then for the best of them a few sentences on the reasons and a table of batch sizes; in HTML for all, and a
// chart of what requests gain over the batch size.
#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "reports/output.h"
#include "sim/advice.h"

namespace draftline {

// Of which methods a text gives the reasons. none: only the verdict is written, without ranking.
enum class Reasons { none, of_best, of_all };

// Writes the report as text, HTML or JSON. `advices`: in order of the points; fewer than the scenario's if interrupted.
// Throws OutputError (core/json_writer).
void write_advice(const Output&, const Scenario&, const std::vector<Advice>& advices, Reasons = Reasons::of_best);

// The verdict on each setup with what it gains, as sentences; of several setups each begins with its own.
std::vector<std::string> advise_verdicts(const Scenario&, const std::vector<Advice>& advices);

}  // namespace draftline
