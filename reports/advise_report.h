// SPDX-License-Identifier: Apache-2.0
// The output of `draftline advise`: what to use on each setup and the draft lengths by batch, a table that ranks the
// methods, then for the best of them a few sentences on the reasons and a table of batch sizes; in HTML for all, and a
// chart of what requests gain over the batch size.
#pragma once
#include <ostream>
#include <vector>

#include "reports/output.h"
#include "sim/advice.h"

namespace draftline {

// Writes the whole report as text, HTML or JSON. `advices`: in order of the points; fewer than the scenario's if
// interrupted. `every`: reasons of every method, not of the best alone. Throws OutputError (core/json_writer).
void write_advice(const Output&, const Scenario&, const std::vector<Advice>& advices, bool every = false);

}  // namespace draftline
