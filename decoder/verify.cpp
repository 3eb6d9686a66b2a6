// SPDX-License-Identifier: Apache-2.0
#include "decoder/verify.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

std::span<const float> MatrixView::operator[](int row) const {
  check(row >= 0 && row < rows, "a row outside of the matrix");
  return {data + row * stride, at(cols)};
}

static bool normalise(std::span<double> weights) {  // false: nothing to normalise
  const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
  if (!(sum > 0)) return false;
  for (double& w : weights) w /= sum;
  return true;
}

// The rules `independent` (`replaced`) and `without_replacement`. A rejection leaves the part of p above q, normalised,
// against which the next child is judged.
static Decision decide_recursive(const Node& node, Coin& coin, bool replaced) {
  std::vector<double> q;
  for (int i = 0; i < count(node.children); ++i) {
    const Candidate& child = node.children[at(i)];
    const Decision yes{.child = i, .token = child.token};
    if (replaced || i == 0) {
      check(child.q.size() == node.p.size(), "a draft that was drawn needs its distribution");
      q.assign(child.q.begin(), child.q.end());
      check(normalise(q), "a draft's distribution is empty");
    }
    const double drafted = q[at(child.token)];
    if (!replaced && i > 0 && drafted == 0) continue;  // it repeats its sibling, as nothing was left to draw
    check(drafted > 0, "a draft token that its own distribution excludes");
    if (coin.accept(std::min(1.0, node.p[at(child.token)] / drafted))) return yes;
    for (std::size_t t = 0; t < q.size(); ++t) node.p[t] = std::max(node.p[t] - q[t], 0.0);
    // If p is nowhere above q, they are equal but for rounding, and equal distributions never reject.
    if (!normalise(node.p)) return yes;
    if (!replaced) {
      q[at(child.token)] = 0;
      normalise(q);
    }
  }
  return {.child = std::nullopt, .token = coin.draw(node.p)};
}

static Decision decide_point_mass(const Node& node, Coin& coin) {
  for (int i = 0; i < count(node.children); ++i) {
    const Decision yes{.child = i, .token = node.children[at(i)].token};
    double& p = node.p[at(yes.token)];
    if (coin.accept(std::min(1.0, p))) return yes;
    p = 0;
    if (!normalise(node.p)) return yes;  // its probability was 1 but for rounding
  }
  return {.child = std::nullopt, .token = coin.draw(node.p)};
}

static Decision decide_by_draw(const Node& node, Coin& coin) {
  const int token = coin.draw(node.p);
  const auto hit = std::find_if(node.children.begin(), node.children.end(),
                                [&](const Candidate& child) { return child.token == token; });
  if (hit == node.children.end()) return {.child = std::nullopt, .token = token};
  return {.child = steps(node.children.begin(), hit), .token = token};
}

Decide decision_of(AcceptRule rule) {
  switch (rule) {
    case AcceptRule::independent: return [](const Node& n, Coin& c) { return decide_recursive(n, c, true); };
    case AcceptRule::without_replacement: return [](const Node& n, Coin& c) { return decide_recursive(n, c, false); };
    case AcceptRule::point_mass: return decide_point_mass;
    case AcceptRule::target_draw: return decide_by_draw;
    case AcceptRule::block: break;  // no decision at one node: verify_block
  }
  check(false, "no such accept rule");
  return {};
}

// Walks down from the root: those children of a level's rows that `survivors` returns are the next level. Returns the
// deepest level that is not empty.
template <class Survivors>
static std::vector<int> walk(const TreeView& tree, Survivors survivors) {
  check(tree.rows() > 0 && tree.parents[0] == -1, "a tree starts with its root");
  check(tree.tokens.size() == tree.parents.size(), "a token for each row of the tree");
  std::vector<int> level{0};
  for (int depth = 1;; ++depth) {
    std::vector<int> children;
    for (int row = 1; row < tree.rows(); ++row) {
      const int parent = tree.parents[at(row)];
      check(parent >= -2 && parent != -1 && parent < row, "a parent stands above its children");
      if (std::find(level.begin(), level.end(), parent) != level.end()) children.push_back(row);
    }
    std::vector<int> next = survivors(depth, level, children);
    if (next.empty()) return level;
    level = std::move(next);
  }
}

