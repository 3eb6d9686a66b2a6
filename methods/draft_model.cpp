// SPDX-License-Identifier: Apache-2.0
// Speculative decoding with a smaller network of the same vocabulary (Leviathan et al. 2023, algorithm 1; Chen et al.
// 2023): it drafts a chain of gamma tokens, which the target verifies in one pass. gamma -> draft_length. Sampled
// drafts may be verified together (Sun et al. 2024).
#include "methods/drafting/draft_network.h"
#include "methods/drafting/drafted_chain.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

enum class Verification { standard, block };
constexpr NamedValues<Verification, 2> kVerifications{
    {{"standard", Verification::standard}, {"block", Verification::block}}};  // vLLM's names

struct DraftModelParameters : Parameters {
  Setting<Verification> rejection_sample_method = Verification::standard;
  std::optional<int> draft_vocabulary;
};

class DraftModel : public Method {
 public:
  explicit DraftModel(Context& c)
      : draft_(c, c.own<DraftModelParameters>().draft_vocabulary),
        length_(c.drafts()),
        block_(c.own<DraftModelParameters>().rejection_sample_method == Verification::block) {}
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

std::optional<Mistake> inconsistent_draft_model(const MethodSpec& spec) {
  const auto& p = spec.own<DraftModelParameters>();
  if (!p.draft_vocabulary || p.rejection_sample_method != Verification::block) return std::nullopt;
  return Mistake{"/rejection_sample_method",
                 "of a reduced vocabulary the best tokens are drafted: none are drawn that could be judged together"};
}

}  // namespace

Entry draft_model() {
  using P = DraftModelParameters;
  return {.name = "draft_model",
          .title = "speculative decoding with a smaller network",
          .source = "leviathan2023",
          .locator = "algorithm 1",
          .parameters = {choice("rejection_sample_method", &P::rejection_sample_method, kVerifications,
                                {.meaning = "or \"block\": sampled drafts are judged together",
                                 .decides = Decides::drafts}),
                         draft_vocabulary(&P::draft_vocabulary, "all")},
          .make = make<DraftModel>,
          .examples = {R"("draft": "half", "draft_length": 1)", R"("draft": "half", "draft_length": 4)",
                       R"("draft": "half", "draft_length": 3, "rejection_sample_method": "block")",
                       R"("draft": "half", "draft_length": 3, "draft_vocabulary": 8)"},
          .lengths = {.most = 64, .usual = 4},
          .draft_network = true,
          .engines = {.vllm = "draft_model",
                      .sglang = "STANDALONE",
                      .tensorrt_llm = "DraftTarget",
                      .llama_cpp = "draft-simple"},
          .consistent = inconsistent_draft_model};
}

}  // namespace draftline::methods
