// SPDX-License-Identifier: Apache-2.0
// Domino (Huang et al. 2026, and code/dflash.py of jianuo-huang/Domino): the block drafter's root row predicts the
// first draft. From left to right the logits of each row, except the first `pure_draft_prefix_len`, get the correction
// W2 silu(W1 [state of the row, state of a GRU]), W2 of rank `emb_dim`, and the draft is chosen. The GRU starts from
// zeros and reads the embeddings of the root and of the drafts before. SGLang corrects only 2048 candidates by default,
// which costs less and is not modelled.
#include "methods/drafting/block_drafter.h"
#include "methods/drafting/drafted_chain.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct DominoParameters : BlockParameters {
  Setting<int> gru_hidden_dim = 1024, emb_dim = 256, pure_draft_prefix_len = 1;
};

DominoHead head_of(const Context& c) {
  if (c.published) return c.published->block.domino;
  const auto& p = c.own<DominoParameters>();
  return {p.gru_hidden_dim, p.emb_dim, p.pure_draft_prefix_len};
}

class Domino : public BlockDrafter {
 public:
  explicit Domino(Context& c) : Domino(c, head_of(c)) {}
  Domino(Context& c, const DominoHead& head)
      : BlockDrafter(c, "domino.", block_shape(c)),
        uncorrected_(head.uncorrected),
        input_(c.weights.matrix("domino.gru.input", c.target.shape.hidden, 3 * head.gru)),
        gates_(c.weights.matrix("domino.gru.gates", head.gru, 3 * head.gru)),
        into_(c.weights.matrix("domino.into", c.target.shape.hidden + head.gru, head.rank)),
        out_of_(c.weights.matrix("domino.out_of", head.rank, columns_of_logits())) {}

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, n = block_.block, hidden = target_.shape.hidden, vocabulary = columns_of_logits();
    const Tensor rows = states(ops, s), all = reshape(logits(ops, rows), b, n * vocabulary),
                 of_sequence = reshape(rows, b, n * hidden);
    DraftedChain chain(ops, s);
    std::optional<Tensor> state;
    std::vector<Tensor> unread{s.root};
    for (int j = 0; j < length_; ++j) {
      Tensor scores = columns(all, j * vocabulary, vocabulary);
      if (j >= uncorrected_) {
        for (const Tensor token : unread) state = next_state(ops, token, state);
        unread.clear();
        scores = ops.add(scores, correction(ops, columns(of_sequence, j * hidden, hidden), *state));
      }
      unread.push_back(chain.next(scores));
    }
    return chain.proposal(length_);
  }

 private:
  Tensor next_state(Ops& ops, Tensor token, std::optional<Tensor> state) const {
    const Tensor input = ops.linear(target_.embed(ops, token), input_);
    return ops.gru_cell(input, state ? std::optional(ops.linear(*state, gates_)) : std::nullopt, state);
  }
  Tensor correction(Ops& ops, Tensor row, Tensor state) const {
    const Tensor inner = ops.linear(ops.gather({row, state}), into_);
    return ops.linear(ops.sigmoid_mul(inner, inner), out_of_);
  }

  int uncorrected_;
  Weight input_, gates_, into_, out_of_;
};

}  // namespace

Entry domino() {
  using P = DominoParameters;
  return {.name = "domino",
          .title = "DFlash's block, each draft corrected by a GRU over those before",
          .source = "huang2026domino",
          .locator = "code/dflash.py",
          .parameters = block_parameters<P>(
              {.root_predicts = true},
              {integer("gru_hidden_dim", &P::gru_hidden_dim, 1, 1 << 16,
                       {.meaning = "columns of its GRU's state", .in_checkpoint = true}),
               integer("emb_dim", &P::emb_dim, 1, 4096, {.meaning = "rank of its correction", .in_checkpoint = true}),
               integer("pure_draft_prefix_len", &P::pure_draft_prefix_len, 0, kMostBlockDrafts,
                       {.meaning = "first drafts that are not corrected", .in_checkpoint = true})}),
          .make = make<Domino>,
          .examples = {R"("draft_length": 3, "layers": 2, "gru_hidden_dim": 10, "emb_dim": 6)",
                       R"("draft_length": 3, "block_size": 5, "layers": 1, "gru_hidden_dim": 7, "emb_dim": 5,
                          "pure_draft_prefix_len": 0)"},
          .lengths = {.most = kMostBlockDrafts, .usual = 16},
          .checkpoint = DrafterKind::domino,
          .engines = {.sglang = "DFLASH"},
          .consistent = inconsistent_block,
          .fits = unfit_block};
}

}  // namespace draftline::methods
