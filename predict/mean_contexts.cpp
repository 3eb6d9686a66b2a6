// SPDX-License-Identifier: Apache-2.0
#include "predict/mean_contexts.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace draftline {

namespace {

constexpr std::array<std::pair<double, double>, 3> kGauss{
    // (point, weight) on [0, 1]
    {{0.1127016653792583, 5.0 / 18}, {0.5, 8.0 / 18}, {0.8872983346207417, 5.0 / 18}}};

constexpr int kMostChunks = 256;  // of one output that are parts of their own; beyond, a part holds several

void add_kinks(Window w, double from, double to, std::vector<double>& all) {
  if (!w.chunked) {
    const double full = w.ring ? w.tokens : w.tokens - 1;  // with the row itself, unless this is a ring
    if (from < full && full < to) all.push_back(full);
    return;
  }
  const double every = w.tokens * std::max(1.0, std::ceil((to - from) / w.tokens / kMostChunks));
  for (double at = (std::floor(from / w.tokens) + 1) * w.tokens; at < to; at += every) all.push_back(at);
}

}  // namespace

MeanContexts mean_contexts(int prompt_tokens, int output_tokens, std::span<const Window> windows) {
  const double from = prompt_tokens, steps = output_tokens - 2;
  std::vector<double> ends;
  for (const Window& w : windows) add_kinks(w, from, from + steps, ends);
  std::sort(ends.begin(), ends.end());
  ends.erase(std::unique(ends.begin(), ends.end()), ends.end());
  ends.push_back(from + steps);
  MeanContexts all;
  double begin = from;
  for (const double end : ends) {
    const double share = ends.size() == 1 ? 1 : (end - begin) / steps;
    for (const auto& [x, weight] : kGauss) all.emplace_back(begin + x * (end - begin), weight * share);
    begin = end;
  }
  return all;
}

}  // namespace draftline
