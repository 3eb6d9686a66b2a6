// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/draft_counts.h"

#include <algorithm>
#include <cmath>

#include "core/binomial.h"
#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/acceptance/acceptance.h"

namespace draftline {

DraftCounts DraftCounts::of(const std::vector<double>& shares) {
  double sum = 0;
  for (const double share : shares) sum += share;
  DraftCounts counts;
  for (int n = 0; n < count(shares); ++n)
    if (shares[at(n)] > 0) counts.shares_.emplace_back(n, shares[at(n)] / sum);
  return counts;
}

DraftCounts DraftCounts::of_hits(int drafts, double hit_share) {
  std::vector<double> shares(at(drafts) + 1);
  shares.front() = 1 - hit_share;
  shares.back() += hit_share;
  return of(shares);
}

double DraftCounts::goes_on_with(double mean, int least, int most) {
  check(mean >= least && mean <= most, "a mean number of drafts lies between the smallest and the largest number");
  return most > least ? iid_rate(1 + mean - least, most - least) : 0;
}

DraftCounts DraftCounts::geometric(double goes_on, int least, int most) {
  std::vector<double> shares(at(most) + 1);
  double reached = 1;  // the probability of at least n drafts
  for (int n = least; n < most; ++n, reached *= goes_on) shares[at(n)] = reached * (1 - goes_on);
  shares[at(most)] = reached;
  return of(shares);
}

DraftCounts DraftCounts::limited_to(int most) const {
  std::vector<double> shares(at(most) + 1);
  for (const auto& [drafts, share] : shares_) shares[at(std::min(drafts, most))] += share;
  return of(shares);
}

double DraftCounts::mean() const {
  double sum = 0;
  for (const auto& [drafts, share] : shares_) sum += share * drafts;
  return sum;
}

namespace {

// `total` drafts of `sequences` sequences, the first of which has `most`.
std::vector<int> shared_evenly(int total, int most, int sequences) {
  std::vector<int> drafts{most};
  for (int others = sequences - 1, left = total - most; others > 0; --others) {
    drafts.push_back((left + others - 1) / others);
    left -= drafts.back();
  }
  return drafts;
}

}  // namespace

std::vector<DraftCounts::Batch> DraftCounts::batches(int sequences) const {
  if (usual()) return {{{}, 1}};
  if (shares_.size() <= 2) {
    const int low = shares_.front().first, high = shares_.back().first;
    std::vector<Batch> all;
    for (const auto& [highs, share] : binomial(sequences, shares_.size() == 1 ? 1 : shares_.back().second)) {
      all.push_back({std::vector<int>(at(sequences), low), share});
      std::fill_n(all.back().drafts.begin(), highs, high);
    }
    return all;
  }
  const double least = sequences == 1 ? 0 : std::min(1e-3, 0.1 / to_double(shares_.size()));
  std::vector<Batch> all;
  double sum = 0, below = 0, total_below = 0;  // P(drafts < most); E(drafts; drafts < most)
  for (const auto& [most, p] : shares_) {
    const double upto = std::min(1.0, below + p), n = sequences;
    const double share = std::pow(upto, n) - std::pow(below, n);
    if (share > least) {
      const double others_upto = std::pow(upto, n - 1), others_below = std::pow(below, n - 1);
      const double total = n * (total_below * (others_upto - others_below) + most * p * others_upto) / share;
      const double floor = std::floor(total), part = total - floor;
      constexpr double kWhole = 1e-9;
      if (part < 1 - kWhole)
        all.push_back({shared_evenly(static_cast<int>(floor), most, sequences), share * (1 - part)});
      if (part > kWhole) all.push_back({shared_evenly(static_cast<int>(floor) + 1, most, sequences), share * part});
      sum += share;
    }
    below = upto;
    total_below += most * p;
  }
  for (Batch& b : all) b.share /= sum;
  return all;
}

}  // namespace draftline
