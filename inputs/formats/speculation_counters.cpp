// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/speculation_counters.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline {

namespace {

constexpr int kMostPositions = 1024;

std::string_view bare(std::string_view name) {
  name.remove_prefix(std::min(name.find(':') + 1, name.size()));
  if (name.ends_with("_total")) name.remove_suffix(6);
  return name;
}

}  // namespace

bool SpeculationCounters::is_gauge(std::string_view name) { return bare(name) == "spec_accept_length"; }

void SpeculationCounters::add(std::string_view name, std::optional<int> position, double value) {
  name = bare(name);
  if (name == "spec_decode_num_drafts") drafts_ += value;
  if (name == "spec_decode_num_draft_tokens") drafted_ += value;
  if (name == "spec_decode_num_accepted_tokens") accepted_ += value;
  if (name == "spec_accept_length" && value >= 1) gauges_ += value, ++gauged_;
  if (name == "spec_decode_num_accepted_tokens_per_pos" && position && *position >= 0 && *position < kMostPositions)
    by_position_[*position] += value;
}

std::optional<ServedAcceptance> SpeculationCounters::acceptance() const {
  ServedAcceptance a;
  if (drafts_ > 0) {
    a.mean_length = 1 + std::min(accepted_ / drafts_, kLongestServedDraft);
    if (drafted_ > 0) a.mean_drafts = drafted_ / drafts_;
    for (const auto& [position, times] : by_position_)
      if (position == count(a.per_position)) a.per_position.push_back(std::min(times / drafts_, 1.0));
    while (!a.per_position.empty() && a.per_position.back() == 0) a.per_position.pop_back();  // deeper than is drafted
  } else if (gauged_ > 0) {
    a.mean_length = std::min(gauges_ / gauged_, kLongestServedDraft + 1);
  }
  if (a.per_position.empty() && a.mean_length == 1) return std::nullopt;
  return a;
}

}  // namespace draftline
