// SPDX-License-Identifier: Apache-2.0
// Speculative decoding with a smaller network of the same vocabulary (Leviathan et al. 2023, algorithm 1; Chen et al.
// 2023): it drafts a chain of gamma tokens one by one, the target verifies them in one pass. gamma -> draft_length.
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class DraftModel : public Method {
 public:
  DraftModel(Transformer draft, int draft_length) : draft_(std::move(draft)), length_(draft_length) {}
  int depth() const override { return length_; }
  int rewrites() const override { return 1; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) {
      Stream x{draft_.embed(ops, c.fed)};
      draft_.run(ops, x, ops.pass({c.rows, s.seats}));
    }
    ops.store(newest(ops, s), ops.gather(c.fed, c.last_row));
  }

  // The network never saw its own last draft when all were accepted. So the first pass always takes two rows, [newest
  // committed, root], and rewrites the newest committed entry: static shapes instead of a decision.
  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences;
    std::vector<int> pairs, second;
    for (int q = 0; q < b; ++q) {
      pairs.insert(pairs.end(), {q, b + q});
      second.push_back(2 * q + 1);
    }
    Tensor token = ops.gather(ops.concat_rows({newest(ops, s), s.root}), ops.constant(pairs));
    std::vector<Tensor> drafts, distributions;
    for (int j = 0; j < length_; ++j) {
      Stream x{draft_.embed(ops, token)};
      const Rows rows = ops.uniform(b, j == 0 ? 2 : 1);
      draft_.run(ops, x, ops.pass({rows, s.seats, {}, j == 0 ? -1 : j}));
      const Tensor y = draft_.final_norm(ops, x);
      const Tensor logits = draft_.logits(ops, j == 0 ? ops.gather(y, ops.constant(second)) : y);
      if (s.sampling.greedy()) {
        token = ops.argmax(logits);
      } else {
        const auto drawn = ops.sample(logits, s.seats, s.sampling, j + 1);
        token = drawn.tokens;
        distributions.push_back(drawn.q);
      }
      drafts.push_back(token);
    }
    std::vector<int> by_sequence;
    for (int q = 0; q < b; ++q)
      for (int j = 0; j < length_; ++j) by_sequence.push_back(j * b + q);
    const Tensor order = ops.constant(by_sequence);
    Proposal p = propose_chain(ops, s, ops.gather(ops.concat_rows(drafts), order), length_);
    if (!distributions.empty()) p.q = ops.gather(ops.concat_rows(distributions), order);
    return p;
  }

 private:
  static Tensor newest(Ops& ops, const Session& s) { return s.slot(ops, "draft.newest", 1, 1, DType::int32); }
  Transformer draft_;
  int length_;
};

std::unique_ptr<Method> make(const Reader& in, Context& c) {
  const int length = read_draft_length(in, 4);
  const Reader draft = in.at("draft");
  TransformerShape shape = c.transformer(draft);
  if (draft.failed()) shape = c.target.shape;  // already noted
  if (shape.vocabulary != c.target.shape.vocabulary && c.target.ranks == 1)
    draft.fail("its vocabulary has " + std::to_string(shape.vocabulary) + " tokens, the target's " +
               std::to_string(c.target.shape.vocabulary));
  return std::make_unique<DraftModel>(Transformer(shape, c.weights, c.ops, c.capacity, "draft."), length);
}

}  // namespace

Entry draft_model() {
  return {"draft_model",
          "speculative decoding with a smaller network",
          "leviathan2023",
          "algorithm 1",
          Losslessness::lossless,
          "draft: a transformer of the same vocabulary; draft_length (4)",
          make,
          {R"("draft": "half", "draft_length": 1)", R"("draft": "half", "draft_length": 4)"}};
}

}  // namespace draftline::methods
