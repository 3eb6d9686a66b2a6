// SPDX-License-Identifier: Apache-2.0
// The sentences and tables of `draftline advise`, in whatever format they are shown.
#pragma once
#include <string>
#include <vector>

#include "reports/row_notes.h"
#include "reports/table.h"
#include "sim/advice.h"

namespace draftline {

std::string subject(const Scenario&, const Point&);  // "eagle3 with 3 drafts on h100-sxm, .."
// Sentences on where the method pays, the costs that reduce the gain, and the break-even; only the obstacle if it can't
// run.
std::vector<std::string> reasons_of(const Scenario&, const Advice&);
Table batch_table(const Advice&);
// The methods in the order of reports/verdict's ranking(), with the speedups of their requests at a few batches.
// `notes`: gets the warnings of the rows.
Table ranking_table(const Scenario&, const std::vector<Advice>&, const std::vector<std::size_t>& ranking,
                    RowNotes& notes);
// The recommendation for a setup, as sentences.
struct SetupVerdict {
  std::string answer;
  std::vector<std::string> gains, doubts;  // how sure it is, what would settle it, and what it assumes
};
// `best`: the setup's best advice.
SetupVerdict verdict_on_setup(const Scenario&, const std::vector<Advice>&, const std::vector<std::size_t>& ranking,
                              std::size_t best);

}  // namespace draftline
