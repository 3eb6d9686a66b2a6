// SPDX-License-Identifier: Apache-2.0
// Decoding small enough to enumerate: networks on a handful of tokens, a drafter for any tree, one step of it, and a
// coin that visits every outcome with its probability. The library's own decisions run; only chance is replaced.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/rng.h"
#include "decoder/token_tree.h"
#include "decoder/verify.h"

namespace draftline::toy {

using Tokens = std::vector<int>;
using Chances = std::map<Tokens, double>;

// Runs a program once per outcome: do { program(coin); use(coin.probability()); } while (coin.next());
class EveryOutcome final : public Coin {
 public:
  bool accept(double p) override {
    if (p <= 0 || p >= 1) return p >= 1;
    if (reached_ == forks_.size()) forks_.push_back({{{0, 1 - p}, {1, p}}, 0});
    return choose() == 1;
  }
  int draw(std::span<const double> weights) override {
    if (reached_ == forks_.size()) {
      auto& options = forks_.emplace_back().options;
      double sum = 0;
      for (const double w : weights) sum += w;
      for (std::size_t i = 0; i < weights.size(); ++i)
        if (weights[i] > 0) options.emplace_back(static_cast<int>(i), weights[i] / sum);
    }
    return choose();
  }
  double probability() const { return probability_; }
  bool next() {
    while (!forks_.empty() && ++forks_.back().taken == forks_.back().options.size()) forks_.pop_back();
    reached_ = 0;
    probability_ = 1;
    return !forks_.empty();
  }

 private:
  struct Fork {
    std::vector<std::pair<int, double>> options;
    std::size_t taken = 0;
  };
  int choose() {
    const Fork& fork = forks_[reached_++];
    probability_ *= fork.options[fork.taken].second;
    return fork.options[fork.taken].first;
  }
  std::vector<Fork> forks_;
  std::size_t reached_ = 0;
  double probability_ = 1;
};

// Random logits for every text; some tokens impossible.
class Network {
 public:
  Network(int vocabulary, std::uint64_t seed, double impossible = 0)
      : vocabulary_(vocabulary), seed_(seed), impossible_(impossible) {}
  // The same distribution after every text.
  static Network always(const std::vector<double>& probabilities) {
    Network n(static_cast<int>(probabilities.size()), 0);
    for (const double p : probabilities) n.fixed_.push_back(static_cast<float>(std::log(p)));
    return n;
  }
  int vocabulary() const { return vocabulary_; }
  const std::vector<float>& logits(const Tokens& text) const {
    if (!fixed_.empty()) return fixed_;
    std::uint64_t code = 0;
    for (const int token : text) code = code * 16 + static_cast<std::uint64_t>(token) + 1;
    auto [it, fresh] = known_.try_emplace(code);
    for (int t = 0; fresh && t < vocabulary_; ++t) {
      const auto place = static_cast<std::uint64_t>(t);
      const bool never = t != static_cast<int>(code % static_cast<std::uint64_t>(vocabulary_)) &&
                         uniform_at(seed_, code, place, 1) < impossible_;
      it->second.push_back(never ? -std::numeric_limits<float>::infinity()
                                 : static_cast<float>(3 * uniform_at(seed_, code, place)));
    }
    return it->second;
  }
  std::vector<double> probabilities(const Tokens& text, const Sampling& sampling) const {
    std::vector<double> p(static_cast<std::size_t>(vocabulary_));
    warp(logits(text), sampling, p);
    return p;
  }

 private:
  int vocabulary_;
  std::uint64_t seed_;
  double impossible_;
  std::vector<float> fixed_;
  mutable std::unordered_map<std::uint64_t, std::vector<float>> known_;
};

enum class Drafting : std::uint8_t { independent, two_drafters, without_replacement, likeliest, fixed_guesses };

inline Tokens joined(Tokens text, const Tokens& more) {
  text.insert(text.end(), more.begin(), more.end());
  return text;
}

struct Decoder {
  Network target, draft;
  TokenTree tree;
  Drafting drafting;
  Sampling sampling;
  Decide decide;  // none: block verification

  struct Step {
    Tokens emitted;
    int accepted;
  };

  // One step after `text`: draft the tree, verify it. Both take their chances from their own coin; it may be the same.
  Step step(const Tokens& text, Coin& drafts_coin, Coin& coin) const {
    const auto rows = static_cast<std::size_t>(tree.rows()), v = static_cast<std::size_t>(target.vocabulary());
    Tokens tokens(rows, -1), parents = tree.parents();
    std::vector<Tokens> texts(rows);
    std::vector<float> logits, q_of_rows((rows - 1) * v);
    for (std::size_t r = 0; r < rows; ++r) {
      const bool dead = r > 0 && parents[r] < 0;
      if (r > 0 && !dead) texts[r] = joined(texts[static_cast<std::size_t>(parents[r])], {tokens[r]});
      const auto& row = target.logits(joined(text, texts[r]));
      logits.insert(logits.end(), row.begin(), row.end());
      draft_children(static_cast<int>(r), dead, joined(text, texts[r]), tokens, parents, q_of_rows, drafts_coin);
    }
    const MatrixView target_rows{logits.data(), tree.rows(), target.vocabulary(), target.vocabulary()};
    const MatrixView draft_rows{q_of_rows.data(), tree.rows() - 1, target.vocabulary(), target.vocabulary()};
    const bool drawn = drafting != Drafting::likeliest && drafting != Drafting::fixed_guesses;
    const MatrixView q = drawn ? draft_rows : MatrixView{};
    const Verdict v0 = decide ? verify_sampled({tokens, parents}, target_rows, q, sampling, decide, coin)
                              : verify_block({tokens, parents}, target_rows, q, sampling, coin);
    Step result{texts[static_cast<std::size_t>(v0.path.back())], static_cast<int>(v0.path.size()) - 1};
    result.emitted.push_back(v0.bonus);
    return result;
  }

