// SPDX-License-Identifier: Apache-2.0
// Responses of vLLM that was started with --per-request-spec-decode-metrics: "metrics"/"speculative_decoding" has a
// histogram of accepted drafts over the steps of the request. Responses of several requests are pooled.
#include "core/int_indexed.h"
#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/pooled_steps.h"

namespace draftline {

namespace {

std::optional<Reader> object_at(const Reader& in, std::string_view key) {
  if (!in.is_object()) return std::nullopt;
  const auto found = in.find(key);
  return found && found->is_object() ? found : std::nullopt;
}

void add_request(const Reader& speculation, PooledSteps& pooled) {
  constexpr double kMost = 1e15;
  const std::vector<double> steps_by_accepted = speculation.at("acceptance_histogram").numbers(0, kMost);
  double steps = 0, accepted = 0;
  for (std::size_t j = 0; j < steps_by_accepted.size(); ++j) {
    steps += steps_by_accepted[j];
    accepted += to_double(j) * steps_by_accepted[j];
  }
  if (!(steps > 0)) return;
  pooled.add(steps, accepted, speculation.at("num_draft_tokens").number(0, kMost));
  std::vector<double> shares;
  double more = steps;  // steps that accepted more than j drafts
  for (std::size_t j = 0; j + 1 < steps_by_accepted.size(); ++j)
    shares.push_back((more -= steps_by_accepted[j]) / steps);
  pooled.add_positions(steps, shares);
}

}  // namespace

std::optional<ServedAcceptance> acceptance_in_responses(const AcceptanceFile& file) {
  PooledSteps pooled;
  for (const Reader& value : file.values) {
    const Reader response = object_at(value, "data").value_or(value);  // as an event of a stream
    const auto metrics = object_at(response, "metrics");
    const auto speculation = metrics ? object_at(*metrics, "speculative_decoding") : std::nullopt;
    if (speculation) add_request(*speculation, pooled);
  }
  return pooled.acceptance();
}

}  // namespace draftline
