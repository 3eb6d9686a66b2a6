// SPDX-License-Identifier: Apache-2.0
#include "inputs/expert_routing.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/reader.h"
#include "tests/catch.h"
#include "tests/source_folder.h"

using namespace draftline;

namespace {

// Counted experts of a layer (data/routing.json has the source).
struct Count {
  int sequences, rows;  // rows: of each sequence
  double touched;
};
constexpr RouterShape kQwen{256, 8}, kDeepSeek{256, 6}, kGlm{64, 4};
double fewer(int rows, double share) { return (1 - share) * experts_of_draws(rows, kQwen, 0); }
const std::vector<Count> kSpeedBench{
    {1, 2, 12.9},           {1, 4, 21.1},           {1, 8, 34.4},           {1, 16, 53.6},
    {2, 1, fewer(2, 0.01)}, {4, 1, fewer(4, 0.04)}, {8, 1, fewer(8, 0.07)}, {16, 1, fewer(16, 0.12)}};
const std::vector<Count> kHumanEval{{1, 2, 13.1}, {1, 4, 21.9}, {1, 8, 36.0}, {1, 16, 56.4}};
const std::vector<Count> kHumanEvalSequences{
    {2, 1, fewer(2, 0.03)}, {4, 1, fewer(4, 0.09)}, {8, 1, fewer(8, 0.16)}, {16, 1, fewer(16, 0.24)}};
const std::vector<Count> kDeepSeekFlash{{1, 2, 9.7}, {1, 4, 16.6}};
// Of GLM-4.7-Flash's choices 25.7 % were those of the row before.
const std::vector<Count> kGlmFlash{{1, 2, 2 * 4 - 0.257 * 4}};

double predicted(const Count& c, const RouterShape& r, const RowRouting& by) {
  return experts_of_draws(c.sequences * std::pow(c.rows, by.exponent), r, by.load_cv);
}
double largest_error(const std::vector<Count>& all, const RouterShape& r, const RowRouting& by) {
  double most = 0;
  for (const Count& c : all) most = std::max(most, std::abs(predicted(c, r, by) / c.touched - 1));
  return most;
}
double squares(const std::vector<Count>& all, const RowRouting& by) {
  double sum = 0;
  for (const Count& c : all) sum += std::pow(predicted(c, kQwen, by) / c.touched - 1, 2);
  return sum;
}
UsualRouting shipped() { return read_file(test::source_folder() / "data" / "routing.json", read_usual_routing); }

}  // namespace

TEST_CASE("the shipped routing is the best for the counts that it was fitted to") {
  const UsualRouting usual = shipped();
  std::vector<Count> one_topic = kHumanEval;
  one_topic.insert(one_topic.end(), kHumanEvalSequences.begin(), kHumanEvalSequences.end());
  for (const auto& [counts, routing] : {std::pair{kSpeedBench, usual.many_topics}, {one_topic, usual.one_topic}}) {
    const RowRouting by = routing.of_pass(2);
    const double least = squares(counts, by);
    for (const double more : {-0.02, 0.02}) CHECK(squares(counts, {by.exponent + more, by.load_cv}) > least);
    for (const double more : {-0.1, 0.1}) CHECK(squares(counts, {by.exponent, by.load_cv + more}) > least);
  }
}

TEST_CASE("experts that rows touch: fitted counts within 3 %, those of other prompts and networks within 8 %") {
  const UsualRouting usual = shipped();
  const RowRouting many = usual.many_topics.of_pass(4), one = usual.one_topic.of_pass(4);
  CHECK(largest_error(kSpeedBench, kQwen, many) < 0.03);
  CHECK(largest_error(kHumanEval, kQwen, one) < 0.04);
  CHECK(largest_error(kHumanEvalSequences, kQwen, one) < 0.02);
  CHECK(largest_error(kHumanEval, kQwen, many) < 0.06);  // not fitted to, nor are the following
  CHECK(largest_error(kHumanEvalSequences, kQwen, many) > 0.1);
  CHECK(largest_error(kDeepSeekFlash, kDeepSeek, many) < 0.03);
  CHECK(largest_error(kGlmFlash, kGlm, many) < 0.08);
}
