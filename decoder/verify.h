// SPDX-License-Identifier: Apache-2.0
// Decides which drafts the target accepts, and which token follows them. Sources of the rules: Leviathan et al. 2023
// and Chen et al. 2023 (chains of drawn drafts), Miao et al. 2023 and Jeon et al. 2024 (drawn siblings), Cai et al.
// 2024 and Kim et al. 2023 (lossy acceptance), Sun et al. 2024 (block verification). All rules except block
// verification share one walk down the tree; a rule decides at one node. Random numbers come from a Coin, so that a
// test can enumerate all outcomes of the same code.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/sampling.h"

namespace draftline {

// A verification tree of one sequence: row 0 is the root; a parent is an earlier row, -1 for the root, -2 for a mask
// row (no node). Siblings are in the order in which they were drawn. Rows with equal paths must have equal logits.
struct TreeView {
  std::span<const int> tokens, parents;
  int rows() const { return count(parents); }
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
  // The next decisions are at nodes of this depth; the children of the root have depth 1.
  virtual void at_depth(int) {}
  virtual bool accept(double probability) = 0;
  virtual int draw(std::span<const double> weights) = 0;
};

// A uniform number in [0, 1) for each depth and trial, so that a decision depends neither on the batch nor on earlier
// decisions.
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
  std::span<const float> q;  // weights of the distribution from which it was drawn; empty: a point mass
};
struct Node {
  int row;
  std::span<double> p;  // the target's warped distribution; the rule may overwrite it
  std::span<const Candidate> children;
};
struct Decision {
  std::optional<int> child;  // the accepted candidate; none: the walk ends
  int token = 0;             // the accepted candidate's token, or the bonus token
};
using Decide = std::function<Decision(const Node&, Coin&)>;

Decide decision_of(AcceptRule);

// ---- whole trees
struct Verdict {
  std::vector<int> path;  // the root and the accepted rows: one row per emitted token
  int bonus = 0;          // the token that the target adds
};

// Greedy verification: the deepest row whose whole path equals the target's choices (ties: the first).
Verdict verify_greedy(const TreeView&, std::span<const int> predicted);

// Writes to `forced` choices of the target for which verify_greedy accepts a path of `wanted` rows, root included, or
// the deepest path (ties: the first). Rows that are not nodes keep the predictions.
void force_accepted(const TreeView&, std::span<const int> predicted, int wanted, int vocabulary, std::span<int> forced);

// `target` [rows, vocabulary]: logits of each row. `drafts` [rows - 1, vocabulary]: row r - 1 is the distribution from
// which tree row r was drawn; data is null if the rule does not read it. The output has the target's distribution only
// if drafts were warped by the same Sampling and drawn according to the rule.
Verdict verify_sampled(const TreeView&, const MatrixView& target, const MatrixView& drafts, const Sampling&,
                       const Decide&, Coin&);

// Block verification (Sun et al. 2024, algorithm 2): the number of accepted drafts of a chain depends on the joint
// probability of each prefix, so that a likely draft can compensate for an unlikely earlier draft. `drafts` as above,
// each draft drawn from its own row. On average it accepts at least as many drafts as the token-by-token rule.
Verdict verify_block(const TreeView& chain, const MatrixView& target, const MatrixView& drafts, const Sampling&, Coin&);

// Lossy verification: the longest path of drafts that the relaxed rule accepts (ties: the most likely). The bonus is
// the target's best token, so that typical acceptance at temperature 0 is greedy verification.
Verdict verify_relaxed(const TreeView&, const MatrixView& target, const Sampling&, const Relaxed&);

}  // namespace draftline
