// SPDX-License-Identifier: Apache-2.0
// The accept rules, proved on vocabularies of 3 to 6: every outcome of draft and verification, over three tokens, adds up
// to the target's distribution; wrong rules do not. Then the same with real uniforms, by chi-squared.
#include "decoder/verify.h"

#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <numeric>
#include <string>

#include "core/errors.h"
#include "core/rng.h"
#include "model/acceptance.h"
#include "tests/catch.h"
#include "tests/decoder/toy_decoding.h"

using namespace draftline;
using toy::Decoder;
using toy::Drafting;
using toy::Network;
using toy::Tokens;

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kSanitized = true;  // thirty times slower: it looks for other mistakes than chi-squared does
#else
constexpr bool kSanitized = false;
#endif

constexpr double kExact = 1e-12;  // a few thousand additions of fp64 numbers below 1

struct NamedSampling {
  std::string name;
  Sampling sampling;
};
const std::vector<NamedSampling> kSamplings{{"temperature 1", {1, 0, 1}},
                                            {"temperature 0.7, top-k 3", {0.7, 3, 1}},
                                            {"temperature 1.3, top-p 0.8", {1.3, 0, 0.8}},
                                            {"temperature 1.5, top-k 3, top-p 0.9", {1.5, 3, 0.9}},
                                            {"greedy", {}}};

struct NamedTree {
  std::string name;
  std::vector<int> above;
  int vocabulary;
};
const std::vector<NamedTree> kTrees{{"root alone", {-1}, 4},
                                    {"chain of 1", {-1, 0}, 5},
                                    {"chain of 3", {-1, 0, 1, 2}, 4},
                                    {"three children", {-1, 0, 0, 0}, 5},
                                    {"two levels of two", {-1, 0, 0, 1, 1, 2}, 3},
                                    {"ragged", {-1, 0, 0, 2, 3, 2}, 3}};

struct RuleAndDrafts {
  std::string name;
  AcceptRule rule;
  Drafting drafting;
};
const std::vector<RuleAndDrafts> kRules{
    {"S, R with replacement", AcceptRule::independent, Drafting::independent},
    {"R with replacement, two drafters", AcceptRule::independent, Drafting::two_drafters},
    {"R without replacement", AcceptRule::without_replacement, Drafting::without_replacement},
    {"P, likeliest", AcceptRule::point_mass, Drafting::likeliest},
    {"P, equal siblings", AcceptRule::point_mass, Drafting::fixed_guesses},
    {"N, likeliest", AcceptRule::target_draw, Drafting::likeliest},
    {"N, equal siblings", AcceptRule::target_draw, Drafting::fixed_guesses},
    {"P, drawn", AcceptRule::point_mass, Drafting::independent},  // exact for any drafts that don't look at the outcome
    {"N, drawn", AcceptRule::target_draw, Drafting::independent}};

Decoder decoder(int vocabulary, const std::vector<int>& above, Drafting drafting, const Sampling& sampling,
                Decide decide) {
  return {Network(vocabulary, 11, 0.2),
          Network(vocabulary, 12, 0.2),
          TokenTree(above),
          drafting,
          sampling,
          std::move(decide)};
}

// ---- rules that are wrong; none is in the library

std::vector<double> normal(std::span<const float> weights) {
  double sum = 0;
  for (const float w : weights) sum += static_cast<double>(w);
  std::vector<double> q;
  for (const float w : weights) q.push_back(static_cast<double>(w) / sum);
  return q;
}

// A single draft, accepted as it should be; the rejected one is replaced from `redraw(p, q)`.
template <class Redraw>
Decide chain_rule(Redraw redraw) {
  return [redraw](const Node& node, Coin& coin) -> Decision {
    if (node.children.empty()) return {-1, coin.draw(node.p)};
    const auto& child = node.children[0];
    const auto q = normal(child.q), p = std::vector<double>(node.p.begin(), node.p.end());
    const auto t = static_cast<std::size_t>(child.token);
    if (coin.accept(std::min(1.0, p[t] / q[t]))) return {0, child.token};
    return {-1, coin.draw(redraw(p, q))};
  };
}
std::vector<double> above(const std::vector<double>& p, const std::vector<double>& q) {
  std::vector<double> rest;
  for (std::size_t t = 0; t < p.size(); ++t) rest.push_back(std::max(p[t] - q[t], 0.0));
  return rest;
}
std::vector<double> target_itself(const std::vector<double>& p, const std::vector<double>&) { return p; }
std::vector<double> draft_itself(const std::vector<double>&, const std::vector<double>& q) { return q; }

