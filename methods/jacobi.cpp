// SPDX-License-Identifier: Apache-2.0
// Jacobi decoding (Santilli et al. 2023, section 3): a block of n tokens, of which the first is committed and the
// others are guessed from the text. Each step replaces the guesses by the target's outputs, until the block has
// converged; the block shrinks by the accepted tokens. CLLM (Kou et al. 2024): the same with a target trained to
// converge sooner.
#include <algorithm>
#include <map>

#include "core/int_indexed.h"
#include "core/rng.h"
#include "methods/drafting/host_rows.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct JacobiParameters : Parameters {
  Setting<int> block = 16;
};

class Jacobi : public Method {
 public:
  explicit Jacobi(Context& c) : block_(c.own<JacobiParameters>().block) {}
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
    ops.store(outputs(ops, s), ops.gather(predicted(ops, c), ops.input("jacobi.last", index)));
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(blocks_, s.ids);
    std::vector<int> found;
    const bool known = std::any_of(s.ids.begin(), s.ids.end(), [&](int id) { return blocks_.contains(id); });
    if (known) found = ops.fetch(outputs(ops, s));
    HostRows rows(s.sequences);
    for (std::size_t i = 0; i < s.ids.size(); ++i) {
      Block& block = blocks_[s.ids[i]];
      const int grown = s.lengths[i] - block.length;
      if (block.rows == 0 || grown <= 0 || grown >= block.rows) {
        block.rows = block_;
        block.guess = guess(s, i);
      } else {  // the tokens after the new root in the last outputs
        const auto own = std::span(found).subspan(i * at(block_)).subspan(at(grown), at(block.rows - 1 - grown));
        block.guess.assign(own.begin(), own.end());
        block.rows -= grown;
      }
      block.length = s.lengths[i];
      rows.add(TokenTree::chain(block.rows - 1), std::span(block.guess).first(at(block.rows - 1)));
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
    std::vector<int> tokens(at(block_ - 1));
    const auto& text = s.text[i];
    for (std::size_t j = 0; j < tokens.size() && !text.empty(); ++j) {
      const double u = uniform_at(0, 0, text.size(), j);
      tokens[j] = text[at(static_cast<int>(u * count(text)))];
    }
    return tokens;
  }
  Tensor outputs(Ops& ops, const Session& s) const { return s.state(ops, "jacobi.outputs", block_, 1, DType::int32); }
  int block_;
  std::vector<int> rows_;        // of each sequence in the current step
  std::map<int, Block> blocks_;  // by sequence
};

Entry jacobi_entry(Entry e) {
  e.locator = "section 3";
  e.parameters = {integer("block", &JacobiParameters::block, 2, 256, {.meaning = "tokens"})};
  e.make = make<Jacobi>;
  return e;
}

}  // namespace

Entry jacobi() {
  return jacobi_entry({.name = "jacobi",
                       .title = "a block of guesses, replaced by the target's outputs until they stand still",
                       .source = "santilli2023",
                       .examples = {R"("block": 4)"}});
}

Entry cllm() {
  return jacobi_entry({.name = "cllm",
                       .title = "Jacobi decoding with a target trained to settle sooner",
                       .source = "kou2024",
                       .lossless = Losslessness::own_target,
                       .examples = {R"("block": 3)"}});
}

}  // namespace draftline::methods
