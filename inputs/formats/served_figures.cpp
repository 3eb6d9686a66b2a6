// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/served_figures.h"

#include <algorithm>

namespace draftline {

std::optional<double> number_at(const Reader& in, std::string_view key, double least, double most) {
  const auto found = in.find(key);
  if (!found || found->is_null()) return std::nullopt;
  return found->number(least, most);
}

std::optional<Seconds> milliseconds_at(const Reader& in, std::string_view key) {
  const auto t = number_at(in, key, 0, kMostMilliseconds);
  return t && *t >= kLeastMilliseconds ? std::optional(kMillisecond * Seconds{*t}) : std::nullopt;
}

std::optional<DecodingTogether> together(const std::vector<DecodingRequest>& requests) {
  struct Change {
    double at;
    int by;
  };
  std::vector<Change> changes;
  double text = 0, tokens = 0;
  for (const DecodingRequest& r : requests) {
    changes.push_back({r.first, 1});
    changes.push_back({r.last, -1});
    text += r.tokens * (r.prompt + r.tokens / 2);
    tokens += r.tokens;
  }
  // While n sequences decode, they emit n times as many tokens as one does.
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  double once = 0, squared = 0, n = 0, last = changes.empty() ? 0 : changes.front().at;
  for (const Change& c : changes) {
    once += n * (c.at - last);
    squared += n * n * (c.at - last);
    last = c.at;
    n += c.by;
  }
  if (once <= 0 || tokens <= 0) return std::nullopt;
  return DecodingTogether{std::max(1.0, squared / once), text / tokens};
}

}  // namespace draftline
