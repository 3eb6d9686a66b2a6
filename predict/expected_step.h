// SPDX-License-Identifier: Apache-2.0
// The mean price of a step that varies: sequences of a batch verify different numbers of drafts, because a look-up
// finds none for some of them, or a drafter stops early. The mean is taken over batches that stand for all
// (DraftCounts).
#pragma once
#include <utility>
#include <vector>

#include "predict/placed_step.h"

namespace draftline {

// Numbers of rows that a step verifies, over all its sequences, each with its share of the steps. The shares sum to 1.
using VerifiedRows = std::vector<std::pair<int, double>>;
inline double mean_rows(const VerifiedRows& all) {
  double mean = 0;
  for (const auto& [rows, share] : all) mean += share * rows;
  return mean;
}

class ExpectedStep {
 public:
  // A step that verifies `rows` rows.
  void add(double share, int rows, PlacedStep price) {
    parts_.emplace_back(share, std::move(price));
    rows_.emplace_back(rows, share);
  }
  const VerifiedRows& rows() const { return rows_; }

  Seconds operator()(double length, const PromptsBetween& between = {}) const {
    return mean([&](const PlacedStep& p) { return p(length, between); });
  }
  // How long a drafter's own device works in a step; 0: it has none.
  Seconds drafting(double length) const {
    return mean([&](const PlacedStep& p) { return p.drafting(length); });
  }
  StepBreakdown breakdown(double length) const { return timing(length).step; }
  StepTiming timing(double length) const {
    StepTiming mean;
    for (const auto& [share, price] : parts_) mean.add(price.timing(length), share);
    return mean;
  }
  Work work(double length) const {  // on the target's device
    Work w;
    for (const auto& [share, price] : parts_) {
      const Work one = price.target().work(length);
      w += Work{share * one.flops, share * one.read, share * one.written};
    }
    return w;
  }
  std::vector<Window> windows() const {
    return parts_.empty() ? std::vector<Window>{} : parts_.front().second.windows();
  }
  // How long the target's device waits for its host in a step; more device work would hide it. `step`: a mean of
  // breakdown()s.
  Seconds idle(const StepBreakdown& step) const {
    const bool apart = !parts_.empty() && parts_.front().second.apart();
    const Seconds least = mean([](const PlacedStep& p) { return p.target().host_least(); });
    return std::max(Seconds{}, (apart ? step.host() - step.drafting : step.host()) - least);
  }

 private:
  template <class F>
  Seconds mean(F f) const {
    Seconds sum;
    for (const auto& [share, price] : parts_) sum += share * f(price);
    return sum;
  }
  std::vector<std::pair<double, PlacedStep>> parts_;
  VerifiedRows rows_;
};

}  // namespace draftline
