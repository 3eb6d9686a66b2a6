// SPDX-License-Identifier: Apache-2.0
// Acceptance in the results of benchmarks: vLLM's `bench serve`, SGLang's bench_serving (a run a line, of which the
// last counts), and trtllm-bench, whose mean is one of requests.
#include "inputs/formats/acceptance_formats.h"

namespace draftline {

namespace {

std::optional<double> length_at(const Reader& in, std::string_view key) {
  const auto length = in.find(key);
  return length && length->is_number() ? std::optional(length->number(1, kLongestServedDraft + 1)) : std::nullopt;
}

}  // namespace

std::optional<ServedAcceptance> acceptance_in_benchmark(const AcceptanceFile& file) {
  if (file.values.empty() || !file.values.back().is_object()) return std::nullopt;
  const Reader& run = file.values.back();
  ServedAcceptance a;
  if (const auto shares = run.find("spec_decode_per_position_acceptance_rates"); shares && shares->is_array())
    a.per_position = shares->numbers(0, 1);
  for (const char* key : {"spec_decode_acceptance_length", "accept_length"})
    if (const auto length = length_at(run, key)) a.mean_length = *length;
  if (a.per_position.empty() && a.mean_length == 1) return std::nullopt;
  return a;
}

std::optional<ServedAcceptance> acceptance_in_trtllm_bench(const AcceptanceFile& file) {
  if (file.values.size() != 1 || !file.values.front().is_object()) return std::nullopt;
  const auto decoding = file.values.front().find("decoding_stats");
  if (!decoding || !decoding->is_object()) return std::nullopt;
  const auto lengths = decoding->find("acceptance_length_percentiles");
  const auto mean = lengths && lengths->is_object() ? length_at(*lengths, "average") : std::nullopt;
  return mean ? std::optional(ServedAcceptance{.per_position = {}, .mean_length = *mean, .mean_drafts = {}})
              : std::nullopt;
}

}  // namespace draftline
