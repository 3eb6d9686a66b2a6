// SPDX-License-Identifier: Apache-2.0
// Lookahead decoding (Fu et al. 2024, section 3; METHODS.md 3.18): beside the root, one pass carries a window of `window` columns
// and `ngram` - 1 levels of guesses, whose diagonals give n-grams for a pool, and up to `guesses` n-grams of the pool that
// begin with the root, to be verified. The window starts with tokens of the prompt in all levels at once.
#include <algorithm>
#include <deque>
#include <map>

#include "core/rng.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class Lookahead : public Method {
 public:
  Lookahead(int window, int ngram, int guesses) : w_(window), n_(ngram), g_(guesses) {}
  bool static_plan() const override { return false; }
  int depth() const override { return g_ == 0 ? 0 : n_ - 1; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) return;
    std::vector<int> index;  // rows of the last level
    int start = 0;
    for (const int rows : rows_) {
      for (int column = 0; column < w_; ++column) index.push_back(start + window_rows() - w_ + column);
      start += rows;
    }
    ops.store(outputs(ops, s),
              ops.gather(c.predicted ? *c.predicted : ops.argmax(c.logits), ops.input("lookahead.last", index)));
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(states_, s.ids);
    const auto b = static_cast<std::size_t>(s.sequences);
    std::vector<int> found;
    const bool known = std::any_of(s.ids.begin(), s.ids.end(), [&](int id) { return states_.contains(id); });
    if (known) found = ops.fetch(outputs(ops, s));
    for (std::size_t i = 0; i < b; ++i) take_in(s, i, found);
    const auto counts = ops.decide(
        {},
        [&](std::span<const int>) {
          std::vector<int> n;
          for (std::size_t i = 0; i < b; ++i)
            n.push_back(static_cast<int>(guesses_of(states_[s.ids[i]], s.text[i].back()).size()));
          return n;
        },
        std::vector<int>(b, g_));
    std::vector<TokenTree> trees;
    rows_.clear();
    int words = 1;
    for (const int count : counts) {
      trees.push_back(rows_of(count));
      rows_.push_back(trees.back().rows());
      words = std::max(words, trees.back().words());
    }
    std::vector<int> host, index, parents, sees;
    for (std::size_t i = 0; i < b; ++i) {
      const State& state = states_[s.ids[i]];
      index.push_back(static_cast<int>(i));
      const auto add = [&](int token) {
        index.push_back(static_cast<int>(b + host.size()));
        host.push_back(token);
      };
      for (const auto& level : state.levels)
        for (const int token : level) add(token);
      const auto guesses = guesses_of(state, s.text[i].empty() ? 0 : s.text[i].back());
      for (int k = 0; k < counts[i]; ++k)
        for (int j = 0; j < n_ - 1; ++j)  // priced: there are no guesses
          add(static_cast<std::size_t>(k) < guesses.size()
                  ? guesses[static_cast<std::size_t>(k)][static_cast<std::size_t>(j)]
                  : 0);
      parents.insert(parents.end(), trees[i].parents().begin(), trees[i].parents().end());
      const auto bits = trees[i].sees();
      for (int r = 0; r < trees[i].rows(); ++r)
        for (int w = 0; w < words; ++w)
          sees.push_back(w < trees[i].words() ? bits[static_cast<std::size_t>(r * trees[i].words() + w)] : 0);
    }
    Tensor tokens = s.root;
    if (!host.empty())
      tokens = ops.gather(ops.concat_rows({s.root, ops.input("lookahead.tokens", host)}),
                          ops.input("lookahead.index", index));
    const bool any = std::any_of(counts.begin(), counts.end(), [](int n) { return n > 0; });
    const Tensor mask = ops.input("lookahead.sees", sees);
    return {ops.ragged("lookahead.rows", rows_), tokens, ops.input("lookahead.parents", parents),
            reshape(mask, mask.rows / words, words), any ? n_ - 1 : 0};
  }

 private:
  using Ngram = std::vector<int>;  // ngram - 1 tokens, behind their key
  struct State {
    int length = -1, root = 0;              // of the text; of the step under way
    std::vector<std::vector<int>> levels;   // 0: window - 1 tokens, the others: window
    std::map<int, std::deque<Ngram>> pool;  // newest first
  };
  int window_rows() const { return w_ * (n_ - 1); }  // the root included

  // root, level 0, the other levels, guesses
  TokenTree rows_of(int guesses) const {
    std::vector<int> above{-1};
    std::vector<bool> node{true};
    for (int c = 1; c < w_; ++c) above.push_back(c - 1);
    for (int level = 1; level < n_ - 1; ++level)
      for (int c = 0; c < w_; ++c) above.push_back((level - 1) * w_ + c);
    node.resize(above.size(), false);
    for (int k = 0; k < guesses; ++k)
      for (int j = 0; j < n_ - 1; ++j) {
        above.push_back(j == 0 ? 0 : static_cast<int>(above.size()) - 1);
        node.push_back(true);
      }
    return TokenTree(std::move(above), node);
  }

  std::vector<Ngram> guesses_of(const State& state, int root) const {
    const auto it = state.pool.find(root);
    if (it == state.pool.end() || g_ == 0) return {};
    return {it->second.begin(), it->second.end()};
  }

  // The last step's outputs into the pool; the window moves on by one.
  void take_in(const Session& s, std::size_t i, const std::vector<int>& found) {
    State& state = states_[s.ids[i]];
    if (state.length < 0 || s.lengths[i] <= state.length) {
      state = {};
      start(s, i, state);
    } else {
      const auto output = [&](int c) { return found[i * static_cast<std::size_t>(w_) + static_cast<std::size_t>(c)]; };
      for (int c = 0; c < w_; ++c) {
        Ngram ngram;
        for (std::size_t level = 1; level < state.levels.size(); ++level)
          ngram.push_back(state.levels[level][static_cast<std::size_t>(c)]);
        ngram.push_back(output(c));
        auto& known = state.pool[c == 0 ? state.root : state.levels[0][static_cast<std::size_t>(c - 1)]];
        std::erase(known, ngram);
        known.push_front(std::move(ngram));
        if (known.size() > static_cast<std::size_t>(std::max(g_, 1))) known.pop_back();
      }
      state.levels[0].assign(state.levels[1].begin() + 1, state.levels[1].end());
      for (std::size_t level = 1; level + 1 < state.levels.size(); ++level)
        state.levels[level] = state.levels[level + 1];
      for (int c = 0; c < w_; ++c) state.levels.back()[static_cast<std::size_t>(c)] = output(c);
    }
    state.length = s.lengths[i];
    state.root = s.text[i].empty() ? 0 : s.text[i].back();
  }
  void start(const Session& s, std::size_t i, State& state) const {
    const auto& text = s.text[i];
    for (int level = 0; level < n_ - 1; ++level) {
      state.levels.emplace_back();
      for (int c = level == 0 ? 1 : 0; c < w_; ++c) {
        const double u = uniform_at(0, text.size(), static_cast<std::uint64_t>(level), static_cast<std::uint64_t>(c));
        state.levels.back().push_back(
            text.empty() ? 0 : text[static_cast<std::size_t>(u * static_cast<double>(text.size()))]);
      }
    }
  }
  Tensor outputs(Ops& ops, const Session& s) const { return s.slot(ops, "lookahead.outputs", w_, 1, DType::int32); }
  int w_, n_, g_;
  std::vector<int> rows_;        // of each sequence in the step under way
  std::map<int, State> states_;  // by sequence
};

}  // namespace

Entry lookahead() {
  return {"lookahead",
          "n-grams from a window of guesses that the target's own pass carries along",
          "fu2024",
          "section 3",
          Losslessness::lossless,
          "window (15), ngram (5), guesses (15)",
          [](const Reader& in, Context&) -> std::unique_ptr<Method> {
            const auto w = in.find("window"), n = in.find("ngram"), g = in.find("guesses");
            const int window = w ? w->integer(1, 64) : 15;
            return std::make_unique<Lookahead>(window, n ? n->integer(3, 16) : 5, g ? g->integer(0, 64) : window);
          },
          {R"("window": 4, "ngram": 3, "guesses": 3)", R"("window": 3, "ngram": 4, "guesses": 2)"}};
}

}  // namespace draftline::methods
