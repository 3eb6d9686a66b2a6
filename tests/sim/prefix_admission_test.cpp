// SPDX-License-Identifier: Apache-2.0
// DSpark's algorithm 1 against all choices there are, and the confidences that it is given.
#include "sim/prefix_admission.h"

#include <array>
#include <numeric>
#include <random>

#include "tests/catch.h"
#include "tests/sim/plain_cost.h"

using namespace draftline;

namespace {

using Time = std::function<double(int rows, double tokens)>;

double rate(const std::vector<double>& survival, int drafts, const std::vector<int>& lengths, const Time& time) {
  double tokens = static_cast<double>(lengths.size());
  int rows = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s)
    for (int j = 0; j < lengths[s]; ++j, ++rows)
      tokens += survival[s * static_cast<std::size_t>(drafts) + static_cast<std::size_t>(j)];
  return tokens / time(rows, tokens);
}

// The highest rate of all lengths.
double best_rate(const std::vector<double>& survival, int drafts, const Time& time) {
  std::vector<int> lengths(survival.size() / static_cast<std::size_t>(drafts), 0);
  double best = 0;
  for (std::size_t s = 0; s < lengths.size();) {
    best = std::max(best, rate(survival, drafts, lengths, time));
    for (s = 0; s < lengths.size() && ++lengths[s] > drafts; ++s) lengths[s] = 0;
  }
  return best;
}

struct Batch {
  int drafts;
  std::vector<double> survival;
};
Batch random_batch(std::mt19937& random) {
  std::uniform_real_distribution<> share(0.05, 1);
  Batch b{static_cast<int>(1 + random() % 3), {}};
  const auto sequences = 1 + random() % 4;
  for (unsigned s = 0; s < sequences; ++s) {
    double all = 1;
    for (int j = 0; j < b.drafts; ++j) b.survival.push_back(all *= share(random));
  }
  return b;
}

class RowCost : public PlainCost {  // each verified row costs time
  Line decode(const DecodeBatch& b) override {
    Line line = PlainCost::decode({b.sequences, 0, b.context});
    line.start += b.sequences * b.drafts * per_draft;
    return line;
  }
};

}  // namespace

TEST_CASE("drafts that are admitted one by one are the best choice of all where a row always costs the same") {
  std::mt19937 random(7);
  std::uniform_real_distribution<> row(0.01, 0.8);
  int none = 0, some = 0, all = 0;
  for (int i = 0; i < 500; ++i) {
    const Batch b = random_batch(random);
    const double each = row(random);
    const Time time = [&](int rows, double) { return 1 + each * rows; };
    const auto lengths = admit_prefixes(b.survival, b.drafts, time);
    CHECK(rate(b.survival, b.drafts, lengths, time) == Approx(best_rate(b.survival, b.drafts, time)));
    const int rows = std::accumulate(lengths.begin(), lengths.end(), 0);
    ++(rows == 0 ? none : rows == static_cast<int>(b.survival.size()) ? all : some);
  }
  CHECK(std::min({none, some, all}) > 20);
}

TEST_CASE("of so many rows as there is room for, those are admitted that emit the most") {
  std::mt19937 random(8);
  for (int i = 0; i < 200; ++i) {
    const Batch b = random_batch(random);
    const int room = static_cast<int>(random() % (b.survival.size() + 1));
    const Time time = [&](int rows, double) { return rows <= room ? 1 : 1e6; };
    const auto lengths = admit_prefixes(b.survival, b.drafts, time);
    CHECK(std::accumulate(lengths.begin(), lengths.end(), 0) == room);
    CHECK(rate(b.survival, b.drafts, lengths, time) == Approx(best_rate(b.survival, b.drafts, time)));
  }
}

TEST_CASE("the search ends before a step in the time: the paper's counterexample") {
  // Appendix A: 1, 0.5 and 0.45 steps/s at 1, 2 and 3 rows; rates 1, 0.9 and 1.134. To know the last one the drafter
  // must have drafted, which would bias what is admitted.
  const std::array steps{1.0, 0.5, 0.45};
  const Time time = [&](int rows, double) { return 1 / steps[static_cast<std::size_t>(rows)]; };
  const std::vector<double> survival{0.8, 0.72};
  CHECK(best_rate(survival, 2, time) == Approx(1.134));
  CHECK(admit_prefixes(survival, 2, time) == std::vector<int>{0});
}

TEST_CASE("a draft that can't survive is never admitted, and equal ones in the order of their sequences") {
  const Time free = [](int, double) { return 1.0; };
  CHECK(admit_prefixes(std::vector<double>{0.5, 0, 0.5, 0.25}, 2, free) == std::vector<int>{1, 2});
  const Time two = [](int rows, double) { return rows <= 2 ? 1.0 : 9.0; };
  CHECK(admit_prefixes(std::vector<double>{0.5, 0.5, 0.5}, 1, two) == std::vector<int>{1, 1, 0});
}