// The bonus after the last draft straight from the logits, as EAGLE's first version drew it (METHODS.md section 3.7).
Decide unwarped_bonus(const Network& target, const Tokens& text) {
  return [&target, text, right = decision_of(AcceptRule::independent)](const Node& node, Coin& coin) -> Decision {
    if (!node.children.empty()) return right(node, coin);
    return {-1, coin.draw(target.probabilities(text, {1, 0, 1}))};
  };
}

// A draft is accepted with p / q, but when rejected only struck out of p, as if it had been chosen and not drawn.
const Decide kStrikesOnly = [](const Node& node, Coin& coin) -> Decision {
  for (std::size_t i = 0; i < node.children.size(); ++i) {
    const auto t = static_cast<std::size_t>(node.children[i].token);
    const auto q = normal(node.children[i].q);
    if (coin.accept(std::min(1.0, node.p[t] / q[t]))) return {static_cast<int>(i), node.children[i].token};
    node.p[t] = 0;
    const double sum = std::accumulate(node.p.begin(), node.p.end(), 0.0);
    if (sum > 0)
      for (double& p : node.p) p /= sum;
    else return {static_cast<int>(i), node.children[i].token};
  }
  return {-1, coin.draw(node.p)};
};

// ---- with real uniforms

struct Uniform {  // of (step, purpose, depth, trial)
  std::uint64_t seed;
  bool by_depth = true, by_trial = true;
  UniformCoin coin(int step, int purpose) const {
    return UniformCoin([*this, step, purpose](int depth, int trial) {
      const int place = (by_depth ? depth : 0) * 64 + (by_trial ? trial : 0);
      return uniform_at(seed, static_cast<std::uint64_t>(step), static_cast<std::uint64_t>(purpose),
                        static_cast<std::uint64_t>(place));
    });
  }
};

// p-value of the first two tokens of `steps` steps, against the target's own distribution.
double chi_squared_p(const Decoder& d, const Uniform& uniform, int steps) {
  const Tokens prompt{0};
  const auto expected = toy::autoregressive(d.target, d.sampling, prompt, 2);
  std::map<Tokens, int> seen;
  for (int s = 0; s < steps; ++s) {
    auto drafts = Uniform{uniform.seed}.coin(s, 0), verify = uniform.coin(s, 1),
         rest = Uniform{uniform.seed}.coin(s, 2);
    Tokens tokens = d.step(prompt, drafts, verify).emitted;
    if (tokens.size() == 1) tokens.push_back(rest.draw(d.target.probabilities({0, tokens[0]}, d.sampling)));
    tokens.resize(2);
    ++seen[tokens];
  }
  for (const auto& [tokens, count] : seen)
    if (!expected.contains(tokens)) return 0;
  double statistic = 0;
  for (const auto& [tokens, chance] : expected) {
    const double mean = chance * steps;
    REQUIRE(mean > 5);  // else chi-squared is no good approximation
    statistic += (seen[tokens] - mean) * (seen[tokens] - mean) / mean;
  }
  const boost::math::chi_squared law(static_cast<double>(expected.size() - 1));
  return boost::math::cdf(boost::math::complement(law, statistic));
}

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

TEST_CASE("every lossless rule writes the target's distribution exactly: any tree, any warp, impossible tokens") {
  const auto r = GENERATE(from_range(kRules));
  const auto t = GENERATE(from_range(kTrees));
  const auto s = GENERATE(from_range(kSamplings.begin() + (kSanitized ? 3 : 0), kSamplings.end()));
  INFO(r.name << "; " << t.name << "; " << s.name);
  CHECK(toy::bias(decoder(t.vocabulary, t.above, r.drafting, s.sampling, decision_of(r.rule))) < kExact);
}

