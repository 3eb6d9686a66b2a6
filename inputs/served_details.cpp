// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_details.h"

#include <algorithm>
#include <array>
#include <vector>

namespace draftline {

std::optional<DecodingTogether> decoding_together(const Reader& result) {
  constexpr double kMostSeconds = 1e9;
  constexpr std::array keys{"start_times", "ttfts", "itls", "input_lens"};
  for (const char* key : keys)
    if (const auto list = result.find(key); !list || !list->is_array()) return std::nullopt;
  const auto starts = result.at("start_times").items(), firsts = result.at("ttfts").items(),
             gaps = result.at("itls").items(), prompts = result.at("input_lens").items();
  if (starts.size() != firsts.size() || starts.size() != gaps.size() || starts.size() != prompts.size()) {
    result.at("itls").fail("\"start_times\", \"ttfts\", \"itls\" and \"input_lens\" are of different lengths");
    return std::nullopt;
  }
  struct Change {
    double at;
    int by;
  };
  std::vector<Change> changes;
  std::vector<double> all;
  double text = 0;
  for (std::size_t i = 0; i < gaps.size(); ++i) {
    const auto own = gaps[i].items();
    if (own.empty()) continue;  // it failed, or has one token
    double end = starts[i].number(-kMostSeconds, 10 * kMostSeconds) + firsts[i].number(0, kMostSeconds);
    changes.push_back({end, 1});
    for (const Reader& gap : own) all.push_back(gap.number(0, kMostSeconds)), end += all.back();
    changes.push_back({end, -1});
    const auto tokens = static_cast<double>(own.size());
    text += tokens * (prompts[i].number(0, 1 << 24) + tokens / 2);
  }
  if (all.empty()) {
    result.at("itls").fail("no request has a second token");
    return std::nullopt;
  }
  // While n sequences decode, they emit n times as many tokens as one does.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  double once = 0, squared = 0, n = 0, last = changes.front().at;
  for (const Change& c : changes) {
    once += n * (c.at - last);
    squared += n * n * (c.at - last);
    last = c.at;
    n += c.by;
  }
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  if (once <= 0 || *middle <= 0) {
    result.at("itls").fail("half of the gaps between tokens take no time");
    return std::nullopt;
  }
  return DecodingTogether{std::max(1.0, squared / once), text / static_cast<double>(all.size()), Seconds{*middle}};
}

}  // namespace draftline
