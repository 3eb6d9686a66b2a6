// SPDX-License-Identifier: Apache-2.0
// PEARL (Liu et al. 2025): the draft network drafts its next window of gamma tokens while the target verifies this one,
// so that on a device of its own (a scenario's "drafter_device") drafting and verifying take the longer of both times,
// not their sum. gamma -> draft_length. On one device the same tokens come one after the other.
//
// Pre-verify: the target computes the root, and the drafter a window behind it, whose first token is judged in the same
// step. Post-verify: the first token of the window before is the root, its others are verified, and the next window is
// drafted behind them, as if they were right. What is drafted ahead is kept if all before it was right, and it begins
// with the token that the target adds (model/acceptance/draft_ahead). Of sampled text drafts are the drafter's best
// tokens, which the target's own draws judge.

#include <map>

#include "core/int_indexed.h"
#include "methods/drafting/batch_index.h"
#include "methods/drafting/draft_network.h"
#include "methods/drafting/host_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class Pearl : public Method {
 public:
  explicit Pearl(Context& c) : draft_(c), window_(c.drafts()) {}
  bool static_plan() const override { return false; }
  int depth() const override { return window_ - 1; }
  int drafts_of_hit() const override { return window_ - 1; }
  bool drafts_while_verifying() const override { return true; }
  int entries_ahead() const override { return window_; }
  int window() const override { return window_; }
  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) draft_.prefill(ops, s, c);
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(windows_, s.ids);
    const std::vector<int> pending = decide_pending(ops, s);
    HostRows rows(s.sequences);
    std::vector<int> newest;  // the token behind which each sequence drafts: the last pending draft, or the root
    for (std::size_t i = 0; i < pending.size(); ++i) {
      const auto drafts = pending_drafts(s.ids[i], pending[i]);
      rows.add(TokenTree::chain(pending[i]), drafts);
      newest.push_back(!drafts.empty() ? drafts.back() : root_of(s, i));
    }
    keep_windows(s, pending, draft_ahead(ops, s, newest, pending));
    ops.phase = Phase::verify;
    return rows.proposal(ops, s, "pearl", HostRows::Mask::none);
  }

 private:
  struct Window {
    std::size_t begin;        // where in the text its first token would be
    std::vector<int> tokens;  // [gamma]
  };

  // How many drafts of each sequence are pending: all of a window but its first token, if that has just been emitted.
  std::vector<int> decide_pending(Ops& ops, const Session& s) const {
    const auto emitted = [&](std::size_t i) {
      const auto w = windows_.find(s.ids[i]);
      const auto& text = s.text[i];
      return w != windows_.end() && text.size() == w->second.begin + 1 && text.back() == w->second.tokens.front();
    };
    return decide_each(
        ops, [&](std::size_t i) { return emitted(i) ? window_ - 1 : 0; }, std::vector<int>(s.ids.size(), window_ - 1));
  }

  std::vector<int> pending_drafts(int id, int count) const {
    const auto w = windows_.find(id);
    if (count == 0) return {};
    if (w == windows_.end()) return std::vector<int>(at(count));  // while pricing there is no text
    return {w->second.tokens.end() - count, w->second.tokens.end()};
  }

  // The tokens of each sequence's next window, [sequences * gamma]. The entries of pending drafts but the last are in
  // the drafter's cache already, beyond the committed ones: so it keeps lengths of its own.
  std::vector<int> draft_ahead(Ops& ops, const Session& s, const std::vector<int>& newest,
                               const std::vector<int>& pending) const {
    std::vector<int> lengths = s.lengths;
    for (std::size_t i = 0; i < lengths.size(); ++i) lengths[i] += pending[i];
    BatchSlots slots = s.slots;
    slots.lengths = ops.input("pearl.lengths", lengths);
    Tensor token = ops.input("pearl.newest", newest);
    std::vector<Tensor> drafts;
    for (int j = 0; j < window_; ++j) {
      const PassRef pass = ops.pass({.rows = ops.uniform(s.sequences, 1), .slots = slots, .tail = j, .ahead = pending});
      token = draft_.target_ids(ops, ops.argmax(draft_.logits(ops, draft_.states(ops, token, pass))));
      drafts.push_back(token);
    }
    const Tensor window = ops.persistent("pearl.window", s.sequences * window_, 1, DType::int32);
    const auto by_sequence = BatchIndex::interleave(s.sequences, window_);
    ops.store(window, ops.gather(ops.concat_rows(drafts), ops.constant(by_sequence)));
    return ops.fetch(window);
  }

  void keep_windows(const Session& s, const std::vector<int>& pending, const std::vector<int>& tokens) {
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      const auto own = std::span(tokens).subspan(i * at(window_), at(window_));
      windows_[s.ids[i]] = {s.text[i].size() + at(pending[i]), {own.begin(), own.end()}};
    }
  }

  DraftNetwork draft_;
  int window_;
  std::map<int, Window> windows_;  // by the sequence's id
};

std::optional<Mistake> short_window(const MethodSpec& spec) {
  if (spec.drafts() >= 2) return std::nullopt;
  return Mistake{"/draft_length", "a window that is drafted ahead has at least 2 drafts"};
}

}  // namespace

Entry pearl() {
  return {
      .name = "pearl",
      .title = "a smaller network drafts ahead while the target verifies",
      .source = "liu2025pearl",
      .locator = "pre-verify and post-verify; parallel_speculative_decoding of its code",
      .make = make<Pearl>,
      .examples = {R"("draft": "half", "draft_length": 2)", R"("draft": "half", "draft_length": 4)"},
      .lengths = {.most = 64,
                  .usual = 4,
                  .meaning = "of a window, at least 2; drafting and verifying overlap on a \"drafter_device\" alone"},
      .draft_network = true,
      .consistent = short_window};
}

}  // namespace draftline::methods
