// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/first_passage.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/catch.h"

using namespace draftline;

namespace {

// Every way in which steps may emit so many tokens, by its probability.
double enumerated(int left, const LengthDistribution& lengths) {
  if (left <= 0) return 0;
  double steps = 1;
  for (int n = 1; n <= lengths.longest(); ++n) steps += lengths.probability(n) * enumerated(left - n, lengths);
  return steps;
}

}  // namespace

TEST_CASE("steps of an output by head: what a last step emits beyond its end is thrown away") {
  // One draft, accepted half of the time: 1 or 2 tokens a step. Two tokens take one step, or two.
  const LengthDistribution half = chain_lengths(std::array{0.5});
  CHECK(expected_steps(0, half) == 0);
  CHECK(expected_steps(1, half) == 1);
  CHECK(expected_steps(2, half) == 1.5);
  CHECK(expected_steps(3, half) == 1 + 0.5 * 1.5 + 0.5 * 1);
  // Far out a third of a token is thrown away, E[X (X - 1)] / (2 L) = 1 / 3, of 1.5 a step.
  CHECK(expected_steps(300, half) == Approx(200 + 1 / 4.5).epsilon(1e-12));
  // Nothing accepted: a token a step. All accepted: whole steps.
  CHECK(expected_steps(255, chain_lengths(std::array{0.0, 0.0})) == 255);
  CHECK(expected_steps(255, chain_lengths(std::array{1.0, 1.0, 1.0})) == 64);
  CHECK(expected_steps(256, chain_lengths(std::array{1.0, 1.0, 1.0})) == 64);
  CHECK(expected_steps(257, chain_lengths(std::array{1.0, 1.0, 1.0})) == 65);
  CHECK(expected_steps(7, chain_lengths({})) == 7);
}

TEST_CASE("steps of an output are those of every way to emit it, at each length and beyond where the line begins") {
  for (const std::vector<double>& rates :
       {std::vector{0.83, 0.723, 0.75}, std::vector{0.5}, std::vector{0.9, 0.2, 0.9, 0.9, 0.1}}) {
    const LengthDistribution lengths = chain_lengths(rates);
    for (int tokens = 1; tokens <= 15; ++tokens)
      CHECK(std::abs(expected_steps(tokens, lengths) - enumerated(tokens, lengths)) < 1e-4);
    // The same recursion over all tokens, without a line.
    std::vector<double> steps(1, 0.0);
    for (int tokens = 1; tokens <= 400; ++tokens) {
      double sum = 1;
      for (int n = 1; n <= std::min(lengths.longest(), tokens - 1); ++n)
        sum += lengths.probability(n) * steps[static_cast<std::size_t>(tokens - n)];
      steps.push_back(sum);
      CHECK(std::abs(expected_steps(tokens, lengths) - sum) < 1e-4);
    }
  }
}
