// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/draft_counts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/errors.h"

using namespace draftline;

namespace {

DraftCounts of_mean(double mean, int least, int most) {
  return DraftCounts::geometric(DraftCounts::goes_on_with(mean, least, most), least, most);
}

double drafts_of(const DraftCounts& counts, int sequences) {
  double shares = 0, drafts = 0;
  for (const DraftCounts::Batch& b : counts.batches(sequences)) {
    CHECK(std::ssize(b.drafts) == sequences);
    shares += b.share;
    drafts += b.share * std::accumulate(b.drafts.begin(), b.drafts.end(), 0);
  }
  CHECK(shares == Approx(1));
  return drafts;
}

}  // namespace

TEST_CASE("a chain that ends with one probability has the mean that was given") {
  for (const double mean : {0.0, 0.3, 1.0, 1.7, 4.0, 7.9, 8.0}) {
    CHECK(of_mean(mean, 0, 8).mean() == Approx(mean));
    if (mean >= 1) CHECK(of_mean(mean, 1, 8).mean() == Approx(mean));
  }
  CHECK(of_mean(1, 1, 8).shares() == std::vector<std::pair<int, double>>{{1, 1.0}});
  CHECK(of_mean(8, 1, 8).shares() == std::vector<std::pair<int, double>>{{8, 1.0}});
  // It goes on with a probability of a half: 1 + 1/2 + 1/4 drafts.
  const auto halves = of_mean(1.75, 1, 3).shares();
  REQUIRE(halves.size() == 3);
  CHECK((halves[0].first == 1 && halves[2].first == 3));
  CHECK(halves[0].second == Approx(0.5));
  CHECK(halves[1].second == Approx(0.25));
  CHECK(halves[2].second == Approx(0.25));
  CHECK(of_mean(0.75, 0, 2).shares().front().first == 0);
  CHECK_THROWS_AS(of_mean(3.1, 1, 3), Bug);
  CHECK_THROWS_AS(of_mean(0.5, 1, 3), Bug);
  // A shorter chain of the same drafter.
  CHECK(DraftCounts::of({0, 0.5, 0.25, 0.25}).limited_to(2) == DraftCounts::of({0, 0.5, 0.5}));
}

TEST_CASE("batches keep the mean number of drafts, and the distribution of the largest") {
  const std::vector<double> shares{0.2, 0.4, 0, 0.3, 0.1};
  const DraftCounts counts = DraftCounts::of(shares);
  CHECK(counts.mean() == Approx(1.7));
  for (const int sequences : {1, 2, 3, 8, 64, 500}) {
    INFO(sequences);
    CHECK(drafts_of(counts, sequences) == Approx(1.7 * sequences).epsilon(2e-3));
    std::map<int, double> largest;
    for (const DraftCounts::Batch& b : counts.batches(sequences))
      largest[*std::ranges::max_element(b.drafts)] += b.share;
    double upto = 0;
    for (int n = 0; n < 5; ++n) {
      const double below = std::pow(upto, sequences);
      upto += shares[static_cast<std::size_t>(n)];
      CHECK(largest[n] == Approx(std::pow(upto, sequences) - below).margin(2e-3));
    }
  }
  const std::vector<double> many(1001, 1.0);
  CHECK(drafts_of(DraftCounts::of(many), 1) == Approx(500));
  CHECK(drafts_of(DraftCounts::of(many), 4) == Approx(2000).epsilon(1e-2));  // rare largest numbers are left out
  const auto alone = counts.batches(1);
  REQUIRE(alone.size() == 4);
  CHECK(alone.back().drafts == std::vector<int>{4});
  CHECK(alone.back().share == Approx(0.1));
}

TEST_CASE("hits are binomial; without shares every step is the usual one") {
  const auto pairs = DraftCounts::of_hits(5, 0.5).batches(2);
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[1].drafts == std::vector<int>{5, 0});
  CHECK(pairs[1].share == Approx(0.5));
  CHECK(drafts_of(DraftCounts::of_hits(5, 0.3), 64) == Approx(5 * 0.3 * 64).epsilon(1e-3));
  CHECK(DraftCounts().usual());
  CHECK(DraftCounts::of({0, 0}).usual());
  CHECK(DraftCounts().batches(3).front().drafts.empty());
  CHECK(DraftCounts::of_hits(5, 1).batches(2).front().drafts == std::vector<int>{5, 5});
}
