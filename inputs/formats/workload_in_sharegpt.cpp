// SPDX-License-Identifier: Apache-2.0
// Conversations in the form of ShareGPT's files: the first message and its answer are a request, as vLLM's and SGLang's
// benchmarks take them.
#include "inputs/formats/workload_files.h"
#include "inputs/formats/workload_lines.h"

namespace draftline {

bool is_sharegpt(const Reader& root) {
  return root.is_array() && root.size() > 0 && root.item(0).is_object() &&
         (root.item(0).find("conversations") || root.item(0).find("conversation"));
}

WorkloadTrace workload_in_sharegpt(const Reader& root) {
  WorkloadTrace trace;
  trace.has_arrivals = false;
  trace.notes.emplace_back(kEstimateNote);
  for (const Reader& one : root.items()) {
    auto messages = one.find("conversations");
    if (!messages) messages = one.find("conversation");
    if (!messages || !messages->is_array() || messages->size() < 2) continue;  // no answer
    const std::int64_t prompt = estimated_tokens(messages->item(0).at("value").text()),
                       output = estimated_tokens(messages->item(1).at("value").text());
    if (prompt < 1 || output < 1 || prompt > kMostRecorded || output > kMostRecorded) continue;
    trace.requests.push_back({0, static_cast<int>(prompt), static_cast<int>(output), 0});
  }
  return trace;
}

}  // namespace draftline
