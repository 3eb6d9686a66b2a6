// SPDX-License-Identifier: Apache-2.0
// The accept rules, proved on vocabularies of 3 to 6: every outcome of draft and verification, over three tokens, adds
// up to the target's distribution; wrong rules do not. Then the same with real uniforms, by chi-squared.
#include "decoder/verify.h"

#include <array>
#include <boost/math/distributions/chi_squared.hpp>
#include <numeric>
#include <string>

#include "core/rng.h"
#include "model/acceptance/acceptance.h"
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
    if (node.children.empty()) return {std::nullopt, coin.draw(node.p)};
    const auto& child = node.children[0];
    const auto q = normal(child.q), p = std::vector<double>(node.p.begin(), node.p.end());
    const auto t = static_cast<std::size_t>(child.token);
    if (coin.accept(std::min(1.0, p[t] / q[t]))) return {0, child.token};
    return {std::nullopt, coin.draw(redraw(p, q))};
  };
}
std::vector<double> above(const std::vector<double>& p, const std::vector<double>& q) {
  std::vector<double> rest;
  for (std::size_t t = 0; t < p.size(); ++t) rest.push_back(std::max(p[t] - q[t], 0.0));
  return rest;
}
std::vector<double> target_itself(const std::vector<double>& p, const std::vector<double>&) { return p; }
std::vector<double> draft_itself(const std::vector<double>&, const std::vector<double>& q) { return q; }

// The bonus after the last draft straight from the logits, as EAGLE's first version drew it.
Decide unwarped_bonus(const Network& target, const Tokens& text) {
  return [&target, text, right = decision_of(AcceptRule::independent)](const Node& node, Coin& coin) -> Decision {
    if (!node.children.empty()) return right(node, coin);
    return {std::nullopt, coin.draw(target.probabilities(text, {1, 0, 1}))};
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
  return {std::nullopt, coin.draw(node.p)};
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

TEST_CASE("block verification is exact on chains, and accepts as many drafts as the rule draft by draft or more") {
  const int k = GENERATE(1, 2, 3);
  const auto s = GENERATE(from_range(kSamplings.begin() + (kSanitized ? 3 : 0), kSamplings.end()));
  INFO(k << " drafts; " << s.name);
  auto d = decoder(k == 3 ? 3 : 4, TokenTree::chain(k).parents(), Drafting::independent, s.sampling, {});
  CHECK(toy::bias(d) < kExact);
  const auto length = [&] {
    double mean = 0;
    for (const auto& [emitted, chance] : toy::every_step(d, {0})) mean += chance * static_cast<double>(emitted.size());
    return mean;
  };
  const double of_block = length();
  d.decide = decision_of(AcceptRule::independent);
  CHECK(of_block > length() - kExact);
  if (k == 1) CHECK(of_block == Approx(length()));
}

TEST_CASE("block verification over many steps is exact where a draft's uniform depends on how far it is ahead") {
  // p = (.6, .4), q = (.4, .6) after every text. A rejected block has judged the drafts of later positions too: the
  // next step must not draw them again from the same uniforms.
  constexpr int kTexts = kSanitized ? 1000 : 20'000, kTokens = 20, kDrafts = 4;
  const std::vector<float> logits{std::log(0.6F), std::log(0.4F)}, q{0.4F, 0.6F};
  std::vector<float> of_rows, of_drafts;
  for (int row = 0; row <= kDrafts; ++row) of_rows.insert(of_rows.end(), logits.begin(), logits.end());
  for (int row = 0; row < kDrafts; ++row) of_drafts.insert(of_drafts.end(), q.begin(), q.end());
  const MatrixView target{of_rows.data(), kDrafts + 1, 2, 2}, drafts{of_drafts.data(), kDrafts, 2, 2};
  const Tokens parents = TokenTree::chain(kDrafts).parents();
  const auto standard_errors = [&](bool by_distance) {  // of the share of token 0, from .6
    double zeros = 0, all = 0;
    for (std::uint64_t text = 0; text < kTexts; ++text) {
      const auto uniform = [text](int position, int purpose) {
        return uniform_at(7, text, static_cast<std::uint64_t>(position), static_cast<std::uint64_t>(purpose));
      };
      for (int root = 0; root < kTokens;) {
        Tokens tokens{0};
        for (int ahead = 1; ahead <= kDrafts; ++ahead)
          tokens.push_back(draw(std::span<const float>(q), uniform(root + ahead, by_distance ? 100 + ahead : 100)));
        UniformCoin coin([&](int depth, int trial) { return uniform(root + depth, trial); });
        const Verdict v = verify_block({tokens, parents}, target, drafts, {1, 0, 1}, coin);
        Tokens emitted;
        for (const int row : v.path)
          if (row > 0) emitted.push_back(tokens[static_cast<std::size_t>(row)]);
        emitted.push_back(v.bonus);
        if (root > 0)
          for (const int token : emitted) zeros += token == 0, ++all;
        root += static_cast<int>(emitted.size());
      }
    }
    return std::abs(zeros / all - 0.6) / std::sqrt(0.24 / all);
  };
  CHECK(standard_errors(true) < 4);
  CHECK(standard_errors(false) > 8);
}

TEST_CASE("block verification accepts 11/9 drafts where the rule draft by draft accepts 10/9") {
  // p = (1/3, 2/3), q = (2/3, 1/3), two drafts. Draft by draft: 2/3 + (2/3)^2. As a block: the joint ratios are 1/4, 1,
  // 1/2, 1 for 00, 01, 10, 11, so both are accepted with 4/9/4 + 2/9 + 2/9/2 + 1/9 = 5/9; one at least if the first is
  // 1 (1/3), or if both are accepted of 00 and 01 (3/9).
  const Network target = Network::always({1.0 / 3, 2.0 / 3}), draft = Network::always({2.0 / 3, 1.0 / 3});
  const auto accepted = [&](Decide decide) {
    const Decoder d{target, draft, TokenTree::chain(2), Drafting::independent, {1, 0, 1}, std::move(decide)};
    double mean = 0;
    for (const auto& [emitted, chance] : toy::every_step(d, {0}))
      mean += chance * static_cast<double>(emitted.size() - 1);
    return mean;
  };
  CHECK(accepted({}) == Approx(11.0 / 9).epsilon(1e-6));
  CHECK(accepted(decision_of(AcceptRule::independent)) == Approx(10.0 / 9).epsilon(1e-6));
}

TEST_CASE("block verification refuses trees and drafts without a distribution") {
  const auto refused = [](const std::vector<int>& above, Drafting drafting) {
    const auto d = decoder(4, above, drafting, {1, 0, 1}, {});
    toy::EveryOutcome coin;
    CHECK_THROWS_AS(d.step({0}, coin, coin), Bug);
  };
  refused({-1, 0, 0}, Drafting::independent);
  refused({-1, 0}, Drafting::likeliest);
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
