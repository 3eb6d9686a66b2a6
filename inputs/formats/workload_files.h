// SPDX-License-Identifier: Apache-2.0
// Kinds of file with the lengths of a workload's requests (inputs/workload_trace).
#pragma once
#include <string_view>

#include "core/reader.h"
#include "inputs/workload_trace.h"

namespace draftline {

constexpr std::int64_t kMostRecorded = 1 << 24;  // tokens of a prompt or an output

bool is_sharegpt(const Reader& root);
WorkloadTrace workload_in_sharegpt(const Reader& root);  // mistakes are noted

// A server's /metrics with histograms of the lengths of its requests (vLLM, SGLang, TGI). Of two scrapes, each behind a
// line with its time in seconds, the difference. Empty if there are no such histograms.
WorkloadTrace workload_in_metrics(std::string_view text);

}  // namespace draftline
