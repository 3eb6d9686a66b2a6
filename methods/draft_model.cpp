// SPDX-License-Identifier: Apache-2.0
// Speculative decoding with a smaller network of the same vocabulary (Leviathan et al. 2023, algorithm 1; Chen et al.
// 2023): it drafts a chain of gamma tokens, which the target verifies in one pass. gamma -> draft_length. Sampled
// drafts may be verified together (Sun et al. 2024).
#include <array>

#include "methods/drafting/draft_network.h"
#include "methods/drafting/drafted_chain.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class DraftModel : public Method {
 public:
  DraftModel(DraftNetwork draft, int draft_length, bool block)
      : draft_(std::move(draft)), length_(draft_length), block_(block) {}
  int depth() const override { return length_; }
  int rewrites() const override { return 1; }
  void extend(Ops& ops, const Session& s, const Committed& c) override { draft_.extend(ops, s, c); }

  Proposal propose(Ops& ops, Session& s) override {
    Tensor token;
    DraftedChain chain(ops, s);
    for (int j = 0; j < length_; ++j) {
      const Tensor logits = j == 0 ? draft_.first(ops, s) : draft_.next(ops, s, token, ops.uniform(s.sequences, 1), j);
      token = draft_.reduced() ? chain.add(draft_.target_ids(ops, ops.argmax(logits))) : chain.next(logits);
    }
    Proposal p = chain.proposal(length_);
    if (chain.drawn() && block_) p.rule = AcceptRule::block;
    return p;
  }

 private:
  DraftNetwork draft_;
  int length_;
  bool block_;  // drafts are verified together
};

std::unique_ptr<Method> make_draft_model(const MethodSpec& spec, Context& c) {
  constexpr std::array<std::string_view, 2> kMethods{"standard", "block"};  // vLLM's names
  const int length = spec.draft_length().value_or(4);
  const auto verification = spec.in().find("rejection_sample_method");
  const bool block = verification && verification->word(kMethods) == "block";
  const auto vocabulary = read_draft_vocabulary(spec, c.target);
  if (vocabulary && block)
    verification->fail(
        "of a reduced vocabulary the best tokens are drafted: none are drawn that could be judged together");
  return std::make_unique<DraftModel>(DraftNetwork(spec, c, vocabulary), length, block);
}

}  // namespace

Entry draft_model() {
  return {.name = "draft_model",
          .title = "speculative decoding with a smaller network",
          .source = "leviathan2023",
          .locator = "algorithm 1",
          .lossless = Losslessness::lossless,
          .parameters =
              "draft: a transformer of the same vocabulary; draft_length (4); rejection_sample_method: "
              "\"standard\", or \"block\": sampled drafts are judged together; draft_vocabulary: the most frequent "
              "tokens, for a smaller LM head (all)",
          .make = make_draft_model,
          .examples = {R"("draft": "half", "draft_length": 1)", R"("draft": "half", "draft_length": 4)",
                       R"("draft": "half", "draft_length": 3, "rejection_sample_method": "block")",
                       R"("draft": "half", "draft_length": 3, "draft_vocabulary": 8)"},
          .lengths = {.most = 64},
          .draft_network = true,
          .of_drafts = {"rejection_sample_method"}};
}

}  // namespace draftline::methods
