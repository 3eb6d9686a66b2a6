// SPDX-License-Identifier: Apache-2.0
// Which drafts the target accepts, and the token that follows: the accept rules (each is named where it is declared).
// Leviathan et al. 2023 and Chen et al. 2023 (S), Miao et al. 2023 and Jeon et al. 2024 (R), Cai et al. 2024 (T).
// One walk down the tree serves all; a rule is the decision at one node. Chance comes from a Coin, so that tests can put
// an enumerator of all outcomes in its place and prove the very code that runs.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "decoder/sampling.h"

namespace draftline {

// A verification tree of one sequence, as ops hold it: row 0 is the root; a parent is a row above, -1 for the root, -2 for
// rows that are no nodes. Siblings stand in the order they were drawn in. Rows of equal paths must have equal logits.
struct TreeView {
  std::span<const int> tokens, parents;
  int rows() const { return static_cast<int>(parents.size()); }
};

struct MatrixView {  // rows of weights or logits, `stride` floats apart
  const float* data = nullptr;
  int rows = 0, cols = 0;
  std::ptrdiff_t stride = 0;
  std::span<const float> operator[](int row) const;
};

// ---- chance
class Coin {
 public:
  virtual ~Coin() = default;
  virtual void at_depth(int) {}  // decisions that follow are about nodes of that depth; children of the root: 1
  virtual bool accept(double probability) = 0;
  virtual int draw(std::span<const double> weights) = 0;
};

// A fresh uniform in [0, 1) for each (depth, trial): a decision does not depend on the batch or on what came before it.
using Uniforms = std::function<double(int depth, int trial)>;

class UniformCoin final : public Coin {
 public:
  explicit UniformCoin(Uniforms u) : u_(std::move(u)) {}
  void at_depth(int depth) override { depth_ = depth, trial_ = 0; }
  bool accept(double probability) override { return u_(depth_, trial_++) < probability; }
  int draw(std::span<const double> weights) override { return draftline::draw(weights, u_(depth_, trial_++)); }

 private:
  Uniforms u_;
  int depth_ = 0, trial_ = 0;
};

// ---- the decision at one node
struct Candidate {
  int token;
  std::span<const float> q;  // weights of the distribution it was drawn from; empty: a point mass
};
struct Node {
  int row;
  std::span<double> p;  // the target's warped distribution; the rule may overwrite it
  std::span<const Candidate> children;
};
struct Decision {
  int child = -1;  // accepted candidate; -1: none, the walk ends
  int token = -1;  // its token, or the bonus
};
using Decide = std::function<Decision(const Node&, Coin&)>;

Decide decision_of(AcceptRule);

// ---- whole trees
struct Verdict {
  std::vector<int> path;  // rows, root first: as many as tokens are emitted, the bonus included
  int bonus = -1;
};

// G: the deepest row whose whole path is what the target would have chosen; equally deep: the first.
Verdict verify_greedy(const TreeView&, std::span<const int> predicted);

// What the target would have had to choose so that verify_greedy accepts a path of `wanted` rows, root included, or the
// deepest there is; of equally deep ones the first. Rows that are no nodes keep what was predicted.
void force_accepted(const TreeView&, std::span<const int> predicted, int wanted, int vocabulary, std::span<int> forced);

// `target`: logits of each row. `drafts`: row r - 1 belongs to tree row r, data null if no rule reads it. Drafts must be
// warped by the same Sampling and drawn as the rule says, else the output is not the target's.
Verdict verify_sampled(const TreeView&, const MatrixView& target, const MatrixView& drafts, const Sampling&,
                       const Decide&, Coin&);

// T, lossy: the longest path of drafts that pass, equally long: the likeliest. The bonus is the target's best, so that
// typical acceptance at temperature 0 is G.
Verdict verify_relaxed(const TreeView&, const MatrixView& target, const Sampling&, const Relaxed&);

}  // namespace draftline
