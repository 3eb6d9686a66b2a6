// SPDX-License-Identifier: Apache-2.0
// Predicts the cells of a paper whose tables are throughputs beside a plain baseline (SpecFormer). Baseline-only
// calibration: per transformer and batch size the engine's issue time is fitted to the printed throughput without
// speculation; every speculative cell follows from the priced program and the printed acceptance length.
#pragma once
#include <filesystem>

#include "papers/paper_table.h"

namespace draftline {

// Reads data/papers/NAME.json and fills in ours. InputErrors if the file is wrong.
Paper predict_throughput_paper(const std::filesystem::path& data, const std::string& name);

}  // namespace draftline
