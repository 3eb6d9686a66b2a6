// SPDX-License-Identifier: Apache-2.0
// Ouroboros (Zhao et al. 2024, section 3): the draft network drafts gamma tokens by lookahead decoding. Up to K phrases
// of beta = ngram - 1 tokens, from its pool after the last draft, are verified together with the chain. The pool is
// corrected by the target's tokens for the phrases, and for the drafts after a rejected one. All drafts are the
// network's best tokens, so that sampled text consists of the target's own draws. gamma -> draft_length, K -> phrases.
#include <algorithm>
#include <map>
#include <numeric>

#include "methods/drafting/draft_network.h"
#include "methods/drafting/host_rows.h"
#include "methods/drafting/ngram_window.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

struct OuroborosParameters {
  int draft_length;
  WindowShape window;
  int guesses, phrases;
  double drafted_per_pass;  // assumed for passes that are priced but not executed
  int phrase_length() const { return window.ngram - 1; }
  int rows() const { return 1 + draft_length + phrases * phrase_length(); }  // most rows of the target's pass
};

class Ouroboros : public Method {
 public:
  Ouroboros(DraftNetwork draft, const OuroborosParameters& p) : draft_(std::move(draft)), p_(p) {}
  bool static_plan() const override { return false; }
  int depth() const override { return p_.draft_length + (p_.phrases > 0 ? p_.phrase_length() : 0); }
  int rewrites() const override { return 1 + p_.phrase_length(); }  // its last draft and the phrase are not cached

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) {
      draft_.prefill(ops, s, c);
      return;
    }
    std::vector<int> index;
    int start = 0;
    for (const int rows : rows_) {
      for (int r = 0; r < p_.rows(); ++r) index.push_back(start + (r < rows ? r : 0));
      start += rows;
    }
    ops.store(predicted(ops, s),
              ops.gather(c.predicted ? *c.predicted : ops.argmax(c.logits), ops.input("ouroboros.predicted", index)));
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(states_, s.ids);
    const auto b = s.ids.size();
    std::vector<int> said;
    if (!states_.empty()) said = ops.fetch(predicted(ops, s));
    for (std::size_t i = 0; i < b; ++i) record_step(s, i, said);
    const auto missing = ops.decide(
        {},
        [&](std::span<const int>) {
          std::vector<int> n;
          for (std::size_t i = 0; i < b; ++i) n.push_back(s.lengths[i] - state(s, i).cached);
          return n;
        },
        std::vector<int>(b, 0));
    for (std::size_t i = 0; i < b; ++i) state(s, i).cached = s.lengths[i] - missing[i];
    for (int pass = 0; std::any_of(s.ids.begin(), s.ids.end(), [&](int id) { return drafting(states_.at(id)); });
         ++pass)
      draft(ops, s, pass);

    std::vector<std::vector<Ngram>> known;
    for (std::size_t i = 0; i < b; ++i) {
      state(s, i).drafts.resize(at(p_.draft_length));
      known.push_back(state(s, i).pool.newest(state(s, i).drafts.back(), p_.phrases));
    }
    const auto counts = counts_of(ops, known, std::vector<int>(b, p_.phrases));
    for (std::size_t i = 0; i < b; ++i) state(s, i).phrases = padded(known[i], counts[i]);
    return proposal(ops, s);
  }

 private:
  struct State {
    int length;  // committed tokens in the current step
    int cached;  // entries of the network's KV cache that hold the text and the drafts after it
    NgramWindow window;
    NgramPool pool;
    std::vector<int> drafts = {};
    std::vector<Ngram> phrases = {};
  };
  State& state(const Session& s, std::size_t i) { return states_.at(s.ids[i]); }
  bool drafting(const State& state) const { return static_cast<int>(state.drafts.size()) < p_.draft_length; }
  Tensor predicted(Ops& ops, const Session& s) const {
    return s.state(ops, "ouroboros.predicted", p_.rows(), 1, DType::int32);
  }
  std::vector<int> counts_of(Ops& ops, const std::vector<std::vector<Ngram>>& known, const std::vector<int>& usual) {
    return ops.decide(
        {},
        [&](std::span<const int>) {
          std::vector<int> n;
          for (const auto& ngrams : known) n.push_back(static_cast<int>(ngrams.size()));
          return n;
        },
        usual);
  }
  // The n-grams, filled up to `count` with zeros; while pricing none is known.
  std::vector<Ngram> padded(std::vector<Ngram> known, int count) const {
    known.resize(at(count), Ngram(at(p_.phrase_length())));
    return known;
  }

  // Updates state and pool by the accepted tokens of the last step and the target's tokens after them.
  void record_step(const Session& s, std::size_t i, std::span<const int> said) {
    const auto it = states_.find(s.ids[i]);
    if (it == states_.end() || s.lengths[i] <= it->second.length) {  // a new text
      states_.insert_or_assign(s.ids[i], State{s.lengths[i], s.lengths[i], NgramWindow(p_.window, s.text[i]),
                                               NgramPool(std::max({p_.guesses, p_.phrases, 1}))});
      return;
    }
    State& t = it->second;
    const int kept = std::min(s.lengths[i] - t.length - 1, p_.draft_length);
    learn(t, kept, said.subspan(i * at(p_.rows()), at(p_.rows())));
    t.cached = std::min(t.cached, t.length + 1 + kept);
    t.length = s.lengths[i];
    t.drafts.clear();
  }

  // `said`: the target's token after each row of its pass.
  void learn(State& t, int kept, std::span<const int> said) const {
    const int gamma = p_.draft_length, beta = p_.phrase_length();
    for (std::size_t k = 0; k < t.phrases.size(); ++k) {  // the target's token at each position of a phrase
      Ngram better{said[at(gamma)]};
      const auto row = at(gamma + 1) + k * at(beta);
      better.insert(better.end(), said.begin() + static_cast<std::ptrdiff_t>(row),
                    said.begin() + static_cast<std::ptrdiff_t>(row + at(beta - 1)));
      t.pool.correct(t.drafts.back(), t.phrases[k], std::move(better));
    }
    t.pool.add_agreed(t.drafts, said.subspan(1, at(gamma)), kept, beta);
  }

  // One pass of the network for all sequences that still draft: text that is not cached yet, window and guesses.
  void draft(Ops& ops, const Session& s, int pass) {
    const auto b = s.ids.size();
    const int beta = p_.phrase_length(), columns = p_.window.columns;
    const auto last = [&](std::size_t i) {
      const State& t = state(s, i);
      return !t.drafts.empty() ? t.drafts.back() : s.text[i].empty() ? 0 : s.text[i].back();
    };
    std::vector<std::vector<Ngram>> known(b);
    std::vector<int> usual_guesses(b, 0), usual_drafted(b, 0);
    for (std::size_t i = 0; i < b; ++i) {
      if (!drafting(state(s, i))) continue;
      known[i] = state(s, i).pool.newest(last(i), p_.guesses);
      usual_guesses[i] = p_.guesses;
      usual_drafted[i] = std::max(1, static_cast<int>((pass + 1) * p_.drafted_per_pass + 1e-9) -
                                         static_cast<int>(pass * p_.drafted_per_pass + 1e-9));
    }
    const auto counts = counts_of(ops, known, usual_guesses);
    const int depth = *std::max_element(counts.begin(), counts.end()) > 0 ? beta : 0;

    std::vector<TokenTree> trees;
    std::vector<int> rows, tokens, lengths, ends, ahead;  // of the pass
    std::vector<int> wanted, outputs;                     // rows whose logits are needed; those of the window
    std::vector<int> judged, judged_tokens, judged_parents, judged_rows, place;  // of the root and its guesses
    int start = 0;
    for (std::size_t i = 0; i < b; ++i) {
      const State& t = state(s, i);
      lengths.push_back(t.cached);
      ahead.push_back(t.cached - s.lengths[i]);
      const int first_wanted = static_cast<int>(wanted.size());
      judged_tokens.push_back(last(i));
      judged_parents.push_back(-1);
      judged_rows.push_back(1 + counts[i] * beta);
      if (!drafting(t)) {  // a sequence that has finished drafting
        rows.push_back(0);
        ends.push_back(t.cached);
        judged.push_back(0);
        place.push_back(start);
        outputs.insert(outputs.end(), at(columns), 0);
        continue;
      }
      const int before = pass == 0 ? s.lengths[i] - t.cached : 0;
      trees.push_back(window_rows(p_.window, before, counts[i]));
      rows.push_back(trees.back().rows());
      ends.push_back(t.cached + before);
      for (int j = 0; j < before; ++j) tokens.push_back(s.text[i].empty() ? 0 : s.text[i][at(t.cached + j)]);
      tokens.push_back(last(i));
      const auto window = t.window.tokens();
      tokens.insert(tokens.end(), window.begin(), window.end());
      wanted.push_back(start + before);
      judged.push_back(first_wanted);
      place.push_back(start);  // relative to `ends`
      int row = before + p_.window.rows();
      for (const Ngram& guess : padded(known[i], counts[i]))
        for (int j = 0; j < beta; ++j, ++row) {
          tokens.push_back(guess[at(j)]);
          judged_tokens.push_back(guess[at(j)]);
          judged_parents.push_back(j == 0 ? 0 : row - before - p_.window.rows());
          judged.push_back(static_cast<int>(wanted.size()));
          wanted.push_back(start + row);
          place.push_back(start + row - before);
        }
      for (int c = 0; c < columns; ++c) {
        outputs.push_back(static_cast<int>(wanted.size()));
        wanted.push_back(start + before + p_.window.rows() - columns + c);
      }
      start += rows.back();
    }

    const Rows all = ops.ragged("ouroboros.rows", rows);
    BatchSlots own = s.slots;
    own.lengths = ops.input("ouroboros.lengths", lengths);
    const Tensor mask = ops.input("ouroboros.draft_tree_mask", tree_mask_of(trees));
    const Tensor states = draft_.states(ops, ops.input("ouroboros.tokens", tokens),
                                        ops.pass({all, own, reshape(mask, start, mask.rows / start), 0, ahead}));
    const Tensor next = ops.argmax(draft_.logits(ops, ops.gather(states, ops.input("ouroboros.wanted", wanted))));
    const auto v = ops.verify_greedy(
        ops.gather(next, ops.input("ouroboros.judged", judged)), ops.input("ouroboros.guessed", judged_tokens),
        ops.input("ouroboros.parents", judged_parents), ops.ragged("ouroboros.judged_rows", judged_rows), depth);
    if (depth > 0) {
      own.lengths = ops.input("ouroboros.ends", ends);
      draft_.commit(ops, ops.gather(ops.input("ouroboros.place", place), v.path), all, own);
    }
    const int sequences = s.sequences, texts = sequences * (depth + 1);
    const Tensor out = ops.persistent("ouroboros.out", sequences + texts + sequences * columns, 1, DType::int32);
    ops.store(row_range(out, 0, sequences), v.counts);
    ops.store(row_range(out, sequences, texts), v.next);
    ops.store(row_range(out, sequences + texts, sequences * columns),
              ops.gather(next, ops.input("ouroboros.outputs", outputs)));
    const auto drafted = ops.decide(
        row_range(out, 0, sequences),
        [&](std::span<const int> raw) {
          std::vector<int> n(raw.begin(), raw.end());
          for (std::size_t i = 0; i < b; ++i)
            if (!drafting(state(s, i))) n[i] = 0;
          return n;
        },
        usual_drafted);
    const auto found = ops.fetch(row_range(out, sequences, texts + sequences * columns));
    for (std::size_t i = 0; i < b; ++i) {
      State& t = state(s, i);
      if (!drafting(t)) continue;
      const int root = last(i);
      t.cached = ends[i] + drafted[i];
      for (int j = 0; j < drafted[i]; ++j)  // while pricing the usual number may exceed the draft length
        t.drafts.push_back(j <= depth ? found[i * at(depth + 1) + at(j)] : 0);
      t.window.advance(root, std::span(found).subspan(at(texts) + i * at(columns), at(columns)), t.pool);
    }
  }

  // The chain, and the phrases after its last draft.
  Proposal proposal(Ops& ops, const Session& s) {
    const int gamma = p_.draft_length, beta = p_.phrase_length();
    HostRows rows(s.sequences);
    bool phrases = false;
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      const State& t = state(s, i);
      phrases = phrases || !t.phrases.empty();
      std::vector<int> tokens = t.drafts, above(at(gamma + 1));
      std::iota(above.begin(), above.end(), -1);
      for (const Ngram& phrase : t.phrases)
        for (int j = 0; j < beta; ++j) {
          above.push_back(j == 0 ? gamma : static_cast<int>(above.size()) - 1);
          tokens.push_back(phrase[at(j)]);
        }
      rows.add(TokenTree(std::move(above)), tokens);
    }
    rows_ = rows.each();
    return rows.proposal(ops, s, "ouroboros.verified", phrases ? HostRows::Mask::tree : HostRows::Mask::none);
  }

  DraftNetwork draft_;
  OuroborosParameters p_;
  std::vector<int> rows_;        // of each sequence in the target's pass
  std::map<int, State> states_;  // by sequence
};