TEST_CASE("without drafts there is nothing to admit, and who asks is wrong") {
  const Time free = [](int, double) { return 1.0; };
  CHECK_THROWS_AS(admit_prefixes({}, 0, free), Bug);
}

TEST_CASE("a step of mixed lengths costs what lies between, and below one draft the drafter has run all the same") {
  PlainCost cost;
  cost.per_draft = 1000;
  const std::vector<int> lengths{0, 1, 2, 4};
  const auto at = [&](double drafts) { return verifying(cost, lengths, {3, 0, 100}, drafts).at(100); };
  CHECK(at(1) == cost.decode({3, 1, 100}).at(100));
  CHECK(at(3) == cost.decode({3, 3, 100}).at(100));
  CHECK(at(1.5) == at(1) + 500);
  CHECK(at(0.25) == at(1) - 750);
  CHECK(at(4) == cost.decode({3, 4, 100}).at(100));
}

TEST_CASE("however few drafts are verified, the drafter has made all of its passes") {
  struct Passes : PlainCost {
    Line decode(const DecodeBatch& batch) override {
      Line line = PlainCost::decode(batch);
      line.drafting = 9000 * batch.drafts;
      line.start += line.drafting;
      return line;
    }
  } cost;
  const std::vector<int> lengths{0, 1, 2, 4};
  const auto whole = cost.decode({3, 4, 100});
  for (const double drafts : {0.25, 1.0, 1.5, 3.0, 4.0}) {
    const auto line = verifying(cost, lengths, {3, 0, 100}, drafts);
    CHECK(line.drafting == whole.drafting);
    CHECK(whole.at(100) - line.at(100) == std::llround((4 - drafts) * static_cast<double>(cost.per_draft)));
  }
}

TEST_CASE("confidences are calibrated: of the drafts of one confidence that share is accepted") {
  const std::vector<double> rates{0.7, 0.4};
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(rates);
  CHECK(outcomes.conditional_rates()[1] == Approx(0.4));
  for (const double concentration : {0.3, 3.0, 1000.0}) {
    INFO(concentration);
    const DraftConfidence confidence(rates, concentration);
    std::array<double, 5> said{}, accepted{}, seen{};
    double squares = 0;
    constexpr int kPositions = 20000;
    const DraftOutcomes::Text text = outcomes.text(3, 1);
    for (int position = 0; position < kPositions; ++position) {
      DraftOutcomes::Text t = text;
      const int held = outcomes.accepted(t, position);
      std::vector<double> survival;
      confidence.survival(text, position, held, survival);
      REQUIRE(survival.size() == 2);
      CHECK(survival[1] <= survival[0]);
      const auto bin = std::min<std::size_t>(4, static_cast<std::size_t>(5 * survival[0]));
      said[bin] += survival[0], accepted[bin] += held > 0, ++seen[bin];
      squares += survival[0] * survival[0] / kPositions;
    }
    for (std::size_t bin = 0; bin < 5; ++bin)  // four standard deviations of a share
      CHECK(std::abs(said[bin] - accepted[bin]) <= 4 * 0.5 * std::sqrt(seen[bin]) + 0.01 * seen[bin]);
    // The variance of Beta(a, b): m (1 - m) / (a + b + 1).
    CHECK(squares - 0.7 * 0.7 == Approx(0.7 * 0.3 / (concentration + 1)).margin(0.01));
  }
}

TEST_CASE("the better confidences tell drafts apart, the sooner a loaded server is done") {
  RowCost cost;
  const std::vector<double> rates(4, 0.6);
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(rates);
  const auto tpot = [&](DraftPolicy::Kind kind, double concentration) {
    const DraftConfidence confidence(rates, concentration);
    Drafting drafting{&outcomes, 4, {0, 1, 2, 3, 4}, 5, {}, 0, &confidence};
    drafting.policy.kind = kind;
    return Fleet({}, {}, drafting, cost)
        .run(poisson(2e3, 1000, FixedLength{50}, FixedLength{100}), 5, {})
        .figures.tpot.mean()
        .value;
  };
  const double fixed = tpot(DraftPolicy::Kind::fixed, 1), vague = tpot(DraftPolicy::Kind::confidence, 100),
               good = tpot(DraftPolicy::Kind::confidence, 1), sure = tpot(DraftPolicy::Kind::confidence, 0.01);
  CHECK(sure < good);
  CHECK(good < vague);
  CHECK(vague < fixed);
}
