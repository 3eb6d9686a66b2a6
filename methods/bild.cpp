// SPDX-License-Identifier: Apache-2.0
// BiLD (Kim et al. 2023, section 3), lossy: the draft network drafts until its confidence is low (fallback; that draft
// is dropped) or it has drafted `draft_length` tokens. The target accepts drafts until the first with -ln p above a
// limit (rollback) and adds its own best token. Drafts are verified in order; the authors' code skips some.
#include "methods/drafting/draft_network.h"
#include "methods/drafting/early_stop.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct BildParameters : Parameters {
  Setting<double> fallback = 0.6, rollback = 5;
};

class Bild : public Method {
 public:
  explicit Bild(Context& c) : draft_(c), length_(c.drafts()), p_(c.own<BildParameters>()) {}
  bool static_plan() const override { return false; }
  int depth() const override { return length_; }
  std::optional<Answers> answers(const std::vector<int>& drafts) const override {
    if (p_.fallback == 0) return std::nullopt;
    return stopping_answers(drafts, length_, true);
  }
  int rewrites() const override { return 1; }
  void extend(Ops& ops, const Session& s, const Committed& c) override { draft_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    EarlyStop stop;
    stop.most = stop.usual = length_;
    stop.drop_unsure = true;
    stop.goes_on = [&](std::size_t, int, double probability) { return probability >= p_.fallback; };
    Session greedy = s;  // the small network is always greedy
    greedy.sampling = {};
    auto chain = draft_until(ops, greedy, stop, [&](int j, Tensor token) {
      return j == 0 ? draft_.first(ops, s) : draft_.next(ops, s, token, ops.uniform(s.sequences, 1), j);
    });
    chain.proposal.relaxed = Relaxed{Relaxed::Kind::loss_limit, p_.rollback, 0};
    return std::move(chain.proposal);
  }

 private:
  DraftNetwork draft_;
  int length_;
  BildParameters p_;
};

}  // namespace

Entry bild() {
  using P = BildParameters;
  return {.name = "bild",
          .title = "a smaller network writes, the target corrects what it finds unlikely",
          .source = "kim2023bild",
          .locator = "section 3",
          .lossless = Losslessness::lossy,
          .parameters = {share("fallback", &P::fallback, {.meaning = "the confidence below which drafting ends"}),
                         number("rollback", &P::rollback, 0, 1e6,
                                {.meaning = "-ln p of a draft above which the target replaces it"})},
          .make = make<Bild>,
          .examples = {R"("draft": "half", "draft_length": 4, "fallback": 0.3, "rollback": 1.5)"},
          .lengths = {.most = 64, .usual = 10},
          .draft_network = true};
}

}  // namespace draftline::methods
