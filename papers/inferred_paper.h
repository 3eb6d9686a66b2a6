// SPDX-License-Identifier: Apache-2.0
// Predicts the cells of a paper's tables (SpecFormer, S3D, Clover, SPACE): throughputs and speedups
// (papers/inferred_rates), peak memory (papers/peak_memory), S3D's measure M and its formulas (equations 10 to 14), and
// the batch sizes of figures. See docs/explanation/papers.md.
#pragma once
#include <filesystem>

#include "core/files.h"
#include "papers/paper_table.h"

namespace draftline {

// Reads data/papers/NAME.json, where `data` is the folder data/, and sets PaperCell::ours of every cell that can be
// predicted. Throws InputErrors if there is no such file or it is wrong.
Paper predict_inferred_paper(const Data& data, const std::string& name);

}  // namespace draftline
