// SPDX-License-Identifier: Apache-2.0
// Acceptance in files that serving engines and their benchmarks write: results, metrics, responses and logs. Each kind
// of file is a row of inputs/formats/acceptance_formats; docs/reference/acceptance.md lists them. Counters of several
// engines are summed.
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include "core/files.h"

namespace draftline {

constexpr double kLongestServedDraft = 1024;  // drafts of a step

// The draft length of a run, from its mean over steps, which is nearly a whole number, because only steps at the ends
// of texts are shorter. None if the mean differs from a whole number by more than 2 %.
std::optional<int> whole_draft_length(double mean);

// The acceptance of a run over all steps that verified drafts.
struct ServedAcceptance {
  // For each draft, the share of the steps in which it was accepted; empty: the file contains only the mean.
  std::vector<double> per_position;
  double mean_length = 1;             // tokens per step, the bonus token included
  std::optional<double> mean_drafts;  // of a step; none: unknown
  // Of all steps; none: unknown or not constant.
  std::optional<int> draft_length() const { return mean_drafts ? whole_draft_length(*mean_drafts) : std::nullopt; }

  // Throws InputErrors if the file can't be read or has no acceptance.
  static ServedAcceptance read(const std::filesystem::path&, const Files& = disk());
};

}  // namespace draftline
