// SPDX-License-Identifier: Apache-2.0
// How good a fit is on shapes it has not seen, and how sure its coefficients are.
#pragma once
#include <string>
#include <vector>

namespace draftline {

// Covariance of the logarithms of coefficients.
struct FitSpread {
  std::vector<std::string> names;
  std::vector<std::vector<double>> covariance;
};

struct FitQuality {
  std::string op;
  int points = 0;
  bool known = false;                    // whether any points were left out; otherwise the other members mean nothing
  double median = 0, mean = 0, p90 = 0;  // held-out: |predicted / measured - 1|
  double low = 1, high = 1;              // 90 % of held-out times lie between low and high x predicted
  double coverage = 0;                   // of held-out points, by intervals of the other folds
  FitSpread spread;
  std::vector<std::string> warnings;
};

inline constexpr int kFitFolds = 5;
inline constexpr double kIntervalShare = 0.9;

// `log_ratio`: logarithms of measured over predicted, of the points that each fold left out.
FitQuality judged(std::string op, const std::vector<std::vector<double>>& log_ratio);
// Warns of too few points and of coefficients that the data hardly see.
void note_spread(FitQuality&, FitSpread);

double quantile(std::vector<double> values, double share);  // of at least one

}  // namespace draftline
