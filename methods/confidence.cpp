// SPDX-License-Identifier: Apache-2.0
#include "methods/confidence.h"

#include <algorithm>

namespace draftline::methods {

std::optional<double> fitted_threshold(std::vector<JudgedDraft> drafts) {
  constexpr std::size_t kTooFew = 5;
  constexpr double kMissCosts = 3;
  const auto accepted = std::count_if(drafts.begin(), drafts.end(), [](const JudgedDraft& d) { return d.accepted; });
  const auto rejected = static_cast<std::ptrdiff_t>(drafts.size()) - accepted;
  if (drafts.size() <= kTooFew || accepted == 0 || rejected == 0) return std::nullopt;
  std::sort(drafts.begin(), drafts.end(), [](const auto& a, const auto& b) { return a.probability > b.probability; });
  double best = 0, least = 2 + kMissCosts;
  std::ptrdiff_t kept = 0, alarms = 0;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    ++(drafts[i].accepted ? kept : alarms);
    if (i + 1 < drafts.size() && drafts[i + 1].probability == drafts[i].probability) continue;
    const double cost = static_cast<double>(alarms) / static_cast<double>(rejected) +
                        kMissCosts * (1 - static_cast<double>(kept) / static_cast<double>(accepted));
    if (cost < least) {
      least = cost;
      best = drafts[i].probability;
    }
  }
  return best;
}

}  // namespace draftline::methods
