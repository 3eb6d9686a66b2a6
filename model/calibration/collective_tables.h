// SPDX-License-Identifier: Apache-2.0
// Times of collective operations measured by others: the CSV tables of aiconfigurator (milliseconds; messages in
// elements of their format, of an all-gather those of the whole result).
#pragma once
#include <vector>

#include "core/csv.h"
#include "model/calibration/excluded_rows.h"
#include "model/engines/link_rule.h"

namespace draftline {

// nccl.csv: NCCL's all-reduce and all-gather of 16-bit elements.
std::vector<LinkTable> read_nccl_table(const Csv&, ExcludedRows&);

// custom_allreduce.csv: what vLLM called for an all-reduce, replayed as a graph. `rules` say which of its algorithms
// ran at a size, on devices with these links; each has a table.
std::vector<LinkTable> read_custom_all_reduce_table(const Csv&, const Links&, const EngineLinks& rules, ExcludedRows&);

}  // namespace draftline