std::unique_ptr<Method> make_ouroboros(const MethodSpec& spec, Context& c) {
  const Reader& in = spec.in();
  const auto window = in.find("window"), ngram = in.find("ngram"), guesses = in.find("guesses"),
             phrases = in.find("phrases"), per_pass = in.find("drafted_per_pass");
  OuroborosParameters p{};
  p.draft_length = spec.draft_length().value_or(12);
  p.window = {window ? window->integer(1, 64) : 20, ngram ? ngram->integer(3, 16) : 7};
  p.guesses = guesses ? guesses->integer(0, 64) : p.window.columns;
  p.phrases = phrases ? phrases->integer(0, 64) : 3;
  p.drafted_per_pass = per_pass ? per_pass->number(1, p.window.ngram) : 1;
  return std::make_unique<Ouroboros>(DraftNetwork(spec, c), p);
}

}  // namespace

Entry ouroboros() {
  return {.name = "ouroboros",
          .title = "a draft network that drafts by lookahead, and phrases behind its last draft",
          .source = "zhao2024ouroboros",
          .locator = "section 3",
          .lossless = Losslessness::lossless,
          .parameters =
              "draft: a transformer of the same vocabulary; draft_length (12), window (20), ngram (7), guesses (as "
              "window), phrases (3, of ngram - 1 tokens); drafted_per_pass (1): what a pass of the network yields "
              "where it is priced, not run",
          .make = make_ouroboros,
          .examples = {R"("draft": "half", "draft_length": 4, "window": 4, "ngram": 3, "guesses": 3, "phrases": 2)",
                       R"("draft": "half", "draft_length": 3, "window": 3, "ngram": 4, "guesses": 2, "phrases": 0)"},
          .lengths = {.most = 64},
          .draft_network = true,
          .of_prices = {"drafted_per_pass"}};
}

}  // namespace draftline::methods
