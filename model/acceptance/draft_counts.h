// SPDX-License-Identifier: Apache-2.0
// The number of drafts that a sequence verifies in a step, for methods that find drafts or stop drafting by chance.
#pragma once
#include <utility>
#include <vector>

namespace draftline {

class DraftCounts {
 public:
  DraftCounts() = default;  // the usual number of the method in every step
  // shares[n], 0 or more: the weight of steps with n drafts. Weights need not sum to 1; if all are 0, every step has
  // the usual number.
  static DraftCounts of(const std::vector<double>& shares);
  static DraftCounts of_hits(int drafts, double hit_share);  // `drafts`, or none
  // A chain of 1 to `most` drafts, or of 0 to `most` below a mean of 1, that ends after each draft with the same
  // probability: a truncated geometric distribution with this mean, which is at most `most`.
  static DraftCounts of_mean(double mean, int most);

  bool usual() const { return shares_.empty(); }
  double mean() const;                                                           // not if usual()
  const std::vector<std::pair<int, double>>& shares() const { return shares_; }  // drafts ascending; sums to 1

  struct Batch {
    std::vector<int> drafts;  // [sequences]; empty: the usual number
    double share;
  };
  // Batches that stand for all batches of independent sequences. Of two numbers: all counts of the larger one
  // (core/binomial). Otherwise one batch for each largest number of drafts, which decides how long a batch drafts;
  // its other sequences share their expected number of drafts evenly. The mean number of drafts is kept; largest
  // numbers with a share below 1e-3 are left out.
  std::vector<Batch> batches(int sequences) const;

  auto operator<=>(const DraftCounts&) const = default;

 private:
  std::vector<std::pair<int, double>> shares_;
};

}  // namespace draftline
