// SPDX-License-Identifier: Apache-2.0
// The figures of `advise` (docs/reference/output.md): of a method on a setup, of each batch size, and of the best draft
// lengths.
#pragma once
#include "reports/figure.h"
#include "sim/advice.h"

namespace draftline {

const Figures<Advice>& advise_figures();  // of a method on a setup

// The costs of a step beyond those of a plain step. A table leaves out parts that round to 0 % in all rows.
const Figures<BatchAdvice, Advice>& loss_figures();

// The columns of the table of batch sizes. With several prompt lengths each has its own column of best draft lengths.
Figures<BatchAdvice, Advice> batch_figures(const Advice& advice = {});

const Figures<BestLength>& best_length_figures();
const Figures<Stretch<int>>& stretch_figures();
const Figures<ScheduledLength>& schedule_figures();

// The columns of the table that ranks methods. `batches`: those whose speedups are shown; `common`: one that all
// methods report, 0 if there is none.
Figures<Advice, Scenario> ranking_figures(const std::vector<int>& batches = {8}, int common = 8);

}  // namespace draftline
