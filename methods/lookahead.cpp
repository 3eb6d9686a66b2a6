// SPDX-License-Identifier: Apache-2.0
// Lookahead decoding (Fu et al. 2024, section 3): besides the root, a pass contains a window of `window` columns and
// `ngram` - 1 levels of guesses, whose diagonals give n-grams for a pool, and up to `guesses` n-grams of the pool that
// begin with the root, to be verified. All levels of the window start with tokens of the prompt.
#include <algorithm>
#include <map>

#include "core/int_indexed.h"
#include "methods/drafting/host_rows.h"
#include "methods/drafting/ngram_window.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct LookaheadParameters : Parameters {
  Setting<int> window = 15, ngram = 5;
  std::optional<int> guesses;
};

class Lookahead : public Method {
 public:
  explicit Lookahead(Context& c)
      : shape_{c.own<LookaheadParameters>().window, c.own<LookaheadParameters>().ngram},
        g_(c.own<LookaheadParameters>().guesses.value_or(shape_.columns)) {}
  bool static_plan() const override { return false; }
  int depth() const override { return g_ == 0 ? 0 : shape_.ngram - 1; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) return;
    std::vector<int> index;  // rows of the last level
    int start = 0;
    for (const int rows : rows_) {
      for (int column = 0; column < shape_.columns; ++column)
        index.push_back(start + shape_.rows() - shape_.columns + column);
      start += rows;
    }
    ops.store(outputs(ops, s), ops.gather(predicted(ops, c), ops.input("lookahead.last", index)));
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(states_, s.ids);
    const std::size_t b = s.ids.size();
    std::vector<int> found;
    const bool known = std::any_of(s.ids.begin(), s.ids.end(), [&](int id) { return states_.contains(id); });
    if (known) found = ops.fetch(outputs(ops, s));
    for (std::size_t i = 0; i < b; ++i) take_in(s, i, found);
    const auto counts = decide_each(
        ops, [&](std::size_t i) { return count(guesses_of(states_.at(s.ids[i]), root_of(s, i))); },
        std::vector<int>(b, g_));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < b; ++i) {
      const State& state = states_.at(s.ids[i]);
      std::vector<int> tokens = state.window.tokens();
      auto guesses = guesses_of(state, root_of(s, i));
      guesses.resize(at(counts[i]), Ngram(at(shape_.ngram - 1)));  // priced
      for (const Ngram& guess : guesses) tokens.insert(tokens.end(), guess.begin(), guess.end());
      rows.add(window_rows(shape_, 0, counts[i]), tokens);
    }
    rows_ = rows.each();
    return rows.proposal(ops, s, "lookahead", HostRows::Mask::tree);
  }

 private:
  struct State {
    int length, root;  // tokens of the text; root of the current step
    NgramWindow window;
    NgramPool pool;
  };
  std::vector<Ngram> guesses_of(const State& state, int root) const { return state.pool.newest(root, g_); }

  // Adds the last step's outputs to the pool and moves the window by one level.
  void take_in(const Session& s, std::size_t i, const std::vector<int>& found) {
    const int root = root_of(s, i);
    const auto it = states_.find(s.ids[i]);
    if (it == states_.end() || s.lengths[i] <= it->second.length) {
      states_.insert_or_assign(s.ids[i],
                               State{s.lengths[i], root, NgramWindow(shape_, s.text[i]), NgramPool(std::max(g_, 1))});
      return;
    }
    State& state = it->second;
    const std::size_t width = at(shape_.columns);
    state.window.advance(state.root, std::span(found).subspan(i * width, width), state.pool);
    state.length = s.lengths[i];
    state.root = root;
  }
  Tensor outputs(Ops& ops, const Session& s) const {
    return s.state(ops, "lookahead.outputs", shape_.columns, 1, DType::int32);
  }
  WindowShape shape_;
  int g_;
  std::vector<int> rows_;        // of each sequence in the current step
  std::map<int, State> states_;  // by sequence
};

}  // namespace

Entry lookahead() {
  using P = LookaheadParameters;
  return {.name = "lookahead",
          .title = "n-grams from a window of guesses that the target's own pass carries along",
          .source = "fu2024",
          .locator = "section 3",
          .parameters = {integer("window", &P::window, 1, 64, {.meaning = "positions that are guessed side by side"}),
                         integer("ngram", &P::ngram, 3, 16, {.meaning = "tokens of an n-gram"}),
                         integer("guesses", &P::guesses, 0, 64,
                                 {.meaning = "n-grams that a step verifies", .usual = "as window"})},
          .make = make<Lookahead>,
          .examples = {R"("window": 4, "ngram": 3, "guesses": 3)", R"("window": 3, "ngram": 4, "guesses": 2)"}};
}

}  // namespace draftline::methods
