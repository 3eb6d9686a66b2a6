// SPDX-License-Identifier: Apache-2.0
// Lengths of chains and trees against enumeration, S3D's formulas against the paper, M of every row of its tables.
#include "model/acceptance/acceptance.h"

#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/errors.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

const std::filesystem::path kPapers = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data" / "papers";

double total(const LengthDistribution& d) {
  double sum = 0;
  for (int n = 0; n <= d.longest() + 1; ++n) sum += d.probability(n);
  return sum;
}

S3dFormulas s3d_formulas() { return read_file(kPapers / "s3d_formulas.json", read_s3d_formulas); }

}  // namespace

TEST_CASE("a chain's length is one plus the tokens accepted in a row") {
  // rates 1/2, 1/2: lengths 1, 2, 3 with 1/2, 1/4, 1/4; mean 1.75; squares 0.5 + 1 + 2.25 = 3.75; variance 0.6875
  const std::array rates{0.5, 0.5};
  const auto d = chain_lengths(rates);
  CHECK(d.longest() == 3);
  CHECK(d.probability(0) == 0);
  CHECK(d.probability(1) == 0.5);
  CHECK(d.probability(2) == 0.25);
  CHECK(d.probability(3) == 0.25);
  CHECK(d.probability(4) == 0);
  CHECK(d.mean() == 1.75);
  CHECK(d.variance() == 0.6875);
  CHECK(chain_lengths({}).mean() == 1);  // autoregressive
  CHECK(chain_lengths({}).variance() == 0);
}

TEST_CASE("an iid chain has the closed form of the geometric series") {
  const double rate = GENERATE(0.0, 0.1, 0.5, 0.93, 1.0);
  const int length = GENERATE(0, 1, 4, 15);
  const std::vector<double> rates(static_cast<std::size_t>(length), rate);
  const double closed = rate == 1 ? length + 1 : (1 - std::pow(rate, length + 1)) / (1 - rate);
  CHECK(iid_chain_length(rate, length) == Approx(closed).epsilon(1e-13));
  CHECK(chain_lengths(rates).mean() == Approx(closed).epsilon(1e-13));
  CHECK(total(chain_lengths(rates)) == Approx(1).epsilon(1e-14));
}

TEST_CASE("the iid rate behind a mean length is found, and none where there is none") {
  const double rate = GENERATE(0.0, 0.03, 0.5, 0.8, 0.999, 1.0);
  const int length = GENERATE(1, 3, 8);
  CHECK(iid_rate(iid_chain_length(rate, length), length) == Approx(rate).margin(1e-12));
  CHECK(iid_rate(1, 0) == 0);
  CHECK_THROWS_AS(iid_rate(0.99, length), InputErrors);
  CHECK_THROWS_AS(iid_rate(length + 1.01, length), InputErrors);
  CHECK_THROWS_AS(iid_rate(std::nan(""), length), InputErrors);
  CHECK_THROWS_AS(iid_rate(1.5, 0), InputErrors);
}

TEST_CASE("an impossible mean length is refused with its bounds") {
  const auto text = mistake_of([] { iid_rate(6, 4); });
  CHECK(text.find("is impossible with draft_length 4") != std::string::npos);
  CHECK(text.find("[1, 5]") != std::string::npos);
}

TEST_CASE("a tree accepts what an enumeration of all ranks accepts") {
  const std::vector<std::vector<double>> ranks{{0.5, 0.2, 0.1}, {0.4, 0.3}, {0.25, 0.0, 0.5}};
  const std::vector<std::vector<int>> paths{{0}, {1}, {2}, {0, 0}, {0, 1}, {2, 1}, {0, 1, 2}, {2, 1, 0}};
  const std::set<std::vector<int>> nodes(paths.begin(), paths.end());
  // Every outcome: the rank of the target's token at each level, or none of the candidates.
  std::map<int, double> expected;
  const auto chance = [&](std::size_t level, int rank) {
    double rest = 1;
    for (const double p : ranks[level]) rest -= p;
    return rank < static_cast<int>(ranks[level].size()) ? ranks[level][static_cast<std::size_t>(rank)] : rest;
  };
  for (int a = 0; a <= 3; ++a)
    for (int b = 0; b <= 2; ++b)
      for (int c = 0; c <= 3; ++c) {
        int length = 1;
        if (nodes.contains({a})) length = 2;
        if (nodes.contains({a, b})) length = 3;
        if (nodes.contains({a, b, c})) length = 4;
        expected[length] += chance(0, a) * chance(1, b) * chance(2, c);
      }
  const auto d = tree_lengths(paths, ranks);
  CHECK(d.longest() == 4);
  for (const auto& [length, p] : expected) CHECK(d.probability(length) == Approx(p).epsilon(1e-13));
  // 1 + 0.8 + (0.5 * 0.7 + 0.1 * 0.3) + (0.5 * 0.3 * 0.5 + 0.1 * 0.3 * 0.25)
  CHECK(d.mean() == Approx(1 + 0.8 + 0.38 + 0.0825).epsilon(1e-14));
}