 private:
  void draft_children(int row, bool dead, const Tokens& text, Tokens& tokens, Tokens& parents, std::vector<float>& q,
                      Coin& coin) const {
    const auto p = draft.probabilities(text, sampling);
    std::vector<double> rest;
    for (const double x : p) rest.push_back(static_cast<double>(static_cast<float>(x)));
    auto whole = rest;
    int nth = 0;
    for (const int child : tree.children(row)) {
      const auto c = static_cast<std::size_t>(child);
      const auto best = std::max_element(rest.begin(), rest.end());
      if (dead || (drafting != Drafting::fixed_guesses && *best == 0)) {  // nothing left to draft
        parents[c] = -2;
        continue;
      }
      if (drafting == Drafting::two_drafters && nth > 0) {  // every other sibling from another q
        std::reverse(whole.begin(), whole.end());
        rest = whole;
      }
      for (std::size_t t = 0; t < whole.size(); ++t) q[(c - 1) * whole.size() + t] = static_cast<float>(whole[t]);
      switch (drafting) {
        case Drafting::independent:
        case Drafting::two_drafters:
        case Drafting::without_replacement: tokens[c] = coin.draw(rest); break;
        case Drafting::likeliest: tokens[c] = static_cast<int>(best - rest.begin()); break;
        case Drafting::fixed_guesses: tokens[c] = nth / 2; break;  // 0 0 1 1: equal siblings
      }
      if (drafting == Drafting::without_replacement || drafting == Drafting::likeliest)
        rest[static_cast<std::size_t>(tokens[c])] = 0;
      ++nth;
    }
  }
};

// What one step emits, and with which probability: every draft, every decision.
inline Chances every_step(const Decoder& d, const Tokens& text) {
  Chances chances;
  EveryOutcome coin;
  do {
    const auto emitted = d.step(text, coin, coin).emitted;
    chances[emitted] += coin.probability();
  } while (coin.next());
  return chances;
}

// The first `n` tokens after `text`, from as many steps as they take. `steps` remembers what was enumerated.
inline Chances decoded(const Decoder& d, const Tokens& text, std::size_t n, std::map<Tokens, Chances>& steps) {
  auto [step, fresh] = steps.try_emplace(text);
  if (fresh) step->second = every_step(d, text);
  Chances chances;
  for (const auto& [emitted, chance] : step->second) {
    if (emitted.size() >= n) {
      chances[{emitted.begin(), emitted.begin() + static_cast<std::ptrdiff_t>(n)}] += chance;
      continue;
    }
    for (const auto& [more, then] : decoded(d, joined(text, emitted), n - emitted.size(), steps))
      chances[joined(emitted, more)] += chance * then;
  }
  return chances;
}
inline Chances decoded(const Decoder& d, const Tokens& text, std::size_t n) {
  std::map<Tokens, Chances> steps;
  return decoded(d, text, n, steps);
}

// The same without speculation.
inline Chances autoregressive(const Network& target, const Sampling& sampling, const Tokens& text, std::size_t n) {
  if (n == 0) return {{{}, 1.0}};
  Chances chances;
  const auto p = target.probabilities(text, sampling);
  for (int t = 0; t < target.vocabulary(); ++t)
    if (p[static_cast<std::size_t>(t)] > 0)
      for (const auto& [more, then] : autoregressive(target, sampling, joined(text, {t}), n - 1))
        chances[joined({t}, more)] += p[static_cast<std::size_t>(t)] * then;
  return chances;
}

inline double distance(const Chances& a, const Chances& b) {  // the largest difference
  double most = 0;
  const auto chance = [](const Chances& c, const Tokens& t) { return c.contains(t) ? c.at(t) : 0.0; };
  for (const auto& [tokens, p] : a) most = std::max(most, std::abs(p - chance(b, tokens)));
  for (const auto& [tokens, p] : b) most = std::max(most, std::abs(p - chance(a, tokens)));
  return most;
}

// How far what the decoder writes is from what the target would: three tokens, all texts.
inline double bias(const Decoder& d) {
  const Tokens prompt{0};
  return distance(decoded(d, prompt, 3), autoregressive(d.target, d.sampling, prompt, 3));
}

}  // namespace draftline::toy
