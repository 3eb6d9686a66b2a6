// SPDX-License-Identifier: Apache-2.0
// SPACE (Yi et al. 2024): in the target's pass the root and each draft are followed by a group of k mask tokens; the
// group of the last accepted row predicts the next drafts. A mask row attends to the text up to its row and to its own
// group. The target is tuned for this. Sampled drafts are drawn from the masks' distributions, and after a rejection
// the token is drawn from the residual (the paper's algorithm 1 draws from the target's distribution, which is not
// lossless). The drafts of the first step, as a prompt has no masks, repeat the prompt's prediction. k -> draft_length.
#include <algorithm>

#include "core/int_indexed.h"
#include "methods/drafting/batch_index.h"
#include "methods/drafting/partial_target.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class Space : public Method {
 public:
  explicit Space(Context& c)
      : target_(c.target),
        k_(c.drafts()),
        mask_(c.weights.table("space.mask", 1, c.target.shape.hidden)),
        tree_(rows_of(k_)) {}
  int depth() const override { return k_; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    const bool greedy = s.sampling.greedy();
    const Tensor from = greedy ? (c.prefill ? c.bonus : *c.predicted) : c.logits;
    std::vector<int> repeated;  // the first drafts are arbitrary, as a prompt has no masks
    for (int q = 0; q < s.sequences; ++q) repeated.insert(repeated.end(), at(k_), q);
    const Tensor next = c.prefill ? ops.gather(from, ops.constant(repeated)) : ops.gather(from, c.last_row, 1, k_);
    ops.store(greedy ? drafts(ops, s) : logits(ops, s), next);
  }

  Proposal propose(Ops& ops, Session& s) override {
    const int b = s.sequences, n = tree_.rows(), group = k_ + 1;
    std::vector<Tensor> found, distributions;
    if (s.sampling.greedy()) {
      found.push_back(drafts(ops, s));
    } else {
      for (int j = 0; j < k_; ++j) {
        const Tensor rows = ops.constant(BatchIndex::level(b, k_, j));
        const auto drawn = ops.sample(ops.gather(logits(ops, s), rows), s.slots, s.sampling, j + 1);
        found.push_back(drawn.tokens);
        distributions.push_back(drawn.q);
      }
    }
    const auto place = [&](int q, int j) { return s.sampling.greedy() ? q * k_ + j : j * b + q; };
    std::vector<int> real, rows, embedded, q_rows;
    for (int q = 0; q < b; ++q)
      for (int i = 0; i <= k_; ++i) {
        real.push_back(i == 0 ? q : b + place(q, i - 1));
        for (int j = 0; j < group; ++j) {
          rows.push_back(q * group + i);
          embedded.push_back(j == 0 ? q * group + i : b * group);
          if (i + j > 0) q_rows.push_back(place(q, std::max(i - 1, 0)));
        }
      }
    found.insert(found.begin(), s.root);
    const Tensor tokens = ops.gather(ops.concat_rows(found), ops.constant(real));
    Proposal p{.rows = ops.uniform(b, n),
               .tokens = ops.gather(tokens, ops.constant(rows)),
               .parents = ops.constant(tree_.parents(), 1, b),
               .tree_mask = ops.constant(tree_.tree_mask(), tree_.words(), b),
               .depth = k_};
    p.hidden = embed_with_masks(ops, target_, mask_, tokens, embedded);
    if (!distributions.empty()) p.q = ops.gather(ops.concat_rows(distributions), ops.constant(q_rows));
    return p;
  }

 private:
  // The rows of a sequence: x M^k c_1 M^k ... c_k M^k, with the root x, drafts c_j and mask tokens M.
  static TokenTree rows_of(int k) {
    std::vector<int> above;
    std::vector<bool> node;
    for (int i = 0; i <= k; ++i)
      for (int j = 0; j <= k; ++j) {
        const int row = i * (k + 1) + j;
        above.push_back(j > 0 ? row - 1 : i > 0 ? row - k - 1 : -1);
        node.push_back(j == 0);
      }
    return TokenTree(std::move(above), node);
  }
  Tensor drafts(Ops& ops, const Session& s) const { return s.state(ops, "space.drafts", k_, 1, DType::int32); }
  Tensor logits(Ops& ops, const Session& s) const {
    return s.state(ops, "space.logits", k_, target_.vocabulary(), ops.activations());
  }
  const Transformer& target_;
  int k_;
  Weight mask_;
  TokenTree tree_;
};

// The root, the drafts and a group after the last one.
std::optional<Mistake> reaches_too_far(const MethodSpec& spec, const TransformerShape& target) {
  return beyond_positions(spec, target, 2 * spec.drafts() + 1);
}

}  // namespace

Entry space() {
  return {.name = "space",
          .title = "groups of mask tokens in the target's own pass",
          .source = "yi2024",
          .locator = "section 3",
          .lossless = Losslessness::own_target,
          .make = make<Space>,
          .examples = {R"("draft_length": 1)", R"("draft_length": 3)"},
          .lengths = {.most = 31,
                      .usual = 5,
                      .fit = reaches_too_far,
                      .meaning = "masks per group; (draft_length + 1)^2 rows per step"}};
}

}  // namespace draftline::methods
