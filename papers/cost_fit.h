// SPDX-License-Identifier: Apache-2.0
// The second reading of a paper's tables: one cost of the engine (papers/fitted_cost) is fitted to the cells that the
// paper's file names, so that the mean logarithm of ours over theirs is 0, and all cells of its tables are predicted
// anew. As the mean falls when the cost rises, bisection finds the one root.
#pragma once
#include <functional>

#include "papers/paper_table.h"

namespace draftline {

using PayCost = std::function<void(std::optional<PaidCost>)>;  // what the predictor's steps pay from now on

// Reads "fitted_cost" from `in`; sets Paper::fitted_cost and PaperCell::fitted. `paper` must have been predicted by
// `predictor` without a cost. Noted at `in` as mistakes: a table that the paper has not, no credible cell to fit to.
void predict_with_fitted_cost(Paper& paper, const Reader& in, const PayCost&, const CellPredictor& predictor);

}  // namespace draftline
