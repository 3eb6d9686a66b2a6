// SPDX-License-Identifier: Apache-2.0
// vLLM's `bench latency` times whole batches and says neither how large nor how long they are.
#include "inputs/served_formats.h"

namespace draftline {

namespace {

ServedRun read_batches(const Reader& in, const ServedArguments& arguments) {
  const auto batch = arguments.number("batch", 1, kMostServedSequences),
             prompt = arguments.number("prompt", 1, kMostServedLength),
             output = arguments.number("output", 2, kMostServedLength);
  ServedRun run;
  run.place = in.file().string();
  if (!batch || !prompt || !output) {
    in.fail("contains times of batches without their size: write FILE@batch=8,prompt=32,output=128");
    return run;
  }
  const auto median = in.find("percentiles") ? in.at("percentiles").find("50") : std::nullopt;
  run.time = Seconds{(median ? *median : in.at("avg_latency")).number(1e-9, 1e9)};
  run.steps = *output - 1;
  run.prompt_tokens = static_cast<int>(*prompt);
  run.context = *prompt + *output / 2;
  return run;
}

}  // namespace

ServedFormat latency_benchmark() {
  return {"vLLM (bench latency)", [](const Reader& in) { return in.find("avg_latency").has_value(); },
          [](const ServedValues& values, const ServedArguments& arguments) {
            std::vector<ServedRun> runs;
            for (const Reader& value : values) runs.push_back(read_batches(value, arguments));
            return runs;
          }};
}

}  // namespace draftline
