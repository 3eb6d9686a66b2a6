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

// Writes the acceptance trace to the file, prints a summary with its inputs, and returns the exit code.
// `header`: with the identities of target and drafter.
int record_decode_trace(const DecodeOptions&, TraceHeader header, const measure::WeightNames&, const Tracing&,
                        const std::vector<std::vector<int>>& prompts,
                        const std::function<void(JsonWriter&)>& write_inputs);

}  // namespace draftline::cli