TEST_CASE("a chain is a tree of first candidates") {
  const std::vector<std::vector<double>> ranks{{0.7, 0.1}, {0.6}, {0.5}};
  const std::vector<std::vector<int>> paths{{0}, {0, 0}, {0, 0, 0}};
  const std::array rates{0.7, 0.6, 0.5};
  for (int n = 1; n <= 4; ++n)
    CHECK(tree_lengths(paths, ranks).probability(n) == Approx(chain_lengths(rates).probability(n)).epsilon(1e-14));
}

TEST_CASE("a tree that is none is refused, with all that is wrong") {
  const std::vector<std::vector<double>> ranks{{0.7, 0.1}, {0.6}};
  const auto refuse = [&](std::vector<std::vector<int>> paths, const char* why) {
    const auto text = mistake_of([&] { tree_lengths(paths, ranks); });
    INFO(text);
    CHECK(text.find(why) != std::string::npos);
  };
  refuse({{0}, {0}}, "tree path [0] stands there twice");
  refuse({{1, 0}}, "has no parent");
  refuse({{2}}, "rank 2 of level 1 is not known");
  refuse({{-1}}, "rank -1 of level 1 is not known");
  refuse({{0}, {0, 0}, {0, 0, 0}}, "tree path [0, 0, 0] is deeper than the 2 levels");
  refuse({{}}, "is the root");
  const std::vector<std::vector<int>> one{{0}};
  CHECK_THROWS_AS(tree_lengths(one, std::vector<std::vector<double>>{{0.7, 0.4}}), InputErrors);
  CHECK_THROWS_AS(tree_lengths(one, std::vector<std::vector<double>>{{-0.1}}), InputErrors);
  CHECK_THROWS_AS(tree_lengths(one, std::vector<std::vector<double>>{{std::nan("")}}), InputErrors);
  try {
    tree_lengths(std::vector<std::vector<int>>{{0}, {0}, {5}}, ranks);
    FAIL("accepted");
  } catch (const InputErrors& e) { CHECK(e.messages().size() == 2); }
}

TEST_CASE("S3D's acceptance falls with the layers skipped and with the position") {
  const auto f = s3d_formulas();
  CHECK(f.acceptance_rate(1.0) == Approx(1).epsilon(1e-15));  // the whole model drafts for itself
  CHECK(f.acceptance_rate(0.0) == 0);
  CHECK(f.acceptance_rate(0.5) == Approx(0.9 / 0.99));              // U = 0.01: (1 - 0.1) / 0.99
  const std::array factors{1.0, 0.78, 0.56, 0.34, 0.12, 0.0, 0.0};  // 1.22 - 0.22 k, clipped from k = 6
  for (int k = 1; k <= 7; ++k)
    CHECK(f.acceptance_rate(1.0, k) == Approx(factors[static_cast<std::size_t>(k - 1)]).margin(1e-12));
}

