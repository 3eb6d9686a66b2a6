// SPDX-License-Identifier: Apache-2.0
// TriForce (Sun et al. 2024, section 4): a small network drafts for the target over a compressed cache, token by token,
// and what that agrees to is verified by the target over the whole text. In each round of the middle the small network
// adds one token behind those that are sure, and one pass of all rows makes one or two more sure; the host reads how
// many. gamma -> draft_length. The cache is filled as SnapKV's, by the prompt's last row and a mean over 8 neighbours;
// the authors take whole chunks of 8 and always the first. The small network sees a window of its text, of which the
// authors keep the first entries too. Its best tokens and those of the middle are drafted, whatever the temperature.
#include <algorithm>

#include "core/int_indexed.h"
#include "methods/drafting/draft_network.h"
#include "methods/drafting/ring_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

constexpr Compression::Chosen kChosen{.window = 1, .pool = 8};

struct TriForceParameters : Parameters {
  Setting<int> budget = kUsualBudget, draft_budget = 512;
  Setting<double> middle_rate = 0.5;
};

class TriForce : public Method {
 public:
  explicit TriForce(Context& c)
      : small_(c, {}, c.own<TriForceParameters>().draft_budget),
        selection_{make_rings(c, {.budget = c.own<TriForceParameters>().budget}), kChosen.window, kChosen.pool},
        middle_(c.target.over(selection_.rings)),
        length_(c.drafts()),
        middle_rate_(c.own<TriForceParameters>().middle_rate) {}
  bool static_plan() const override { return false; }
  int depth() const override { return length_; }
  const PromptSelection* selection() const override { return &selection_; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    small_.prefill(ops, s, c);  // after a step too: a chain's rows lie in their order, and what is rejected lies behind
    if (c.rows.prompts) return;
    for (const RingOf& r : selection_.rings) ops.keep_entries(r.whole, r.ring, c.last, c.rows, s.slots);
  }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, rows = length_ + 1;
    const Rows each = ops.uniform(b, rows);
    const Tensor parents = ops.constant(chain_parents({rows}), 1, b),
                 tokens = s.state(ops, "triforce.tokens", rows, 1, DType::int32),
                 newest = s.state(ops, "triforce.newest", 1, 1, DType::int32),  // row of the last token that is sure
        sure = s.state(ops, "triforce.sure", 1, 1, DType::int32);
    std::vector<int> first, roots, shifted, behind;
    for (int q = 0; q < b; ++q) {
      first.push_back(q * rows);
      for (int i = 0; i < rows; ++i) {
        roots.push_back(q);
        shifted.push_back(i == 0 ? q : b + q * rows + i - 1);  // of [roots; the tokens after each row]
        behind.push_back(q * rows + std::min(i + 1, rows - 1));
      }
    }
    ops.store(tokens, ops.gather(s.root, ops.constant(roots)));
    ops.store(newest, ops.constant(first));
    for (int round = 1; round <= length_; ++round) {
      const Tensor states = small_.states(ops, tokens, ops.pass({each, s.slots})),
                   draft = ops.argmax(small_.logits(ops, ops.gather(states, newest)));
      const Tensor drafted =
          ops.gather(ops.concat_rows({tokens, draft, ops.constant({0})}), ops.follow_path(newest, each, each, 1).y);
      Stream x{middle_.embed(ops, drafted)};
      middle_.run(ops, x, ops.pass({each, s.slots}));
      const Tensor predicted = ops.argmax(middle_.logits(ops, middle_.final_norm(ops, x)));
      const VerdictTensors v = ops.verify_greedy(predicted, {drafted, parents, each, length_});
      ops.store(tokens, ops.gather(ops.concat_rows({s.root, v.next}), ops.constant(shifted)));
      ops.store(newest, ops.gather(ops.constant(behind), v.last));
      ops.store(sure, v.counts);
      const auto counts = ops.decide(
          sure, [](std::span<const int> raw) { return std::vector<int>(raw.begin(), raw.end()); },
          std::vector<int>(at(b), usually_sure(round)));
      if (std::all_of(counts.begin(), counts.end(), [&](int n) { return n >= length_; })) break;
    }
    return {.rows = each, .tokens = tokens, .parents = parents, .depth = length_};
  }

 private:
  int usually_sure(int rounds) const { return static_cast<int>(rounds * (1 + middle_rate_)); }
  DraftNetwork small_;
  PromptSelection selection_;
  Transformer middle_;
  int length_;
  double middle_rate_;
};

}  // namespace

Entry triforce() {
  using P = TriForceParameters;
  return {
      .name = "triforce",
      .title = "a small network drafts for the target over a compressed cache, and that for the target over all",
      .source = "sun2024triforce",
      .locator = "section 4",
      .parameters = {budget(&P::budget, "KV entries of each sequence in the middle"),
                     integer("draft_budget", &P::draft_budget, 1, 1 << 24,
                             {.meaning = "those that the small network sees"}),
                     share("middle_rate", &P::middle_rate,
                           {.meaning = "share of its drafts that the middle takes, for prices; the default is a guess",
                            .decides = Decides::price})},
      .make = make<TriForce>,
      .examples = {R"("draft": "half", "draft_length": 3, "budget": 6, "draft_budget": 5)",
                   R"("draft": "half", "draft_length": 4, "budget": 12)"},
      .lengths = {.most = 64, .usual = 6},
      .draft_network = true,
      .consistent =
          [](const MethodSpec& spec) { return small_budget(spec.own<P>().budget, spec.drafts(), kChosen.window); },
      .fits = caches_latents};
}

}  // namespace draftline::methods
