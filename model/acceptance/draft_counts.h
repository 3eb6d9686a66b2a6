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
  // A chain of `least` to `most` drafts that goes on after each draft, from `least` on, with the same probability.
  static DraftCounts geometric(double goes_on, int least, int most);
  // The probability with which it has this mean, `least` to `most`.
  static double goes_on_with(double mean, int least, int most);
  DraftCounts limited_to(int most) const;  // more drafts become `most`

  bool usual() const { return shares_.empty(); }
  double mean() const;                                                           // not if usual()
  const std::vector<std::pair<int, double>>& shares() const { return shares_; }  // drafts ascending; sums to 1

  struct Batch {
    std::vector<int> drafts;  // [sequences]; empty: the usual number
    double share;
  };
  // Batches that stand for all batches of independent sequences. Of two numbers: all counts of the larger one
  // (core/binomial). Otherwise one batch for each largest number of drafts, which decides how long a batch drafts;
  // its other sequences share their expected number of drafts evenly, which keeps the mean. Of several sequences,
  // largest numbers with a share below 1e-3 (or a tenth of the mean share, if that is less) are left out.
  std::vector<Batch> batches(int sequences) const;

  auto operator<=>(const DraftCounts&) const = default;

 private:
  std::vector<std::pair<int, double>> shares_;
};

}  // namespace draftline
