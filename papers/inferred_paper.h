// SPDX-License-Identifier: Apache-2.0
// Predicts the cells of a paper's tables (SpecFormer, S3D, Clover, SPACE): throughputs and speedups
// (papers/inferred_rates), peak memory (papers/peak_memory), S3D's measure M and its formulas (equations 10 to 14), and
// the batch sizes of figures. See docs/explanation/papers.md.
#pragma once
#include <string>
#include <vector>

#include "core/files.h"
#include "papers/paper_table.h"

namespace draftline {

std::vector<std::string> paper_names();  // each is a file data/papers/NAME.json

// Reads data/papers/NAME.json and sets PaperCell::ours of every cell that can be predicted. Throws InputErrors if the
// name is unknown, or its file is missing or wrong.
Paper predict_paper(const Data&, const std::string& name);

}  // namespace draftline
