// SPDX-License-Identifier: Apache-2.0
// Asks draftline from C++ how much EAGLE-3 gains on one GPU. CMakeLists.txt builds it against an installed draftline.
#include <api/answer.h>

#include <iostream>

int main() {
  const draftline::Question question{
      .verb = "run",
      .file = "my-question",  // in messages
      .text = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "batch_size": [1, 8, 64],
                  "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.7, 0.6]}}})"};
  const draftline::Answer answer = draftline::answer(question, DRAFTLINE_DATA_DIR);
  for (const draftline::Result& result : answer.results) {
    const auto& outcome = std::get<draftline::Outcome>(result);
    const int batch = answer.scenario->batch_sizes[outcome.point.batch];
    if (const auto* figures = std::get_if<draftline::Prediction>(&outcome.result))
      std::cout << "batch " << batch << ": a step of " << draftline::to_text(figures->step_time) << ", "
                << figures->speedup << " times as fast\n";
  }
}
