// SPDX-License-Identifier: Apache-2.0
// The report of `trtllm-bench throughput --streaming --report_json` (tensorrt_llm/bench/dataclasses/reporting.py).
#include <algorithm>

#include "inputs/formats/served_figures.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

ServedRun read_report(const Reader& in) {
  ServedRun run;
  run.place = in.file().string();
  const Reader requests = in.at("request_info"), performance = in.at("performance");
  run.request_prompt = requests.at("avg_input_length").number(0, kMostServedLength);
  run.request_output = requests.at("avg_output_length").number(2, kMostServedLength);
  run.context = run.request_prompt + run.request_output / 2;
  const auto streaming = in.find("streaming_metrics");
  if (!streaming || !streaming->is_object()) {
    in.fail("contains no times of tokens: run trtllm-bench with --streaming");
    return run;
  }
  if (const auto decoding = in.find("decoding_stats"); decoding && decoding->is_object())
    if (const auto lengths = decoding->find("acceptance_length_percentiles"); lengths && lengths->is_object())
      run.tokens_per_step = lengths->at("average").number(1, kMostServedRows);
  const auto percentiles = streaming->find("tpot_percentiles");
  const auto median = percentiles && percentiles->is_object() ? milliseconds_at(*percentiles, "p50") : std::nullopt;
  const auto mean = milliseconds_at(*streaming, "avg_tpot_ms");
  if (!median && !mean) streaming->at("avg_tpot_ms").number(kLeastMilliseconds, kMostMilliseconds);
  run.time = run.tokens_per_step * median.value_or(mean.value_or(Seconds{1}));
  run.ttft = milliseconds_at(*streaming, "avg_ttft_ms");
  // Requests in flight, as long as they decode.
  const Seconds stays =
      kMillisecond * Seconds{performance.at("avg_request_latency_ms").number(kLeastMilliseconds, kMostMilliseconds)};
  const double decodes = run.ttft ? std::clamp(1 - run.ttft->value / stays.value, 0.0, 1.0) : 1;
  run.batch_size = std::max(1.0, decodes * requests.at("avg_num_concurrent_requests").number(0, kMostServedSequences));
  if (const auto world = in.find("world_info"); world && world->is_object())
    run.tensor_parallel = world->at("tp_size").positive_int(1024);
  if (const auto engine = in.find("engine"); engine && engine->is_object())
    if (const auto model = engine->find("model"); model && model->is_string()) run.model_id = model->text();
  return run;
}

}  // namespace

ServedFormat trtllm_bench() {
  return {"trtllm-bench (--report_json)",
          [](const Reader& in) { return in.find("request_info") && in.find("performance"); },
          [](const ServedValues& values, const ServedArguments&) {
            std::vector<ServedRun> runs;
            for (const Reader& value : values) runs.push_back(read_report(value));
            return runs;
          }};
}

}  // namespace draftline
