// SPDX-License-Identifier: Apache-2.0
// SSD, speculative speculative decoding (Kumar, Dao and May 2026; with the authors' choices, Saguaro): while the target
// verifies K drafts, the draft network prepares drafts for likely outcomes, so that on a device of its own (a
// scenario's "drafter_device") drafting and verifying take the longer of both times, not their sum. K -> draft_length,
// F -> fan_out.
//
// An outcome is the number of accepted drafts and the bonus token. One pass over the root and the drafts gives the
// draft network's distribution behind each of these K + 1 places. The F best tokens of a place are its guesses of the
// bonus token; where a draft follows, it is the best token itself, and the next F are guessed. K passes then continue
// all (K + 1) F guesses by K drafts each. If an outcome was guessed (a hit), its drafts are verified next. If not, the
// root is verified alone, where the authors' code verifies random drafts or drafts anew. Of sampled text drafts are the
// network's best tokens, which the target's own draws judge.

#include <map>
#include <string>

#include "core/int_indexed.h"
#include "methods/drafting/draft_network.h"
#include "methods/drafting/host_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr int kMostEntries = 2000;  // of the draft network's cache that a step of a sequence may write

struct SsdParameters : Parameters {
  Setting<int> fan_out = 3;
};

// What the draft network computes in a step of a sequence: the places, a chain of the root and the drafts, and then
// level by level a chain behind each guess.
class OutcomeTree {
 public:
  OutcomeTree(int drafts, int fan_out)
      : places_(drafts + 1), guesses_(places_ * fan_out), tree_(parents(drafts, fan_out)), mask_(tree_.tree_mask()) {}
  int places() const { return places_; }
  int guesses() const { return guesses_; }
  int rows() const { return tree_.rows(); }
  int first(int level) const { return places_ + level * guesses_; }  // row of a level
  Tensor tree_mask(Ops& ops, int sequences, int level) const {
    const auto from = mask_.begin() + first(level) * tree_.words();
    return ops.constant({from, from + guesses_ * tree_.words()}, tree_.words(), sequences);
  }

 private:
  static std::vector<int> parents(int drafts, int fan_out) {
    std::vector<int> above;
    for (int place = 0; place <= drafts; ++place) above.push_back(place - 1);
    for (int level = 0; level < drafts; ++level)
      for (int g = 0; g < (drafts + 1) * fan_out; ++g)
        above.push_back(level == 0 ? g / fan_out : count(above) - (drafts + 1) * fan_out);
    return above;
  }

  int places_, guesses_;
  TokenTree tree_;
  std::vector<int> mask_;
};

