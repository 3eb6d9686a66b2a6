// SPDX-License-Identifier: Apache-2.0
// `draftline decode --trace FILE`.
#pragma once
#include <functional>
#include <vector>

#include "cli/decode_options.h"
#include "core/json_writer.h"
#include "measure/decode_inputs.h"
#include "trace/tracing.h"

namespace draftline::cli {

// Records the acceptance trace in the file and prints a summary, with its inputs; returns the exit code.
// `header`: with the identities of target and drafter.
int record_decode_trace(const DecodeOptions&, TraceHeader header, const measure::WeightNames&, const Tracing&,
                        const std::vector<std::vector<int>>& prompts,
                        const std::function<void(JsonWriter&)>& write_inputs);

}  // namespace draftline::cli
