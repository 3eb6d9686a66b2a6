// SPDX-License-Identifier: Apache-2.0
// Ouroboros (Zhao et al. 2024, section 3): the draft network drafts gamma tokens by lookahead decoding. Up to K phrases
// of beta = ngram - 1 tokens, from its pool after the last draft, are verified together with the chain. The pool is
// corrected by the target's tokens for the phrases, and for the drafts after a rejected one. All drafts are the
// network's best tokens, so that sampled text consists of the target's own draws. gamma -> draft_length, K -> phrases.
#include <algorithm>
#include <map>
#include <numeric>

#include "core/int_indexed.h"
#include "methods/drafting/draft_network.h"
#include "methods/drafting/host_rows.h"
#include "methods/drafting/lookahead_pass.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct OuroborosParameters : Parameters {
  Setting<int> window = 20, ngram = 7, phrases = 3;
  std::optional<int> guesses;
  Setting<double> drafted_per_pass = 1;  // assumed for passes that are priced but not executed
};

class Ouroboros : public Method {
 public:
  explicit Ouroboros(Context& c)
      : draft_(c),
        length_(c.drafts()),
        p_(c.own<OuroborosParameters>()),
        window_{p_.window, p_.ngram},
        guesses_(p_.guesses.value_or(p_.window)) {}
  bool static_plan() const override { return false; }
  int depth() const override { return length_ + (p_.phrases > 0 ? phrase_length() : 0); }
  int rewrites() const override { return 1 + phrase_length(); }  // its last draft and the phrase are not cached

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) {
      draft_.prefill(ops, s, c);
      return;
    }
    std::vector<int> index;
    int start = 0;
    for (const int rows : rows_) {
      for (int r = 0; r < most_rows(); ++r) index.push_back(start + (r < rows ? r : 0));
      start += rows;
    }
    ops.store(said(ops, s), ops.gather(predicted(ops, c), ops.input("ouroboros.predicted", index)));
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(states_, s.ids);
    const auto b = s.ids.size();
    std::vector<int> found;
    if (!states_.empty()) found = ops.fetch(said(ops, s));
    for (std::size_t i = 0; i < b; ++i) record_step(s, i, found);
    const auto missing = decide_each(
        ops, [&](std::size_t i) { return s.lengths[i] - state(s, i).cached; }, std::vector<int>(b, 0));
    for (std::size_t i = 0; i < b; ++i) state(s, i).cached = s.lengths[i] - missing[i];
    for (int pass = 0; std::any_of(s.ids.begin(), s.ids.end(), [&](int id) { return drafting(states_.at(id)); });
         ++pass)
      draft(ops, s, pass);

    std::vector<std::vector<Ngram>> known;
    for (std::size_t i = 0; i < b; ++i) {
      state(s, i).drafts.resize(at(length_));
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
  int phrase_length() const { return p_.ngram - 1; }
  int most_rows() const { return 1 + length_ + p_.phrases * phrase_length(); }  // of the target's pass
  bool drafting(const State& state) const { return count(state.drafts) < length_; }
  Tensor said(Ops& ops, const Session& s) const {  // the target's token after each row of its last pass
    return s.state(ops, "ouroboros.predicted", most_rows(), 1, DType::int32);
  }
  std::vector<int> counts_of(Ops& ops, const std::vector<std::vector<Ngram>>& known, const std::vector<int>& usual) {
    return decide_each(
        ops, [&](std::size_t i) { return count(known[i]); }, usual);
  }
  // The n-grams, filled up to `count` with zeros; while pricing none is known.
  std::vector<Ngram> padded(std::vector<Ngram> known, int count) const {
    known.resize(at(count), Ngram(at(phrase_length())));
    return known;
  }

  // Updates state and pool by the accepted tokens of the last step and the target's tokens after them.
  void record_step(const Session& s, std::size_t i, std::span<const int> said) {
    const auto it = states_.find(s.ids[i]);
    if (it == states_.end() || s.lengths[i] <= it->second.length) {  // a new text
      states_.insert_or_assign(s.ids[i], State{s.lengths[i], s.lengths[i], NgramWindow(window_, s.text[i]),
                                               NgramPool(std::max({guesses_, p_.phrases.value, 1}))});
      return;
    }
    State& t = it->second;
    const int kept = std::min(s.lengths[i] - t.length - 1, length_);
    learn(t, kept, said.subspan(i * at(most_rows()), at(most_rows())));
    t.cached = std::min(t.cached, t.length + 1 + kept);
    t.length = s.lengths[i];
    t.drafts.clear();
  }

  // `said`: the target's token after each row of its pass.
  void learn(State& t, int kept, std::span<const int> said) const {
    const int gamma = length_, beta = phrase_length();
    for (std::size_t k = 0; k < t.phrases.size(); ++k) {  // the target's token at each position of a phrase
      Ngram better{said[at(gamma)]};
      const auto further = said.subspan(at(gamma + 1) + k * at(beta), at(beta - 1));
      better.insert(better.end(), further.begin(), further.end());
      t.pool.correct(t.drafts.back(), t.phrases[k], std::move(better));
    }
    t.pool.add_agreed(t.drafts, said.subspan(1, at(gamma)), kept, beta);
  }

  // One pass of the network for all sequences that still draft.
  void draft(Ops& ops, const Session& s, int pass) {
    const LookaheadPass p = lay_out(ops, s);
    const Judgement judgement = run(ops, s, p);
    take_in(s, p, fetch(ops, s, p, judgement, usually_drafted(s, pass)));
  }

  // Text that is not cached yet, window and guesses of each.
  LookaheadPass lay_out(Ops& ops, const Session& s) {
    const auto b = s.ids.size();
    std::vector<std::vector<Ngram>> known(b);
    std::vector<int> usual(b, 0);
    for (std::size_t i = 0; i < b; ++i) {
      if (!drafting(state(s, i))) continue;
      known[i] = state(s, i).pool.newest(root(s, i), guesses_);
      usual[i] = guesses_;
    }
    const auto counts = counts_of(ops, known, usual);
    LookaheadPass pass(window_);
    for (std::size_t i = 0; i < b; ++i) {
      const State& t = state(s, i);
      const LookaheadPass::Sequence sequence{s.lengths[i], t.cached, root(s, i)};
      if (drafting(t)) pass.add(sequence, missing_text(s, i), t.window, padded(known[i], counts[i]));
      else pass.add_finished(sequence);
    }
    return pass;
  }

  // The token behind which a sequence drafts.
  int root(const Session& s, std::size_t i) {
    const State& t = state(s, i);
    return !t.drafts.empty() ? t.drafts.back() : root_of(s, i);
  }

  // What the network has not cached yet: only the first pass of a step finds any.
  std::vector<int> missing_text(const Session& s, std::size_t i) {
    const int cached = state(s, i).cached;
    if (cached >= s.lengths[i]) return {};
    if (s.text[i].empty()) return std::vector<int>(at(s.lengths[i] - cached));
    return {s.text[i].begin() + cached, s.text[i].begin() + s.lengths[i]};
  }

  // What each sequence is assumed to draft in a pass that is priced: whole tokens, drafted_per_pass on average.
  std::vector<int> usually_drafted(const Session& s, int pass) {
    const auto until = [&](int passes) { return static_cast<int>(passes * p_.drafted_per_pass + 1e-9); };
    std::vector<int> usual;
    for (std::size_t i = 0; i < s.ids.size(); ++i)
      usual.push_back(drafting(state(s, i)) ? std::max(1, until(pass + 1) - until(pass)) : 0);
    return usual;
  }

  struct Judgement {
    Tensor next;              // the network's best token after each row that is wanted
    VerdictTensors accepted;  // of the guesses
  };
  // The network's pass, whose accepted guesses stay in its KV cache.
  Judgement run(Ops& ops, const Session& s, const LookaheadPass& p) const {
    const Rows all = ops.ragged("ouroboros.rows", p.rows);
    BatchSlots own = s.slots;
    own.lengths = ops.input("ouroboros.lengths", p.lengths);
    const Tensor mask = ops.input("ouroboros.draft_tree_mask", tree_mask_of(p.trees));
    const Tensor states =
        draft_.states(ops, ops.input("ouroboros.tokens", p.tokens),
                      ops.pass({all, own, reshape(mask, all.total, mask.rows / all.total), 0, p.ahead}));
    const Tensor next = ops.argmax(draft_.logits(ops, ops.gather(states, ops.input("ouroboros.wanted", p.wanted))));
    const Rows judged = ops.ragged("ouroboros.judged_rows", p.judged.rows);
    const Tensor parents = ops.input("ouroboros.parents", p.judged.parents),
                 guessed = ops.input("ouroboros.guessed", p.judged.tokens),
                 predicted = ops.gather(next, ops.input("ouroboros.judged", p.judged.wanted));
    const auto v = ops.verify_greedy(predicted, {guessed, parents, judged, p.depth});
    if (p.depth > 0) {
      own.lengths = ops.input("ouroboros.ends", p.ends);
      draft_.commit(ops, ops.gather(ops.input("ouroboros.place", p.judged.place), v.path), all, own);
    }
    return {next, v};
  }

  struct Drafted {
    std::vector<int> counts;   // [sequences]: tokens that the pass has drafted
    std::vector<int> tokens;   // [sequences * (depth + 1)]: these, and padding
    std::vector<int> outputs;  // [sequences * columns]: the tokens after the window's last level
  };
  // Brings to the host what the pass has drafted. `usual`: the counts while pricing.
  Drafted fetch(Ops& ops, const Session& s, const LookaheadPass& p, const Judgement& judgement,
                const std::vector<int>& usual) {
    const int sequences = s.sequences, texts = sequences * (p.depth + 1), columns = sequences * window_.columns;
    const Tensor out = ops.persistent("ouroboros.out", sequences + texts + columns, 1, DType::int32);
    ops.store(row_range(out, 0, sequences), judgement.accepted.counts);
    ops.store(row_range(out, sequences, texts), judgement.accepted.next);
    ops.store(row_range(out, sequences + texts, columns),
              ops.gather(judgement.next, ops.input("ouroboros.outputs", p.outputs)));
    const auto counts = ops.decide(
        row_range(out, 0, sequences),
        [&](std::span<const int> raw) {
          std::vector<int> n(raw.begin(), raw.end());
          for (std::size_t i = 0; i < n.size(); ++i)
            if (!drafting(state(s, i))) n[i] = 0;
          return n;
        },
        usual);
    const auto found = ops.fetch(row_range(out, sequences, texts + columns));
    return {counts, {found.begin(), found.begin() + texts}, {found.begin() + texts, found.end()}};
  }

  // Takes what was drafted into the states. The window moves first, as the pass's root is the last draft before it.
  void take_in(const Session& s, const LookaheadPass& p, const Drafted& drafted) {
    const auto columns = at(window_.columns);
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      State& t = state(s, i);
      if (!drafting(t)) continue;
      t.window.advance(root(s, i), std::span(drafted.outputs).subspan(i * columns, columns), t.pool);
      t.cached = p.ends[i] + drafted.counts[i];
      for (int j = 0; j < drafted.counts[i]; ++j)  // while pricing the usual number may exceed the draft length
        t.drafts.push_back(j <= p.depth ? drafted.tokens[i * at(p.depth + 1) + at(j)] : 0);
    }
  }

  // The chain, and the phrases after its last draft.
  Proposal proposal(Ops& ops, const Session& s) {
    const int gamma = length_, beta = phrase_length();
    HostRows rows(s.sequences);
    bool phrases = false;
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      const State& t = state(s, i);
      phrases = phrases || !t.phrases.empty();
      std::vector<int> tokens = t.drafts, above(at(gamma + 1));
      std::iota(above.begin(), above.end(), -1);
      for (const Ngram& phrase : t.phrases)
        for (int j = 0; j < beta; ++j) {
          above.push_back(j == 0 ? gamma : count(above) - 1);
          tokens.push_back(phrase[at(j)]);
        }
      rows.add(TokenTree(std::move(above)), tokens);
    }
    rows_ = rows.each();
    return rows.proposal(ops, s, "ouroboros.verified", phrases ? HostRows::Mask::tree : HostRows::Mask::none);
  }

  DraftNetwork draft_;
  int length_;
  OuroborosParameters p_;
  WindowShape window_;
  int guesses_;
  std::vector<int> rows_;        // of each sequence in the target's pass
  std::map<int, State> states_;  // by sequence
};