class Ssd : public Method {
 public:
  explicit Ssd(Context& c)
      : draft_(c), length_(c.drafts()), fan_out_(c.own<SsdParameters>().fan_out), tree_(length_, fan_out_) {}
  bool static_plan() const override { return false; }
  int depth() const override { return length_; }
  int drafts_of_hit() const override { return length_; }
  bool drafts_while_verifying() const override { return true; }
  int entries_ahead() const override { return tree_.rows() - tree_.guesses(); }
  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) draft_.prefill(ops, s, c);
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(prepared_, s.ids);
    std::vector<std::vector<int>> drafts;
    for (std::size_t i = 0; i < s.ids.size(); ++i) drafts.push_back(prepared_for(s, i));
    const auto counts = decide_each(
        ops, [&](std::size_t i) { return count(drafts[i]); }, std::vector<int>(drafts.size(), length_));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
      drafts[i].resize(at(counts[i]));  // while pricing none is prepared
      rows.add(TokenTree::chain(counts[i]), drafts[i]);
    }
    prepare(ops, s, drafts);
    ops.phase = Phase::verify;
    return rows.proposal(ops, s, "ssd", HostRows::Mask::none);
  }

 private:
  struct Prepared {
    int text, verified;       // the text's length, and the drafts that were verified behind it
    std::vector<int> tokens;  // [1 + K, guesses]: each guess, and the drafts behind it
  };

  // The drafts of the outcome of a sequence's last step; none: it was not guessed.
  std::vector<int> prepared_for(const Session& s, std::size_t i) const {
    const auto known = prepared_.find(s.ids[i]);
    if (known == prepared_.end()) return {};
    const Prepared& p = known->second;
    const int accepted = count(s.text[i]) - p.text - 1;
    if (accepted < 0 || accepted > p.verified) return {};
    const auto guesses = p.tokens.begin() + accepted * fan_out_;
    const auto guess = std::find(guesses, guesses + fan_out_, s.text[i].back());
    if (guess == guesses + fan_out_) return {};
    std::vector<int> drafts;
    for (int j = 1; j <= length_; ++j) drafts.push_back(guess[j * tree_.guesses()]);
    return drafts;
  }

  // `drafts`: what is verified of each sequence in this step.
  void prepare(Ops& ops, const Session& s, const std::vector<std::vector<int>>& drafts) {
    const Rows rows = ops.uniform(s.sequences, tree_.guesses());
    std::vector<Tensor> levels{guess(ops, s, drafts)};
    for (int j = 0; j < length_; ++j)
      levels.push_back(
          ops.argmax(draft_.next(ops, s, levels.back(), rows, tree_.first(j), tree_.tree_mask(ops, s.sequences, j))));
    const Tensor all = ops.persistent("ssd.prepared", count(levels) * rows.total, 1, DType::int32);
    ops.store(all, ops.concat_rows(levels));
    keep(s, drafts, ops.fetch(all));
  }

  // The guesses of all sequences, [sequences * guesses]. Places behind a sequence's last draft are computed too, so
  // that all sequences have the same rows.
  Tensor guess(Ops& ops, const Session& s, const std::vector<std::vector<int>>& drafts) const {
    const int ranks = fan_out_ + 1;
    std::vector<int> tokens, best;  // of each place; of each guess, its index among the best tokens of all places
    for (std::size_t i = 0; i < drafts.size(); ++i)
      for (int place = 0; place < tree_.places(); ++place) {
        const int first = count(tokens) * ranks + (place < count(drafts[i]) ? 1 : 0);
        for (int f = 0; f < fan_out_; ++f) best.push_back(first + f);
        tokens.push_back(place == 0 ? root_of(s, i) : place <= count(drafts[i]) ? drafts[i][at(place - 1)] : 0);
      }
    const Rows rows = ops.uniform(s.sequences, tree_.places());
    const Tensor logits = draft_.next(ops, s, ops.input("ssd.places", tokens), rows, 0);
    return ops.gather(reshape(ops.top_k(logits, ranks).ids, rows.total * ranks, 1), ops.input("ssd.best", best));
  }

  // `tokens`: [1 + K, sequences, guesses].
  void keep(const Session& s, const std::vector<std::vector<int>>& drafts, const std::vector<int>& tokens) {
    const auto n = at(tree_.guesses());
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      Prepared own{count(s.text[i]), count(drafts[i]), {}};
      for (std::size_t from = i * n; from < tokens.size(); from += s.ids.size() * n)
        own.tokens.insert(own.tokens.end(), tokens.begin() + from, tokens.begin() + from + n);
      prepared_[s.ids[i]] = std::move(own);
    }
  }

  DraftNetwork draft_;
  int length_, fan_out_;
  OutcomeTree tree_;
  std::map<int, Prepared> prepared_;  // by the sequence's id
};

int most_guesses(const Target& t) { return ranks_of(t) - 1; }  // of a place, besides the draft that follows

std::optional<Mistake> too_many_outcomes(const MethodSpec& spec) {
  const int entries = OutcomeTree(spec.drafts(), spec.own<SsdParameters>().fan_out).rows();
  if (entries <= kMostEntries) return std::nullopt;
  return Mistake{"/fan_out", "the draft network would compute " + std::to_string(entries) +
                                 " rows of a sequence in each step; the most are " + std::to_string(kMostEntries)};
}

}  // namespace

Entry ssd() {
  using P = SsdParameters;
  return {.name = "ssd",
          .also = {"saguaro"},
          .title = "a smaller network prepares drafts for likely outcomes while the target verifies",
          .source = "kumar2026ssd",
          .locator = "config.py and draft_runner.py of its code",
          .parameters = {integer("fan_out", &P::fan_out, 1, 16,
                                 {.meaning = "guesses of the bonus token behind each verified row",
                                  .also = "async_fan_out",
                                  .decides = Decides::drafts,
                                  .most = most_guesses})},
          .make = make<Ssd>,
          .examples = {R"("draft": "half", "draft_length": 2)", R"("draft": "half", "draft_length": 3, "fan_out": 1)"},
          .lengths = {.most = 16,
                      .usual = 6,
                      .meaning = "of an outcome; drafting and verifying overlap on a \"drafter_device\" alone"},
          .draft_network = true,
          .consistent = too_many_outcomes};
}

}  // namespace draftline::methods