TEST_CASE("wrong rules are caught by the same check") {
  const Sampling warm{1, 0, 1}, cut{1, 2, 1};
  const auto chain = [&](Decide decide) {
    return decoder(4, {-1, 0, 1}, Drafting::independent, warm, std::move(decide));
  };
  CHECK(toy::bias(chain(chain_rule(above))) < kExact);  // the scaffold of the wrong ones is right

  SECTION("the rejected draft is drawn again from the target's distribution, not from the residual (SPACE)") {
    CHECK(toy::bias(chain(chain_rule(target_itself))) > 1e-3);
  }
  SECTION("the rejected draft is drawn again from the draft's distribution") {
    CHECK(toy::bias(chain(chain_rule(draft_itself))) > 1e-3);
  }
  SECTION("the bonus is not warped (EAGLE-1)") {
    const Network target = Network::always({0.4, 0.3, 0.2, 0.1}), draft = Network::always({0.3, 0.4, 0.2, 0.1});
    const Decoder d{target, draft, TokenTree::chain(2), Drafting::independent, cut, unwarped_bonus(target, {0})};
    CHECK(toy::bias(d) > 1e-3);
    CHECK(toy::bias({target, draft, TokenTree::chain(2), Drafting::independent, cut,
                     decision_of(AcceptRule::independent)}) < kExact);
  }
  SECTION("siblings drawn without replacement are judged as if with") {
    CHECK(toy::bias(decoder(4, {-1, 0, 0}, Drafting::without_replacement, warm, decision_of(AcceptRule::independent))) >
          1e-3);
  }
  SECTION("a rejected draft is struck out of the target's distribution, not subtracted") {
    CHECK(toy::bias(decoder(4, {-1, 0, 0}, Drafting::independent, warm, kStrikesOnly)) > 1e-3);
  }
}

TEST_CASE(
    "SPACE's example: drawing the rejected draft again from the target gives (.26, .39, .35) instead of (.2, .3, .5)") {
  // P_c = (.5, .3, .2), Q = (.2, .3, .5): accepted min = (.2, .3, .2), the rejected .3 go to Q: (.06, .09, .15)
  const Network target = Network::always({0.2, 0.3, 0.5}), draft = Network::always({0.5, 0.3, 0.2});
  const auto first_token = [&](Decide decide) {
    const Decoder d{target, draft, TokenTree::chain(1), Drafting::independent, {1, 0, 1}, std::move(decide)};
    std::array<double, 3> p{};
    for (const auto& [tokens, chance] : toy::decoded(d, {0}, 1)) p[static_cast<std::size_t>(tokens[0])] += chance;
    return p;
  };
  const auto wrong = first_token(chain_rule(target_itself)), right = first_token(decision_of(AcceptRule::independent));
  CHECK(wrong[0] == Approx(0.26).epsilon(1e-6));  // logits are fp32
  CHECK(wrong[1] == Approx(0.39).epsilon(1e-6));
  CHECK(wrong[2] == Approx(0.35).epsilon(1e-6));
  CHECK(right[0] == Approx(0.2).epsilon(1e-6));
  CHECK(right[1] == Approx(0.3).epsilon(1e-6));
  CHECK(right[2] == Approx(0.5).epsilon(1e-6));
}

TEST_CASE("a million tokens drawn with real uniforms follow the target, and a uniform used twice shows") {
  constexpr int kSteps = kSanitized ? 50'000 : 500'000;  // two tokens each
  constexpr int kFew = 20'000;                           // are enough to tell a wrong rule
  const Network target(4, 21), draft(4, 22);
  const Sampling sampling{1, 3, 1};
  const Decoder chain{
      target, draft, TokenTree::chain(2), Drafting::independent, sampling, decision_of(AcceptRule::independent)};
  SECTION("S") { CHECK(chi_squared_p(chain, {2024}, kSteps) > 1e-3); }
  SECTION("R without replacement, a ragged tree") {
    const Decoder d{target,
                    draft,
                    TokenTree({-1, 0, 0, 2}),
                    Drafting::without_replacement,
                    sampling,
                    decision_of(AcceptRule::without_replacement)};
    CHECK(chi_squared_p(d, {2025}, kSteps / 2) > 1e-3);
  }
  SECTION("N") {
    const Decoder d{
        target, draft, TokenTree({-1, 0, 0, 1}), Drafting::likeliest, sampling, decision_of(AcceptRule::target_draw)};
    CHECK(chi_squared_p(d, {2026}, kSteps / 2) > 1e-3);
  }
  SECTION("one uniform for acceptance and the token after a rejection") {
    CHECK(chi_squared_p(chain, {2024, true, false}, kFew) < 1e-9);
  }
  SECTION("one uniform for all depths") { CHECK(chi_squared_p(chain, {2024, false, true}, kFew) < 1e-9); }
  SECTION("a wrong residual") {
    const Decoder d{target, draft, TokenTree::chain(2), Drafting::independent, sampling, chain_rule(target_itself)};
    CHECK(chi_squared_p(d, {2024}, kFew) < 1e-9);
  }
}

