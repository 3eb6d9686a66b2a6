// SPDX-License-Identifier: Apache-2.0
// The renewal equation is N(n) = 1 + sum over j of P(j) N(n - j), N being 0 where no token is left. By Wald's identity
// N(n) is n + E[tokens thrown away], over the mean length L; the tokens thrown away tend to E[X (X - 1)] / (2 L), so N
// tends to the line n / L + E[X (X - 1)] / (2 L^2). Its distance from that line is a mean of the distances before it:
// once all of the last `longest` distances are small, all that follow are.
#include "model/acceptance/first_passage.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

double expected_steps(int tokens, const LengthDistribution& lengths) {
  constexpr double kClose = 1e-4;
  check(tokens >= 0, "no output has fewer than no tokens");
  const int longest = lengths.longest();
  if (longest == 1) return tokens;
  std::vector<double> share(1, 0.0), steps(1, 0.0);  // P(j), N(n)
  double mean = 0, pairs = 0;                        // L, E[X (X - 1)]
  for (int j = 1; j <= longest; ++j) {
    share.push_back(lengths.probability(j));
    mean += j * share.back();
    pairs += j * (j - 1.0) * share.back();
  }
  const auto line = [&](int n) { return (n + pairs / (2 * mean)) / mean; };
  int close = 0;
  for (int n = 1; n <= tokens; ++n) {
    double sum = 1;
    for (int j = 1; j <= std::min(longest, n - 1); ++j) sum += share[at(j)] * steps[at(n - j)];
    steps.push_back(sum);
    close = std::abs(sum - line(n)) < kClose ? close + 1 : 0;
    if (close == longest) return line(tokens);
  }
  return steps.back();
}

}  // namespace draftline
