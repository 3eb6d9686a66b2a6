// SPDX-License-Identifier: Apache-2.0
// Jacobi decoding (Santilli et al. 2023, section 3): a block of n tokens, of which the first is committed and the
// others are guessed from the text. Each step replaces the guesses by the target's outputs, until the block has
// converged; the block shrinks by the accepted tokens. CLLM (Kou et al. 2024): the same with a target trained to
// converge sooner.
#include <algorithm>
#include <map>

#include "core/rng.h"
#include "methods/drafting/host_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class Jacobi : public Method {
 public:
  explicit Jacobi(int block) : block_(block) {}
  bool static_plan() const override { return false; }
  int depth() const override { return block_ - 1; }

  void extend(Ops& ops, const Session& s, const Committed& c) override {
    if (c.prefill) return;
    std::vector<int> index;  // a block's rows, the last one repeated
    int start = 0;
    for (const int rows : rows_) {
      for (int j = 0; j < block_; ++j) index.push_back(start + std::min(j, rows - 1));
      start += rows;
    }
    ops.store(outputs(ops, s),
              ops.gather(c.predicted ? *c.predicted : ops.argmax(c.logits), ops.input("jacobi.last", index)));
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(blocks_, s.ids);
    const auto b = static_cast<std::size_t>(s.sequences), n = static_cast<std::size_t>(block_);
    std::vector<int> found;
    const bool known = std::any_of(s.ids.begin(), s.ids.end(), [&](int id) { return blocks_.contains(id); });
    if (known) found = ops.fetch(outputs(ops, s));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < b; ++i) {
      Block& block = blocks_[s.ids[i]];
      const int grown = s.lengths[i] - block.length;
      if (block.rows == 0 || grown <= 0 || grown >= block.rows) {
        block.rows = block_;
        block.guess = guess(s, i);
      } else {  // the tokens after the new root in the last outputs
        block.guess.assign(found.begin() + static_cast<std::ptrdiff_t>(i * n) + grown,
                           found.begin() + static_cast<std::ptrdiff_t>(i * n) + block.rows - 1);
        block.rows -= grown;
      }
      block.length = s.lengths[i];
      const int guesses = block.rows - 1;
      rows.add(TokenTree::chain(guesses), std::span(block.guess).first(static_cast<std::size_t>(guesses)));
    }
    rows_ = rows.each();
    return rows.proposal(ops, s, "jacobi", HostRows::Mask::none);
  }

 private:
  struct Block {
    int length = 0, rows = 0;  // tokens of the text; rows of the last step, 0 if there was none
    std::vector<int> guess;
  };
  std::vector<int> guess(const Session& s, std::size_t i) const {
    std::vector<int> tokens(static_cast<std::size_t>(block_ - 1));
    const auto& text = s.text[i];
    for (std::size_t j = 0; j < tokens.size() && !text.empty(); ++j) {
      const double u = uniform_at(0, 0, text.size(), j);
      tokens[j] = text[static_cast<std::size_t>(u * static_cast<double>(text.size()))];
    }
    return tokens;
  }
  Tensor outputs(Ops& ops, const Session& s) const { return s.state(ops, "jacobi.outputs", block_, 1, DType::int32); }
  int block_;
  std::vector<int> rows_;        // of each sequence in the current step
  std::map<int, Block> blocks_;  // by sequence
};

struct JacobiParameters : Parameters {
  Setting<int> block = 16;
};

// What both have.
Entry jacobi_entry() {
  using P = JacobiParameters;
  Entry e;
  e.locator = "section 3";
  e.parameters = ParameterList::of<P>({integer("block", &P::block, 2, 256, {.meaning = "tokens"})});
  e.make = made_of<P>([](const P& p, Context&) { return std::make_unique<Jacobi>(p.block); });
  return e;
}

}  // namespace

Entry jacobi() {
  Entry e = jacobi_entry();
  e.name = "jacobi";
  e.title = "a block of guesses, replaced by the target's outputs until they stand still";
  e.source = "santilli2023";
  e.lossless = Losslessness::lossless;
  e.examples = {R"("block": 4)"};
  return e;
}

Entry cllm() {
  Entry e = jacobi_entry();
  e.name = "cllm";
  e.title = "Jacobi decoding with a target trained to settle sooner";
  e.source = "kou2024";
  e.lossless = Losslessness::own_target;
  e.examples = {R"("block": 3)"};
  return e;
}

}  // namespace draftline::methods
