// SPDX-License-Identifier: Apache-2.0
// The error of a fit on held-out shapes, and the uncertainty of its coefficients.
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
  bool known = false;                    // whether points were held out; if not, the other members are not set
  double median = 0, mean = 0, p90 = 0;  // held-out: |predicted / measured - 1|
  double low = 1, high = 1;              // 90 % of held-out times lie between low and high x predicted
  double coverage = 0;                   // share of held-out points inside the intervals of the other folds
  FitSpread spread;
  std::vector<std::string> warnings;
};

inline constexpr int kFitFolds = 5;
inline constexpr double kIntervalShare = 0.9;

// `log_ratio`: logarithms of measured over predicted time, for the held-out points of each fold.
FitQuality judged(std::string op, const std::vector<std::vector<double>>& log_ratio);
// Adds warnings about too few points and about coefficients that the data hardly determine.
void note_spread(FitQuality&, FitSpread);

double quantile(std::vector<double> values, double share);  // of at least one value

}  // namespace draftline