static std::vector<int> path_to(const TreeView& tree, int row) {
  std::vector<int> path;
  for (; row >= 0; row = tree.parents[at(row)]) path.push_back(row);
  std::reverse(path.begin(), path.end());
  return path;
}

Verdict verify_greedy(const TreeView& tree, std::span<const int> predicted) {
  check(predicted.size() == tree.parents.size(), "a prediction for each row of the tree");
  const auto deepest = walk(tree, [&](int, const std::vector<int>&, std::vector<int> children) {
    std::erase_if(children, [&](int row) { return tree.tokens[at(row)] != predicted[at(tree.parents[at(row)])]; });
    return children;
  });
  return {path_to(tree, deepest[0]), predicted[at(deepest[0])]};
}

void force_accepted(const TreeView& tree, std::span<const int> predicted, int wanted, int vocabulary,
                    std::span<int> forced) {
  const auto n = at(tree.rows());
  std::vector<int> depth(n, -1);
  int deepest = 0;
  for (std::size_t r = 0; r < n; ++r) {
    if (tree.parents[r] == -1) depth[r] = 0;
    else if (tree.parents[r] >= 0) depth[r] = depth[at(tree.parents[r])] + 1;
    deepest = std::max(deepest, depth[r]);
  }
  const int goal = std::clamp(wanted - 1, 0, deepest);
  const int leaf = steps(depth.begin(), std::find(depth.begin(), depth.end(), goal));
  for (std::size_t r = 0; r < n; ++r) {
    forced[r] = predicted[r];
    if (depth[r] < 0) continue;
    const auto drafted = [&](int token) {  // by a child of this row
      for (std::size_t c = r + 1; c < n; ++c)
        if (tree.parents[c] >= 0 && at(tree.parents[c]) == r && tree.tokens[c] == token) return true;
      return false;
    };
    for (int tries = 0; tries < vocabulary && drafted(forced[r]); ++tries) forced[r] = (forced[r] + 1) % vocabulary;
  }
  for (int r = leaf; tree.parents[at(r)] >= 0;) {
    const int parent = tree.parents[at(r)];
    forced[at(parent)] = tree.tokens[at(r)];
    r = parent;
  }
}

Verdict verify_sampled(const TreeView& tree, const MatrixView& target, const MatrixView& drafts,
                       const Sampling& sampling, const Decide& decide, Coin& coin) {
  check(target.rows == tree.rows(), "logits for each row of the tree");
  check(!drafts.data || (drafts.rows == tree.rows() - 1 && drafts.cols == target.cols),
        "a distribution for each draft");
  std::vector<double> p(at(target.cols));
  std::vector<Candidate> candidates;
  int bonus = 0;
  // All rows of a level have the same text: siblings of equal tokens survive together, as their children may differ.
  const auto deepest = walk(tree, [&](int depth, const std::vector<int>& level, std::vector<int> children) {
    warp(target[level[0]], sampling, p);
    candidates.clear();
    for (const int row : children) {
      const int token = tree.tokens[at(row)];
      check(token >= 0 && token < target.cols, "a draft token outside of the vocabulary");
      candidates.push_back({token, drafts.data ? drafts[row - 1] : std::span<const float>()});
    }
    coin.at_depth(depth);
    const Decision decision = decide({level[0], p, candidates}, coin);
    if (!decision.child) {
      bonus = decision.token;
      children.clear();
    }
    std::erase_if(children, [&](int row) { return tree.tokens[at(row)] != decision.token; });
    return children;
  });
  return {path_to(tree, deepest[0]), bonus};
}

namespace {

// What a chain leaves of the target's distribution p after one of its rows, where drafts were drawn from q: the part
// of `reached` * p above q.
class BlockResidual {
 public:
  BlockResidual(const MatrixView& target, const MatrixView& drafts, const Sampling& sampling)
      : target_(target), drafts_(drafts), sampling_(sampling), p_(at(target.cols)), q_(at(target.cols)) {}
  void look_at(int row) {
    warp(target_[row], sampling_, p_);
    if (row == drafts_.rows) return;
    const auto q = drafts_[row];
    q_.assign(q.begin(), q.end());
    check(normalise(q_), "a draft's distribution is empty");
  }
  double ratio(int token) const {  // p / q
    check(token >= 0 && token < target_.cols, "a draft token outside of the vocabulary");
    check(q_[at(token)] > 0, "a draft token that its own distribution excludes");
    return p_[at(token)] / q_[at(token)];
  }
  double left(double reached) const {
    double sum = 0;
    for (std::size_t t = 0; t < p_.size(); ++t) sum += std::max(reached * p_[t] - q_[t], 0.0);
    return sum;
  }
  // The token after the last accepted draft. If nothing is left, p and q are equal but for rounding.
  int draw(double reached, bool all_accepted, Coin& coin) {
    if (!all_accepted && left(reached) > 0)
      for (std::size_t t = 0; t < p_.size(); ++t) p_[t] = std::max(reached * p_[t] - q_[t], 0.0);
    return coin.draw(p_);
  }

