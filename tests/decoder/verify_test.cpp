// SPDX-License-Identifier: Apache-2.0
// Verification by cases: one node at a time, the path that is kept in a tree, and what is refused.
#include "decoder/verify.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/errors.h"
#include "tests/catch.h"
#include "tests/decoder/toy_decoding.h"

using namespace draftline;
using toy::Tokens;

namespace {

// A node on its own: p, one q for all children.
Decision decide_once(AcceptRule rule, std::vector<double> p, const std::vector<float>& q, const Tokens& tokens,
                     Coin& coin) {
  std::vector<Candidate> children;
  for (const int t : tokens) children.push_back({t, q});
  return decision_of(rule)({0, p, children}, coin);
}

class Forced final : public Coin {  // rejects whatever may be rejected, draws the last possible token
 public:
  bool accept(double probability) override { return probability >= 1; }
  int draw(std::span<const double> weights) override {
    int last = -1;
    for (std::size_t t = 0; t < weights.size(); ++t)
      if (weights[t] > 0) last = static_cast<int>(t);
    return last;
  }
};

}  // namespace

TEST_CASE("where rounding leaves no residual, the draft counts as accepted: p equals q there") {
  // p below q by one rounding everywhere: the coin may reject, but there is nothing to draw instead.
  const double less = 1 - 0x1p-53;
  Forced coin;
  const auto rule = GENERATE(AcceptRule::independent, AcceptRule::without_replacement);
  const auto d = decide_once(rule, {0.5 * less, 0.5 * less}, {0.5F, 0.5F}, {1}, coin);
  CHECK(d.child == 0);
  CHECK(d.token == 1);
  const auto p = decide_once(AcceptRule::point_mass, {0, less}, {}, {1}, coin);
  CHECK(p.child == 0);
  CHECK(p.token == 1);
}

TEST_CASE("degenerate distributions: a single token, nothing in common") {
  Forced coin;
  const auto one = decide_once(AcceptRule::independent, {0, 1, 0}, {0, 1, 0}, {1}, coin);
  CHECK(one.child == 0);
  const auto none = decide_once(AcceptRule::without_replacement, {1, 0, 0}, {0, 0.5F, 0.5F}, {1, 2}, coin);
  CHECK(none.child == std::nullopt);
  CHECK(none.token == 0);
  const auto sure = decide_once(AcceptRule::point_mass, {1, 0, 0}, {}, {2, 0}, coin);
  CHECK(sure.child == 1);
}

TEST_CASE("a repeated child, drawn when nothing else was left, is passed over") {
  Forced coin;
  const auto d = decide_once(AcceptRule::without_replacement, {0.1, 0.9}, {0.5F, 0.5F}, {0, 0}, coin);
  CHECK(d.child == std::nullopt);
  CHECK(d.token == 1);
}

TEST_CASE("broken promises of the caller are bugs, not wrong tokens") {
  Forced coin;
  CHECK_THROWS_AS(decide_once(AcceptRule::independent, {0.5, 0.5}, {1, 0}, {1}, coin), Bug);  // q could not draw it
  CHECK_THROWS_AS(decide_once(AcceptRule::independent, {0.5, 0.5}, {0, 0}, {1}, coin), Bug);
  CHECK_THROWS_AS(decide_once(AcceptRule::independent, {0.5, 0.5}, {}, {1}, coin), Bug);
  const Tokens tokens{0, 1}, parents{-1, 0}, upside_down{-1, 1};
  const std::vector<float> logits{0, 0, 0, std::nanf("")}, fine{0, 0, 0, 0};
  const auto n = decision_of(AcceptRule::target_draw);
  toy::EveryOutcome every;
  CHECK_THROWS_AS(verify_sampled({tokens, upside_down}, {fine.data(), 2, 2, 2}, {}, {1, 0, 1}, n, every), Bug);
  const auto all_outcomes = [&](const std::vector<float>& rows) {
    toy::EveryOutcome c;
    do verify_sampled({tokens, parents}, {rows.data(), 2, 2, 2}, {}, {1, 0, 1}, n, c);
    while (c.next());
  };
  CHECK_NOTHROW(all_outcomes(fine));
  CHECK_THROWS_AS(all_outcomes(logits), InputErrors);
}

