// SPDX-License-Identifier: Apache-2.0
// Predicts the cells of papers that print speed without acceptance, or acceptance without the speed of the baseline (Clover,
// SPACE). A table's settings say what stands for its stack. Where throughputs without speculation are printed, they alone
// calibrate what a step costs beyond the priced program: a constant, and a slope per sequence of the batch. Where no
// acceptance is printed, the one number per method and task is inferred from the cells of one batch size, marked calibrated,
// and the others follow.
#pragma once
#include <filesystem>

#include "reports/paper_table.h"

namespace draftline {

// Reads data/papers/NAME.json and fills in ours. InputErrors if the file is wrong.
Paper predict_inferred_paper(const std::filesystem::path& data, const std::string& name);

}  // namespace draftline
