// SPDX-License-Identifier: Apache-2.0
// Predicts the cells of a paper whose tables are throughputs with those of a plain baseline (SpecFormer). The
// calibration is baseline-only: for each transformer and batch size the engine's issue time is fitted to the printed
// throughput of plain decoding. Every speculative cell follows from the predicted step and the printed acceptance
// length. See docs/explanation/papers.md.
#pragma once
#include <filesystem>

#include "papers/paper_table.h"

namespace draftline {

// Reads data/papers/NAME.json, where `data` is the folder data/, and sets PaperCell::ours of every cell that can be
// predicted. Throws InputErrors if there is no such file or it is wrong.
Paper predict_throughput_paper(const std::filesystem::path& data, const std::string& name);

}  // namespace draftline
