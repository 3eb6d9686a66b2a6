// SPDX-License-Identifier: Apache-2.0
// A folder of kernel tables, each a CSV file named for what it has, also gzipped: aiconfigurator's gemm,
// generation_attention, context_attention, mla_generation_module, mla_context_module, context_mla, moe, nccl and
// custom_allreduce ("gemm.csv", "gemm.csv.gz", "gemm_perf.txt"), and LLMServingSim's dense and attention. Says of every
// row that is not used why.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "core/input_files.h"
#include "model/calibration/excluded_rows.h"
#include "model/calibration/gpu_calibration.h"
#include "model/engines/link_rule.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

struct KernelTables {
  KernelTimes times;
  std::vector<TableRows> tables;  // of every file that is named like a table, used or not
  InputFiles files;
};

// Facts that tables do not have.
struct TableSetting {
  const Device& datasheet;
  const EngineLinks& rules;                   // by which vLLM's all-reduce chose
  std::optional<TransformerShape> of_a_rank;  // of the network that step tables were measured on
};

// InputErrors for a folder without tables, and for mistakes in one that is used, with file and line.
KernelTables read_kernel_tables(const std::filesystem::path& folder, const TableSetting&);

}  // namespace draftline
