// SPDX-License-Identifier: Apache-2.0
#include "model/expert_load.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <numeric>
#include <set>

#include "core/rng.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

int sum(const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); }

double gamma_drawn(double shape, Rng& rng) {  // of mean 1 (Marsaglia and Tsang 2000), for shapes of at least 1/3
  const double d = std::max(shape, 1.0) - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  const double lift = shape < 1 ? std::pow(1 - rng.uniform(), 1 / shape) : 1;
  for (;;) {
    const double x = std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(2 * std::numbers::pi * rng.uniform());
    const double v = std::pow(1 + c * x, 3);
    if (v > 0 && std::log(1 - rng.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return lift * d * v / shape;
  }
}

// Draws: experts have popularities of their own. The m-th row of a sequence takes a choice over from any earlier row
// with the probability that Heaps' law leaves, and else draws it by popularity.
std::vector<int> drawn(const ExpertMlp& k, Rng& rng) {
  std::vector<double> below;  // sums of popularities
  for (int e = 0; e < k.experts; ++e) {
    const double cv = k.routing.load_cv, p = cv > 0 ? gamma_drawn(1 / (cv * cv), rng) : 1;
    below.push_back(p + (below.empty() ? 0 : below.back()));
  }
  const auto by_popularity = [&] {
    const double at = rng.uniform() * below.back();
    return static_cast<int>(std::upper_bound(below.begin(), below.end() - 1, at) - below.begin());
  };
  std::vector<int> rows_of_experts(static_cast<std::size_t>(k.experts));
  const int each = k.rows / k.sequences;
  for (int s = 0; s < k.sequences; ++s) {
    std::vector<int> before;  // choices of all earlier rows
    for (int row = 0; row < each; ++row) {
      const double fresh = std::pow(row + 1, k.routing.exponent) - std::pow(row, k.routing.exponent);
      std::set<int> chosen;
      while (static_cast<int>(chosen.size()) < k.per_token) {
        const bool repeats = row > 0 && rng.uniform() >= fresh;
        chosen.insert(repeats ? before[static_cast<std::size_t>(rng.below(before.size()))] : by_popularity());
      }
      before.insert(before.end(), chosen.begin(), chosen.end());
      for (const int e : chosen) ++rows_of_experts[static_cast<std::size_t>(e)];
    }
  }
  return rows_of_experts;
}

}  // namespace

TEST_CASE("the load of known rows counts experts, choices and padded tiles") {
  const std::array rows{0, 1, 16, 17, 130};
  const ExpertLoad load = load_of(rows);
  CHECK(load.touched == 4);
  CHECK(load.choices == 164);
  CHECK(load.tiles == std::array<double, 4>{1 + 1 + 2 + 9, 1 + 1 + 1 + 5, 1 + 1 + 1 + 3, 1 + 1 + 1 + 2});
}

TEST_CASE("a balanced table loads all experts alike once the rows suffice") {
  CHECK(rows_of_experts(ExpertDistribution::balanced, 16, 128, 8) == std::vector<int>(128, 1));
  CHECK(rows_of_experts(ExpertDistribution::balanced, 512, 128, 8) == std::vector<int>(128, 32));
  const auto one = rows_of_experts(ExpertDistribution::balanced, 1, 8, 2);
  CHECK(one == std::vector<int>{1, 0, 0, 0, 1, 0, 0, 0});
}

TEST_CASE(
    "a power law gives every choice to an expert, none more than one of each row, and some far more than others") {
  for (const int rows : {1, 2, 16, 100, 4096}) {
    const auto load = rows_of_experts(ExpertDistribution::power_law, rows, 64, 6, 1.2);
    CHECK(sum(load) == 6 * rows);
    for (const int n : load) CHECK((n >= 0 && n <= rows));
  }
  const auto load = rows_of_experts(ExpertDistribution::power_law, 4096, 64, 6, 1.2);
  CHECK(*std::max_element(load.begin(), load.end()) > 50 * *std::min_element(load.begin(), load.end()));
}

TEST_CASE("independent rows touch as many experts as they always did, rows that choose alike fewer") {
  ExpertMlp k{4, 2048, 768, 16, 1};
  CHECK(experts_touched(k) == Approx(16 * (1 - std::pow(15.0 / 16, 4))));
  k.sequences = 1;
  CHECK(experts_touched(k) == Approx(16 * (1 - std::pow(15.0 / 16, 4))));  // no overlap
  k.routing.exponent = 0;
  CHECK(experts_touched(k) == Approx(1));  // all choose what the first one chose
  k.routing.exponent = 0.5;
  CHECK(experts_touched(k) == Approx(16 * (1 - std::pow(15.0 / 16, 2))));
  k.sequences = 4;
  CHECK(experts_touched(k) == Approx(16 * (1 - std::pow(15.0 / 16, 4))));  // one row each: nothing to take over
}

TEST_CASE("padded rows of experts: as many as there may be, in whole tiles") {
  ExpertMlp k{.rows = 4, .hidden = 2048, .intermediate = 768, .experts = 128, .per_token = 8};
  const ExpertLoad plain = expected_load(k);
  k.row_multiple = 128;
  const ExpertLoad padded = expected_load(k);
  CHECK(padded.touched == plain.touched);
  CHECK(padded.choices == 4 * 8);
  CHECK(padded.tiles.back() == Approx((4 * 8 + 128 * 127) / 128.0));
  CHECK(padded.tiles.front() == Approx((4 * 8 + 128 * 127) / 16.0));
  k.devices = 8;
  CHECK(expected_load(k).padding == 16 * 127);
}

TEST_CASE("expected loads are those of draws") {
  // 128 experts, 8 of them a row. The means of 40 draws have a standard error below 1 % of each figure. A row's choices
  // differ from each other, which the formula leaves out where experts are not alike: 8 %.
  const double exponent = GENERATE(1.0, 0.86, 0.75), load_cv = GENERATE(0.0, 0.9, 1.4);
  const auto [sequences, each] =
      GENERATE(table<int, int>({{1, 1}, {1, 4}, {4, 4}, {32, 1}, {16, 5}, {64, 8}, {512, 1}}));
  ExpertMlp k{sequences * each, 2048, 768, 128, 8};
  k.sequences = sequences;
  k.routing = {exponent, load_cv};
  const ExpertLoad expected = expected_load(k);
  Rng rng(7, "routing");
  double touched = 0;
  std::array<double, 4> tiles{};
  constexpr int kDraws = 40;
  for (int i = 0; i < kDraws; ++i) {
    const ExpertLoad one = load_of(drawn(k, rng));
    touched += one.touched / kDraws;
    for (std::size_t t = 0; t < tiles.size(); ++t) tiles[t] += one.tiles[t] / kDraws;
  }
  INFO(sequences << " sequences, " << each << " rows, exponent " << exponent << ", variation " << load_cv);
  CHECK(expected.touched == Approx(touched).epsilon(0.08));
  if (load_cv > 0) return;
  // Tiles: an even spread is assumed among the experts touched, where draws vary by the root of their number: 12 %.
  for (std::size_t t = 0; t < tiles.size(); ++t) CHECK(expected.tiles[t] == Approx(tiles[t]).epsilon(0.12));
}

TEST_CASE("the busiest of devices with whole experts has what draws give it") {
  const auto [devices, sequences, each] =
      GENERATE(table<int, int, int>({{2, 1, 1}, {8, 1, 4}, {8, 16, 1}, {8, 64, 4}, {32, 64, 4}, {8, 512, 1}}));
  ExpertMlp k{sequences * each, 2048, 768, 128, 8};
  k.sequences = sequences;
  k.routing.exponent = 0.86;
  ExpertMlp apart = k;
  apart.devices = devices;
  Rng rng(11, "devices");
  double touched = 0, rows = 0;
  constexpr int kDraws = 400;
  const std::size_t own = static_cast<std::size_t>(128 / devices);
  for (int i = 0; i < kDraws; ++i) {
    const std::vector<int> load = drawn(k, rng);
    double most_touched = 0, most_rows = 0;
    for (std::size_t from = 0; from < load.size(); from += own) {
      const ExpertLoad one = load_of(std::span(load).subspan(from, own));
      most_touched = std::max(most_touched, one.touched);
      most_rows = std::max(most_rows, one.choices);
    }
    touched += most_touched / kDraws;
    rows += most_rows / kDraws;
  }
  // Few choices of many experts are far from normally distributed, and rows share choices with all earlier ones: 8 %.
  CHECK(busiest_experts_touched(apart) == Approx(touched).epsilon(0.08));
  CHECK(busiest_expert_rows(apart) == Approx(rows).epsilon(0.08));
  CHECK(busiest_experts_touched(k) == experts_touched(k));
  CHECK(expected_load(apart).touched == busiest_experts_touched(apart));
}

namespace {

// The mean over every order of the experts, the best first: a row takes the groups with the best experts, and the best
// experts of these.
double devices_by_counting(const Experts& e, int devices) {
  std::vector<int> order(static_cast<std::size_t>(e.count));
  std::iota(order.begin(), order.end(), 0);
  const int group = e.count / e.groups;
  double rows = 0, sum = 0;
  do {
    std::vector<int> groups;
    for (const int expert : order)
      if (std::find(groups.begin(), groups.end(), expert / group) == groups.end()) groups.push_back(expert / group);
    groups.resize(static_cast<std::size_t>(e.groups_per_token));
    std::set<int> reached;
    int chosen = 0;
    for (const int expert : order) {
      if (chosen == e.per_token || std::find(groups.begin(), groups.end(), expert / group) == groups.end()) continue;
      int device = 0;  // the first whose experts end behind this one
      while ((device + 1) * e.count / devices <= expert) ++device;
      reached.insert(device);
      ++chosen;
    }
    ++rows, sum += static_cast<double>(reached.size());
  } while (std::next_permutation(order.begin(), order.end()));
  return sum / rows;
}

Experts of_groups(int count, int per_token, int groups, int groups_per_token) {
  Experts e;
  e.count = count, e.per_token = per_token, e.groups = groups, e.groups_per_token = groups_per_token;
  return e;
}

}  // namespace

TEST_CASE("devices of a row's experts are those of every order, with groups and without") {
  // No groups; a device a group; several groups a device; several devices a group; devices across groups.
  for (const auto& [groups, best] : {std::pair{1, 1}, {2, 1}, {3, 2}, {6, 3}})
    for (const int devices : {1, 2, 3, 4, 5, 6})
      for (const int per_token : {1, 2, 3}) {
        const Experts e = of_groups(6, per_token, groups, best);
        INFO(groups << " groups, " << best << " of a row, " << devices << " devices, " << per_token << " experts");
        CHECK(devices_of_row(e, devices) == Approx(devices_by_counting(e, devices)).epsilon(1e-10));
      }
  CHECK(devices_of_row(of_groups(8, 3, 4, 2), 3) == Approx(devices_by_counting(of_groups(8, 3, 4, 2), 3)));
  CHECK(devices_of_row(of_groups(8, 4, 2, 1), 3) == Approx(devices_by_counting(of_groups(8, 4, 2, 1), 3)));
  CHECK(devices_of_row(of_groups(8, 2, 1, 1), 8) == Approx(2));  // Mixtral: two experts on two devices
}

// DeepSeek-V3's router takes the groups whose two best scores have the largest sum, and the best experts within them.
TEST_CASE("rows of DeepSeek-V3 reach fewer than four of eight devices") {
  const double expected = devices_of_row(of_groups(256, 8, 8, 4), 8);
  Rng rng(3, "routing");
  constexpr int kRows = 2000;
  double sum = 0;
  for (int row = 0; row < kRows; ++row) {
    std::vector<std::pair<double, std::vector<double>>> groups(8);  // score, experts from the best on
    for (auto& [score, experts] : groups) {
      for (int i = 0; i < 32; ++i) experts.push_back(rng.uniform());
      std::sort(experts.rbegin(), experts.rend());
      score = experts[0] + experts[1];
    }
    std::sort(groups.rbegin(), groups.rend());
    std::vector<std::pair<double, int>> pool;
    for (int g = 0; g < 4; ++g)
      for (const double s : groups[static_cast<std::size_t>(g)].second) pool.emplace_back(s, g);
    std::sort(pool.rbegin(), pool.rend());
    std::set<int> reached;
    for (int i = 0; i < 8; ++i) reached.insert(pool[static_cast<std::size_t>(i)].second);
    sum += static_cast<double>(reached.size());
  }
  CHECK(expected < 4);
  CHECK(expected == Approx(sum / kRows).epsilon(0.01));
}

TEST_CASE("a known balancedness says how many rows the busiest device has") {
  for (const int rows : {1, 16, 512}) {
    INFO(rows);
    ExpertMlp drawn{rows, 2048, 768, 128, 8};
    drawn.devices = 8;
    ExpertMlp known = drawn;  // 8 choices of a row on 8 devices: as many rows each as the pass has
    for (const double balancedness : {1.0, 0.8, 0.25}) {
      known.balancedness = balancedness;
      CHECK(busiest_expert_rows(known) == Approx(rows / balancedness));
      CHECK(busiest_experts_touched(known) <= busiest_experts_touched(drawn));
      CHECK(busiest_experts_touched(known) <= busiest_expert_rows(known));
      CHECK(work(known).flops.value ==
            Approx(work(drawn).flops.value + 6.0 * 2048 * 768 * (rows / balancedness - busiest_expert_rows(drawn))));
    }
    known.balancedness = 1;
    CHECK(busiest_expert_rows(known) <= busiest_expert_rows(drawn));
    known.balancedness = 1.0 / 8;
    CHECK(busiest_expert_rows(known) == 8.0 * rows);  // all
  }
}

TEST_CASE("more rows never have fewer tiles") {
  ExpertLoad before;
  for (int rows = 1; rows < 20000; rows = rows * 9 / 8 + 1) {
    ExpertMlp k{rows, 2048, 768, 128, 8};
    k.sequences = rows / 4 + 1;
    k.routing.exponent = 0.86;
    const ExpertLoad now = expected_load(k);
    CHECK(now.touched >= before.touched);
    for (std::size_t t = 0; t < now.tiles.size(); ++t) CHECK(now.tiles[t] >= before.tiles[t]);
    before = now;
  }
}