 private:
  MatrixView target_, drafts_;
  Sampling sampling_;
  std::vector<double> p_, q_;
};

}  // namespace

Verdict verify_block(const TreeView& chain, const MatrixView& target, const MatrixView& drafts,
                     const Sampling& sampling, Coin& coin) {
  const int n = chain.rows() - 1;
  check(target.rows == n + 1 && drafts.data != nullptr && drafts.rows == n && drafts.cols == target.cols,
        "logits for each row of the chain, and a distribution for each draft");
  BlockResidual at_row(target, drafts, sampling);
  std::vector<int> path{0};
  double reached = 1, reached_by_path = 1;
  // One depth for all: what is judged beyond the path must not be judged alike in the next step, whose root is deeper.
  coin.at_depth(1);
  for (int row = 0; row <= n; ++row) {
    check(chain.parents[at(row)] == row - 1, "block verification is of a chain");
    at_row.look_at(row);
    if (row > 0) {
      const double left = row < n ? at_row.left(reached) : 0, lost = 1 - reached;
      const double accepted = row == n ? reached : left + lost > 0 ? left / (left + lost) : 1;
      if (coin.accept(accepted)) {
        while (count(path) <= row) path.push_back(count(path));
        reached_by_path = reached;
      }
    }
    if (row < n) reached = std::min(1.0, reached * at_row.ratio(chain.tokens[at(row) + 1]));
  }
  const int last = path.back();
  at_row.look_at(last);
  return {path, at_row.draw(reached_by_path, last == n, coin)};
}

// The probability that a draft must exceed (typical) or reach (loss limit).
static double least_probability(std::span<const double> p, const Relaxed& rule) {
  if (rule.kind == Relaxed::Kind::loss_limit) return std::exp(-rule.epsilon);
  constexpr double kInsideLog = 1e-5;  // Medusa's own code adds this inside the logarithm of its entropy
  double entropy = 0;
  for (const double v : p) entropy -= v * std::log(v + kInsideLog);
  return std::min(rule.epsilon, rule.delta * std::exp(-entropy));
}

Verdict verify_relaxed(const TreeView& tree, const MatrixView& target, const Sampling& sampling, const Relaxed& rule) {
  check(target.rows == tree.rows(), "logits for each row of the tree");
  const bool typical = rule.kind == Relaxed::Kind::typical;
  std::vector<double> p(at(target.cols)), log_likelihood(at(tree.rows()), 0.0);
  const auto deepest = walk(tree, [&](int, const std::vector<int>& level, const std::vector<int>& children) {
    std::vector<int> passed;
    for (const int row : level) {
      warp(target[row], typical ? sampling : Sampling{1, 0, 1}, p);
      normalise(p);
      const double least = least_probability(p, rule);
      for (const int child : children) {
        const int token = tree.tokens[at(child)];
        check(token >= 0 && token < target.cols, "a draft token outside of the vocabulary");
        const double have = p[at(token)];
        if (tree.parents[at(child)] != row || !(typical ? have > least : have >= least)) continue;
        log_likelihood[at(child)] = log_likelihood[at(row)] + std::log(have);
        passed.push_back(child);
      }
    }
    std::sort(passed.begin(), passed.end());
    return passed;
  });
  const int best = *std::max_element(deepest.begin(), deepest.end(),
                                     [&](int a, int b) { return log_likelihood[at(a)] < log_likelihood[at(b)]; });
  warp(target[best], {}, p);
  return {path_to(tree, best), steps(p.begin(), std::max_element(p.begin(), p.end()))};
}

}  // namespace draftline
