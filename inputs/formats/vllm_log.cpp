// SPDX-License-Identifier: Apache-2.0
// Lines that vLLM logs of speculation: since 0.9 one for each interval (vllm/v1/spec_decode/metrics.py); before, sums
// since the start (vllm/spec_decode/metrics.py).
#include <cmath>

#include "inputs/formats/acceptance_formats.h"
#include "inputs/formats/log_line.h"
#include "inputs/formats/pooled_steps.h"

namespace draftline {

namespace {

// Steps of an interval. Drafted tokens count them exactly where each step drafts as many; else the mean, which is
// rounded, has to.
void add_interval(std::string_view line, PooledSteps& pooled) {
  const auto mean = number_after(line, "Mean acceptance length:"), accepted = number_after(line, "Accepted:"),
             drafted = number_after(line, "Drafted:");
  const auto shares = numbers_after(line, "Per-position acceptance rate:");
  if (!mean || !accepted || !drafted || !(*mean >= 1) || !(*drafted > 0)) return;
  double steps = shares.empty() ? 0 : *drafted / static_cast<double>(shares.size());
  constexpr double kRounding = 0.01;  // of the mean
  if (steps == 0 || std::abs(1 + *accepted / steps - *mean) > kRounding)
    steps = *mean > 1 ? *accepted / (*mean - 1) : *drafted;
  pooled.add(steps, *accepted, *drafted);
  if (!shares.empty()) pooled.add_positions(steps, shares);
}

std::optional<ServedAcceptance> of_sums(std::string_view line) {
  const auto length = number_after(line, "Number of speculative tokens:"),
             drafted = number_after(line, "Number of draft tokens:"),
             emitted = number_after(line, "Number of emitted tokens:");
  if (!length || !drafted || !emitted || !(*length >= 1) || !(*drafted > 0)) return std::nullopt;
  const double steps = *drafted / *length;
  PooledSteps pooled;
  pooled.add(steps, std::max(0.0, *emitted - steps), *drafted);
  return pooled.acceptance();
}

}  // namespace

std::optional<ServedAcceptance> acceptance_in_vllm_log(const AcceptanceFile& file) {
  PooledSteps pooled;
  std::optional<ServedAcceptance> sums;
  std::string_view text = file.text;
  while (const auto line = next_line(text)) {
    if (line->find("SpecDecoding metrics:") != line->npos) add_interval(*line, pooled);
    if (line->find("Speculative metrics:") != line->npos)
      if (auto last = of_sums(*line)) sums = last;
  }
  const auto intervals = pooled.acceptance();
  return intervals ? intervals : sums;
}

}  // namespace draftline