TEST_CASE("greedy: the deepest path that the target would have chosen, and its next token") {
  //        0:a ── 1:b ── 3:c       predicted after each row
  //          └─── 2:b ── 4:d ── 5:e
  const Tokens tokens{10, 11, 11, 12, 13, 14}, parents{-1, 0, 0, 1, 2, 4};
  SECTION("nothing matches: only the bonus") {
    const auto v = verify_greedy({tokens, parents}, Tokens{9, 0, 0, 0, 0, 0});
    CHECK(v.path == Tokens{0});
    CHECK(v.bonus == 9);
  }
  SECTION("equal siblings: the one with the deeper match, though it comes second") {
    const auto v = verify_greedy({tokens, parents}, Tokens{11, 13, 13, 0, 14, 7});
    CHECK(v.path == Tokens{0, 2, 4, 5});
    CHECK(v.bonus == 7);
  }
  SECTION("equally deep: the first") {
    const auto v = verify_greedy({tokens, parents}, Tokens{11, 12, 13, 1, 2, 3});
    CHECK(v.path == Tokens{0, 1, 3});
    CHECK(v.bonus == 1);
  }
  SECTION("a match below a mismatch does not count, nor do rows that are no nodes") {
    const auto v = verify_greedy({tokens, Tokens{-1, -2, 0, 1, 2, 4}}, Tokens{11, 12, 8, 1, 14, 3});
    CHECK(v.path == Tokens{0, 2});
    CHECK(v.bonus == 8);
  }
}

TEST_CASE("equal siblings stay together: the walk goes on below any of them") {
  // 0 ─ 1:a, 0 ─ 2:a ─ 3:b, as lookahead's guesses do; the target writes a b a
  constexpr float kNo = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{0, kNo, kNo, 0, kNo, 0, 0, kNo};
  const Tokens tokens{0, 0, 0, 1}, parents{-1, 0, 0, 2};
  const auto rule = GENERATE(AcceptRule::point_mass, AcceptRule::target_draw);
  Forced coin;
  const auto v = verify_sampled({tokens, parents}, {logits.data(), 4, 2, 2}, {}, {1, 0, 1}, decision_of(rule), coin);
  CHECK(v.path == Tokens{0, 2, 3});
  CHECK(v.bonus == 0);
}

TEST_CASE("strided rows are read where they lie") {
  // columns 1..2 of rows of 4 floats: p = (0, 1) after the root, (1, 0) after the draft
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  const std::vector<float> logits{9, kNever, 0, 9, 9, 0, kNever, 9}, q{5, 0, 1, 5};
  const Tokens tokens{0, 1}, parents{-1, 0};
  Forced coin;
  const auto v = verify_sampled({tokens, parents}, {logits.data() + 1, 2, 2, 4}, {q.data() + 1, 1, 2, 4}, {1, 0, 1},
                                decision_of(AcceptRule::independent), coin);
  CHECK(v.path == Tokens{0, 1});
  CHECK(v.bonus == 0);
}

TEST_CASE("typical acceptance: p above min(epsilon, delta exp(-entropy)), longest path, then the likeliest") {
  const auto row = [](double p) {
    return std::array{static_cast<float>(std::log(p)), static_cast<float>(std::log(1 - p))};
  };
  std::vector<float> logits;  // p of token 0 after each row
  for (const double p : {0.9, 0.5, 0.8, 0.5, 0.5})
    for (const float x : row(p)) logits.push_back(x);
  const MatrixView rows{logits.data(), 5, 2, 2};
  //  0 ── 1:0 ── 3:0      likelihoods: row 3 .9 * .5 = .45, row 4 .1 * .8 = .08
  //    └─ 2:1 ── 4:0
  const Tokens tokens{0, 0, 1, 0, 0}, parents{-1, 0, 0, 1, 2};
  CHECK(verify_relaxed({tokens, parents}, rows, {1, 0, 1}, {Relaxed::Kind::typical, 0.05, 1}).path == Tokens{0, 1, 3});
  // Row 1 no longer has a child: the long path wins although it is less likely.
  CHECK(verify_relaxed({tokens, Tokens{-1, 0, 0, -2, 2}}, rows, {1, 0, 1}, {Relaxed::Kind::typical, 0.05, 1}).path ==
        Tokens{0, 2, 4});
  // epsilon .2 > .1 = p of row 2; entropy of (.9, .1) is .325, exp(-.325) = .72: delta 1 leaves epsilon the smaller.
  CHECK(verify_relaxed({tokens, Tokens{-1, 0, 0, -2, 2}}, rows, {1, 0, 1}, {Relaxed::Kind::typical, 0.2, 1}).path ==
        Tokens{0, 1});
  // delta .1: .072 < .1, row 2 passes again.
  CHECK(verify_relaxed({tokens, Tokens{-1, 0, 0, -2, 2}}, rows, {1, 0, 1}, {Relaxed::Kind::typical, 0.2, 0.1}).path ==
        Tokens{0, 2, 4});
  // At temperature 0 it is the greedy rule; the bonus is the target's best.
  const auto greedy = verify_relaxed({tokens, parents}, rows, {}, {Relaxed::Kind::typical, 0.2, 0.3});
  CHECK(greedy.path == Tokens{0, 1, 3});
  CHECK(greedy.bonus == 0);
  CHECK(verify_relaxed({tokens, Tokens{-1, -2, 0, -2, 2}}, rows, {}, {Relaxed::Kind::typical, 0.2, 0.3}).path ==
        Tokens{0});
}
