// SPDX-License-Identifier: Apache-2.0
// guidellm's benchmarks.json: a list of loads, each with distributions over its requests by how they ended.
#include <algorithm>

#include "inputs/formats/served_figures.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

ServedRun read_load(const Reader& in) {
  const Reader metrics = in.at("metrics");
  const auto figure = [&](std::string_view name, std::string_view ended, std::string_view statistic, double least,
                          double most) {
    const Reader all = metrics.at(name);
    const auto these = all.find(ended);
    return (these ? *these : all.at("successful")).at(statistic).number(least, most);
  };
  ServedRun run;
  run.place = in.place();
  run.time = kMillisecond *
             Seconds{figure("inter_token_latency_ms", "successful", "median", kLeastMilliseconds, kMostMilliseconds)};
  run.batch_size = std::max(1.0, figure("request_concurrency", "total", "mean", 0, kMostServedSequences));
  run.request_prompt = figure("prompt_token_count", "successful", "mean", 0, kMostServedLength);
  run.request_output = figure("output_token_count", "successful", "mean", 1, kMostServedLength);
  run.context = run.request_prompt + run.request_output / 2;
  if (metrics.find("time_to_first_token_ms"))
    run.ttft = kMillisecond *
               Seconds{figure("time_to_first_token_ms", "successful", "median", kLeastMilliseconds, kMostMilliseconds)};
  return run;
}

}  // namespace

ServedFormat guidellm_benchmark() {
  return {"guidellm", [](const Reader& in) { return in.find("benchmarks").has_value(); },
          [](const ServedValues& values, const ServedArguments&) {
            std::vector<ServedRun> runs;
            for (const Reader& value : values)
              for (const Reader& load : value.at("benchmarks").items()) runs.push_back(read_load(load));
            return runs;
          }};
}

}  // namespace draftline
