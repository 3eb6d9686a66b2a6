// SPDX-License-Identifier: Apache-2.0
// Predicts the cells of papers that print speed without acceptance, or acceptance without the speed of the baseline
// (S3D, Clover, SPACE): throughputs and what follows from them by reports/inferred_rates, peaks of memory by
// reports/peak_memory, M of both, S3D's formulas, and the batch sizes that figures speak of.
#pragma once
#include <filesystem>

#include "papers/paper_table.h"

namespace draftline {

// Reads data/papers/NAME.json and fills in ours. InputErrors if the file is wrong.
Paper predict_inferred_paper(const std::filesystem::path& data, const std::string& name);

}  // namespace draftline