std::optional<Mistake> too_many_per_pass(const MethodSpec& spec) {
  const auto& p = spec.own<OuroborosParameters>();
  if (p.drafted_per_pass <= p.ngram) return std::nullopt;
  return Mistake{"/drafted_per_pass",
                 "must be at most " + std::to_string(p.ngram) + ", got " + json_of(p.drafted_per_pass).dump()};
}

}  // namespace

Entry ouroboros() {
  using P = OuroborosParameters;
  return {.name = "ouroboros",
          .title = "a draft network that drafts by lookahead, and phrases behind its last draft",
          .source = "zhao2024ouroboros",
          .locator = "section 3",
          .parameters = {integer("window", &P::window, 1, 64, {.meaning = "positions that are guessed side by side"}),
                         integer("ngram", &P::ngram, 3, 16, {.meaning = "tokens of an n-gram"}),
                         integer("guesses", &P::guesses, 0, 64,
                                 {.meaning = "n-grams that a step verifies", .usual = "as window"}),
                         integer("phrases", &P::phrases, 0, 64, {.meaning = "of ngram - 1 tokens"}),
                         number("drafted_per_pass", &P::drafted_per_pass, 1, 16,
                                {.meaning = "what a pass of the network yields where it is priced, not run",
                                 .decides = Decides::price})},
          .make = make<Ouroboros>,
          .examples = {R"("draft": "half", "draft_length": 4, "window": 4, "ngram": 3, "guesses": 3, "phrases": 2)",
                       R"("draft": "half", "draft_length": 3, "window": 3, "ngram": 4, "guesses": 2, "phrases": 0)"},
          .lengths = {.most = 64, .usual = 12},
          .draft_network = true,
          .consistent = too_many_per_pass};
}

}  // namespace draftline::methods