TEST_CASE("tau is the sum of equation 11, term by term") {
  const auto f = s3d_formulas();
  const double beta = GENERATE(0.1, 0.375, 0.5, 1.0);
  const int gamma = GENERATE(1, 2, 3, 4, 5, 6);
  double tau = 0, reached = 1;
  for (int n = 1; n <= gamma + 1; ++n) {
    const double stop = n == gamma + 1 ? 1 : 1 - f.acceptance_rate(beta, n);
    tau += n * reached * stop;
    if (n <= gamma) reached *= f.acceptance_rate(beta, n);
  }
  CHECK(f.acceptance_length(beta, gamma) == Approx(tau).epsilon(1e-13));
  CHECK(f.improvement(beta, gamma) == Approx(tau / (1.04 + beta)).epsilon(1e-13));
}

TEST_CASE("S3D's best layer ratio and its gain are the table's, to its last digit") {
  const auto f = s3d_formulas();
  const auto document = Document::from_file(kPapers / "s3d_formulas.json");
  const auto rows = document.root().at("optima").at("rows").items();
  CHECK(rows.size() == 5);
  for (const auto& row : rows) {
    const auto best = best_layer_ratio(f, row.at("draft_length").positive_int());
    INFO("draft_length " << row.at("draft_length").positive_int());
    CHECK(std::abs(best.layer_ratio - row.at("layer_ratio").number()) <= 0.0005);
    CHECK(std::abs(best.improvement - row.at("improvement").number()) <= 0.0005);
    CHECK(std::abs(best.acceptance_length - row.at("acceptance_length").number()) <= 0.005);
  }
  document.finish();
  CHECK(best_layer_ratio(f, 6).improvement ==
        Approx(best_layer_ratio(f, 5).improvement));  // the sixth is never accepted
}

TEST_CASE("the best layer ratio beats every ratio of a fine grid") {
  const auto f = s3d_formulas();
  const int gamma = GENERATE(1, 3, 5);
  const auto best = best_layer_ratio(f, gamma);
  for (int i = 0; i <= 10000; ++i) REQUIRE(f.improvement(i / 10000.0, gamma) <= best.improvement + 1e-12);
}

TEST_CASE("M of every row of S3D's tables follows from the row's own columns, but for those listed as contradictions") {
  const auto document = Document::from_file(kPapers / "s3d.json");
  const auto& data = document.root().json();
  std::set<std::string> listed;
  for (const auto& c : data.at("contradictions"))
    if (c.at("column") == "memory_speed")
      listed.insert(c.at("table").get<std::string>() + "/" + c.at("method").get<std::string>() + "/" +
                    c.at("task").get<std::string>());
  std::set<std::string> missed;
  int compared = 0;
  constexpr double kHalf = 0.005;  // every column is printed with two decimals
  for (const auto& table : data.at("tables")) {
    if (!table.at("table").get<std::string>().starts_with("table")) continue;  // figures
    std::map<std::string, nlohmann::json> baseline;
    std::map<std::string, double> sum;
    for (const auto& row : table.at("rows")) {
      const std::string method = row.at("method"), task = row.at("task");
      if (method == "baseline") baseline[task] = row;
      const double printed = row.at("memory_speed");
      double low = 0, high = 0;
      if (task == "overall") {
        low = high = sum.at(method) / 3;  // of three printed figures, each off by up to kHalf
        low -= kHalf, high += kHalf;
      } else {
        sum[method] += printed;
        const auto m = [&](double slip) {  // the least or most that the rounded columns allow
          const auto& base = baseline.at(task);
          if (method == "baseline") slip = 0;
          return memory_speed(
              {{row.at("throughput").get<double>() + slip}, {row.at("peak_memory").get<double>() - slip}},
              {{base.at("throughput").get<double>() - slip}, {base.at("peak_memory").get<double>() + slip}});
        };
        low = m(-kHalf), high = m(kHalf);
      }
      if (printed < low - kHalf || printed > high + kHalf)
        missed.insert(table.at("table").get<std::string>() + "/" + method + "/" + task);
      ++compared;
    }
  }
  CHECK(compared == 4 * (10 + 10 + 3 + 5));
  CHECK(missed == listed);
}

TEST_CASE("M is speedup over relative memory") {
  // Table 1, S3D on MT-Bench: (12.39 / 7.02) / (7.79 / 8.53) = 1.7650 / 0.9132 = 1.933
  CHECK(memory_speed({{12.39}, {7.79}}, {{7.02}, {8.53}}) == Approx(1.933).epsilon(0.0005));
}