TEST_CASE("a drawn draft is accepted with probability sum of min(p, q); a chain of them as the closed formula says") {
  // min of (.5, .25, .25) and (.25, .25, .5): .75
  const Network target = Network::always({0.5, 0.25, 0.25}), draft = Network::always({0.25, 0.25, 0.5});
  const int k = GENERATE(1, 2, 3);
  const Decoder d{
      target, draft, TokenTree::chain(k), Drafting::independent, {1, 0, 1}, decision_of(AcceptRule::independent)};
  double length = 0;
  for (const auto& [emitted, chance] : toy::every_step(d, {0})) length += chance * static_cast<double>(emitted.size());
  CHECK(length == Approx(iid_chain_length(0.75, k)).epsilon(1e-6));  // 1 + .75 + .75^2 + ...
}

TEST_CASE("acceptance at one node, by head") {
  const auto accepted = [](const Network& target, const Network& draft, Drafting drafting, AcceptRule rule,
                           int children) {
    std::vector<int> above(static_cast<std::size_t>(children) + 1, 0);
    above[0] = -1;
    const Decoder d{target, draft, TokenTree(above), drafting, {1, 0, 1}, decision_of(rule)};
    double chance = 0;
    for (const auto& [emitted, p] : toy::every_step(d, {0})) chance += emitted.size() == 2 ? p : 0;
    return chance;
  };
  const auto sure = Network::always({1, 0}), even = Network::always({0.5, 0.5});
  const auto skew = Network::always({0.5, 0.3, 0.2}), flat = Network::always({0.4, 0.3, 0.3});
  // p = (1, 0), q = (.5, .5): only token 0 passes. Two draws hit it with 1 - 1/4; two different ones always.
  CHECK(accepted(sure, even, Drafting::independent, AcceptRule::independent, 1) == Approx(0.5));
  CHECK(accepted(sure, even, Drafting::independent, AcceptRule::independent, 2) == Approx(0.75));
  CHECK(accepted(sure, even, Drafting::without_replacement, AcceptRule::without_replacement, 2) == Approx(1));
  // Chosen drafts pass with the sum of their p, under P as under N: the best two of q are tokens 0 and 1.
  CHECK(accepted(skew, flat, Drafting::likeliest, AcceptRule::point_mass, 2) == Approx(0.8));
  CHECK(accepted(skew, flat, Drafting::likeliest, AcceptRule::target_draw, 2) == Approx(0.8));
  // All of the vocabulary, chosen: nothing is left to reject.
  CHECK(accepted(skew, flat, Drafting::likeliest, AcceptRule::point_mass, 3) == Approx(1));
}

TEST_CASE("a draft that is the target is never rejected") {
  const auto s = GENERATE(from_range(kSamplings));
  INFO(s.name);
  const Network same(4, 31, 0.2);
  const Decoder d{
      same, same, TokenTree::chain(3), Drafting::independent, s.sampling, decision_of(AcceptRule::independent)};
  for (const auto& [emitted, chance] : toy::every_step(d, {0}))  // q is rounded to fp32: 2^-24 for each of three drafts
    if (emitted.size() < 4) CHECK(chance < 3 * 0x1p-24);
}

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
  CHECK(none.child == -1);
  CHECK(none.token == 0);
  const auto sure = decide_once(AcceptRule::point_mass, {1, 0, 0}, {}, {2, 0}, coin);
  CHECK(sure.child == 1);
}

TEST_CASE("a repeated child, drawn when nothing else was left, is passed over") {
  Forced coin;
  const auto d = decide_once(AcceptRule::without_replacement, {0.1, 0.9}, {0.5F, 0.5F}, {0, 0}, coin);
  CHECK(d.child == -1);
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
  CHECK_THROWS_AS(all_outcomes(logits), Bug);
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

TEST_CASE("at temperature 0 the sampled rules give what the greedy rule gives") {
  const auto r = GENERATE(from_range(kRules));
  INFO(r.name);
  const Network target(3, 41), draft(3, 42);
  const TokenTree tree({-1, 0, 0, 1, 1, 2});
  const Decoder d{target, draft, tree, r.drafting, {}, decision_of(r.rule)};
  toy::EveryOutcome coin;
  const auto sampled = d.step({0}, coin, coin).emitted;
  CHECK(coin.probability() == 1);
  CHECK_FALSE(coin.next());  // nothing is left to chance
  CHECK(toy::autoregressive(target, {}, {0}, sampled.size()).begin()->first == sampled);
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
