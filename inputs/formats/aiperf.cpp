// SPDX-License-Identifier: Apache-2.0
// AIPerf: profile_export_aiperf.json, one load summed up, and profile_export.jsonl, a request a line. Each figure has
// its unit beside it.
#include <algorithm>
#include <array>

#include "inputs/formats/served_figures.h"
#include "inputs/served_formats.h"

namespace draftline {

namespace {

constexpr NamedValues<double, 7> kUnits{
    {{"ms", 1e-3}, {"sec", 1}, {"s", 1}, {"seconds", 1}, {"us", 1e-6}, {"ns", 1e-9}, {"milliseconds", 1e-3}}};

std::optional<Reader> figure(const Reader& in, std::string_view name) {
  const auto found = in.find(name);
  return found && found->is_object() ? found : std::nullopt;
}

// A time, of which `statistic` is read, the first that there is.
template <std::size_t N>
std::optional<Seconds> time_of(const Reader& in, std::string_view name,
                               const std::array<std::string_view, N>& statistics) {
  const auto found = figure(in, name);
  if (!found) return std::nullopt;
  const double unit = found->at("unit").value_in(kUnits);
  for (const std::string_view statistic : statistics)
    if (const auto v = number_at(*found, statistic, 0, 1e18)) return unit * Seconds{*v};
  return std::nullopt;
}

constexpr std::array<std::string_view, 2> kMedian{"p50", "avg"};
constexpr std::array<std::string_view, 1> kMean{"avg"}, kValue{"value"};

ServedRun read_export(const Reader& in) {
  ServedRun run;
  run.place = in.file().string();
  run.request_prompt = in.at("input_sequence_length").at("avg").number(0, kMostServedLength);
  run.request_output = in.at("output_sequence_length").at("avg").number(2, kMostServedLength);
  run.context = run.request_prompt + run.request_output / 2;
  const auto gap = time_of(in, "inter_token_latency", kMedian);
  const auto first = time_of(in, "time_to_first_token", kMean), whole = time_of(in, "request_latency", kMean);
  if (!gap || !first || !whole || !(gap->value > 0)) {
    in.fail("contains no times of tokens: run aiperf with --streaming");
    return run;
  }
  run.time = *gap;
  run.ttft = time_of(in, "time_to_first_token", kMedian);
  const double rate = in.at("request_throughput").at("avg").number(0, 1e9);                      // requests/s
  run.batch_size = std::clamp(rate * (whole->value - first->value), 1.0, kMostServedSequences);  // Little's law
  return run;
}

// The first and last token of a request, from the times of its record; none if it failed or has one token.
std::optional<DecodingRequest> decoded(const Reader& record) {
  if (const auto error = record.find("error"); error && !error->is_null()) return std::nullopt;
  const Reader metadata = record.at("metadata"), metrics = record.at("metrics");
  auto first = time_of(metrics, "time_to_first_token", kValue);
  if (!first) first = time_of(metrics, "ttft", kValue);
  const double tokens = metrics.at("output_sequence_length").at("value").number(0, kMostServedLength);
  if (tokens < 2) return std::nullopt;
  if (!first) {
    metrics.fail("contains no times of tokens: run aiperf with --streaming");
    return std::nullopt;
  }
  constexpr double kNanosecond = 1e-9, kMost = 1e19;
  return DecodingRequest{kNanosecond * metadata.at("request_start_ns").number(0, kMost) + first->value,
                         kNanosecond * metadata.at("request_end_ns").number(0, kMost),
                         metrics.at("input_sequence_length").at("value").number(0, kMostServedLength), tokens - 1};
}

std::vector<ServedRun> read_records(const ServedValues& values, const ServedArguments&) {
  std::vector<DecodingRequest> requests;
  std::vector<double> gaps;
  ServedRun run;
  for (const Reader& record : values) {
    if (const auto phase = record.at("metadata").find("benchmark_phase"); phase && phase->text() == "warmup") continue;
    const auto request = decoded(record);
    if (!request) continue;
    requests.push_back(*request);
    gaps.push_back((request->last - request->first) / request->tokens);
    run.request_prompt += request->prompt;
    run.request_output += request->tokens + 1;
  }
  const auto decoding = together(requests);
  if (!decoding) {
    values.front().fail("no request has a second token");
    return {};
  }
  std::string file = values.front().file().string();  // without the line
  run.place = file.substr(0, file.rfind(':'));
  run.request_prompt /= static_cast<double>(requests.size());
  run.request_output /= static_cast<double>(requests.size());
  run.batch_size = decoding->batch_size;
  run.context = decoding->context;
  const auto middle = gaps.begin() + std::ssize(gaps) / 2;
  std::nth_element(gaps.begin(), middle, gaps.end());
  run.time = Seconds{*middle};
  return {run};
}

}  // namespace

ServedFormat aiperf_export() {
  return {"AIPerf (profile_export_aiperf.json)",
          [](const Reader& in) { return in.find("request_latency") && in.find("output_sequence_length"); },
          [](const ServedValues& values, const ServedArguments&) {
            std::vector<ServedRun> runs;
            for (const Reader& value : values) runs.push_back(read_export(value));
            return runs;
          }};
}

ServedFormat aiperf_records() {
  return {"AIPerf (profile_export.jsonl)", [](const Reader& in) { return in.find("metadata") && in.find("metrics"); },
          read_records};
}

}  // namespace draftline
