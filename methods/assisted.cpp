// SPDX-License-Identifier: Apache-2.0
// Assisted generation of Hugging Face transformers: a draft network whose draft length follows a schedule (constant;
// heuristic: two more after a full match, otherwise one fewer, continued by the next text; transient: the same,
// restarted with each text). A chain also ends when the network's confidence is below a threshold, which may be fitted
// to the verified drafts of the text (fitted_threshold).
#include <algorithm>
#include <map>

#include "core/int_indexed.h"
#include "methods/drafting/draft_network.h"
#include "methods/drafting/early_stop.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr int kMost = 64;

enum class Schedule { constant, heuristic, heuristic_transient };

struct AssistedParameters : Parameters {
  Setting<Schedule> schedule = Schedule::constant;
  std::optional<double> confidence;
  Setting<bool> fit_confidence = false;
};

class Assisted : public Method {
 public:
  explicit Assisted(Context& c)
      : draft_(c),
        p_(c.own<AssistedParameters>()),
        length_(c.spec.draft_length().value_or(constant() ? 20 : 5)),
        next_(length_),
        threshold_(p_.confidence.value_or(constant() ? 0.4 : 0)) {}
  int usual_depth() const override { return length_; }
  bool static_plan() const override { return false; }
  int depth() const override { return constant() ? length_ : kMost; }
  int rewrites() const override { return 1; }
  std::optional<Answers> answers(const std::vector<int>& drafts) const override {
    if (constant() && threshold_ == 0 && !p_.fit_confidence) return std::nullopt;
    return stopping_answers(drafts, depth(), false);
  }
  void extend(Ops& ops, const Session& s, const Committed& c) override { draft_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    for (const auto& [id, h] : history_)  // the last sequence that has left, as of its last step
      if (p_.schedule == Schedule::heuristic && std::find(s.ids.begin(), s.ids.end(), id) == s.ids.end())
        next_ = h.limit;
    keep_present(history_, s.ids);
    std::vector<int> limits;
    for (std::size_t i = 0; i < s.ids.size(); ++i) limits.push_back(limit(s.ids[i], s.lengths[i]));
    EarlyStop stop;
    stop.most = depth();
    stop.usual = *std::max_element(limits.begin(), limits.end());
    for (const int id : s.ids) history_[id].sureness.clear();
    stop.goes_on = [&](std::size_t i, int drafted, double probability) {
      History& h = history_[s.ids[i]];
      h.sureness.push_back(probability);
      return drafted < limits[i] && probability >= h.threshold;
    };
    auto chain = draft_until(ops, s, stop, [&](int j, Tensor token) {
      return j == 0 ? draft_.first(ops, s) : draft_.next(ops, s, token, ops.uniform(s.sequences, 1), j);
    });
    for (std::size_t i = 0; i < s.ids.size(); ++i) history_[s.ids[i]].last = {s.lengths[i], chain.lengths[i]};
    return std::move(chain.proposal);
  }

 private:
  struct History {
    int limit = 0;
    double threshold = 0;
    LastChain last = {};
    std::vector<double> sureness = {};  // probabilities of the last chain's drafts
    std::vector<JudgedDraft> judged = {};
  };
  bool constant() const { return p_.schedule == Schedule::constant; }
  // The draft length by the schedule.
  int limit(int id, int length) {
    History& h = history_[id];
    const std::optional<int> accepted = h.last.accepted(length);
    if (!accepted) {
      h = {.limit = next_, .threshold = threshold_};
      return h.limit;
    }
    if (!constant()) h.limit = *accepted == h.last.drafted ? std::min(kMost, h.limit + 2) : std::max(1, h.limit - 1);
    if (p_.fit_confidence) {
      for (int j = 0; j < std::min(count(h.sureness), *accepted + 1); ++j)
        h.judged.push_back({h.sureness[at(j)], j < *accepted});
      h.threshold = fitted_threshold(h.judged).value_or(h.threshold);
    }
    return h.limit;
  }
  DraftNetwork draft_;
  AssistedParameters p_;
  int length_, next_;  // next_: draft length with which a new text begins
  double threshold_;
  std::map<int, History> history_;  // by sequence
};

constexpr NamedValues<Schedule, 3> kSchedules{{{"constant", Schedule::constant},
                                               {"heuristic", Schedule::heuristic},
                                               {"heuristic_transient", Schedule::heuristic_transient}}};

}  // namespace

Entry assisted() {
  using P = AssistedParameters;
  return {.name = "assisted",
          .title = "a smaller network, its draft length by schedule and confidence",
          .source = "hf-assisted",
          .locator = "assisted generation",
          .parameters = {choice("schedule", &P::schedule, kSchedules,
                                {.meaning = "of the draft length; also \"heuristic\" or \"heuristic_transient\""}),
                         share("confidence", &P::confidence,
                               {.meaning = "below which a chain ends", .usual = "0.4; heuristic: 0"}),
                         flag("fit_confidence", &P::fit_confidence,
                              {.meaning = "whether that is fitted to the judged drafts"})},
          .make = make<Assisted>,
          .examples = {R"("draft": "half", "draft_length": 5, "confidence": 0.3)",
                       R"("draft": "half", "draft_length": 2, "schedule": "heuristic_transient")",
                       R"("draft": "half", "draft_length": 5, "confidence": 0.3, "fit_confidence": true)"},
          .lengths = {.most = kMost, .meaning = "20; heuristic: 5 to start with"},
          .draft_network = true};
}

}  // namespace draftline::methods
