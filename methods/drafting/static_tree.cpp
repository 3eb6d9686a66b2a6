// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/static_tree.h"

#include <algorithm>
#include <bit>

namespace draftline::methods {

StaticTree::StaticTree(RankTree t) : tree_(std::move(t)), levels_(tree_.tree.depth()), place_(tree_.tree.rows(), -1) {
  const TokenTree& tree = tree_.tree;
  const IntSpan depths = tree.depths();
  const IntSpan ranks = tree_.ranks;
  int place = 0;
  for (int r = 0; r < tree.rows(); ++r) {  // rows are sorted by depth
    const auto children = tree.children(r);
    if (children.empty()) continue;
    Level& level = levels_[depths[r]];
    if (level.rows.empty()) level.first = place;
    level.rows.push_back(r);
    place_[r] = place++;
    for (const int child : children) level.most = std::max(level.most, ranks[child] + 1);
  }
}

bool StaticTree::gapless() const {
  const IntSpan ranks = tree_.ranks;
  for (int r = 0; r < tree_.tree.rows(); ++r) {
    int rank = 0;
    for (const int child : tree_.tree.children(r))
      if (ranks[child] != rank++) return false;
  }
  return true;
}

int StaticTree::parent_in_level(int row) const {
  const IntSpan parents = tree_.tree.parents(), depths = tree_.tree.depths();
  const int parent = parents[row];
  return place_[parent] - levels_[depths[parent]].first;
}

std::optional<Tensor> StaticTree::tree_mask(Ops& ops, int sequences, int level, int from) const {
  if (is_chain()) return std::nullopt;
  const Level& l = levels_[level];
  const int words = (l.first + rows(level) - from + 31) / 32;
  std::vector<int> bits;
  for (const int r : l.rows) {
    IntVector<std::uint32_t> row(words);
    for (const int above : tree_.tree.path(r))
      if (const int place = place_[above] - from; place >= 0) row[place / 32] |= std::uint32_t{1} << (place % 32);
    for (const std::uint32_t w : row) bits.push_back(std::bit_cast<int>(w));
  }
  return ops.constant(bits, words, sequences);
}

Tensor StaticTree::parents(Ops& ops, int sequences, int level) const {
  std::vector<int> index;
  for (int q = 0; q < sequences; ++q)
    for (const int r : levels_[level].rows) index.push_back(q * rows(level - 1) + parent_in_level(r));
  return ops.constant(index);
}

Tensor StaticTree::place_of_rows(Ops& ops, int sequences) const {
  std::vector<int> index;
  for (int q = 0; q < sequences; ++q)
    for (const int place : place_) index.push_back(q * places() + std::max(place, 0));
  return ops.constant(index);
}

// The index of a row's token among the candidates of the level above, [sequences, rows, most].
int StaticTree::candidate(int sequence, int row) const {
  const IntSpan depths = tree_.tree.depths(), ranks = tree_.ranks;
  const Level& above = levels_[depths[row] - 1];
  return (sequence * above.rows.size() + parent_in_level(row)) * above.most + ranks[row];
}

Proposal StaticTree::draft(Ops& ops, const Session& s, Children children, const Network& network,
                           const std::function<Tensor(Tensor ids)>& target_ids) const {
  const TokenTree& tree = tree_.tree;
  const int b = s.sequences, n = tree.rows();
  const bool drawn = !s.sampling.greedy() && children != Children::best && gapless();
  std::vector<Tensor> candidates{s.root}, distributions;
  IntVector<int> starts, q_starts;  // first index of each level among all candidates and all distributions
  Tensor tokens = s.root;
  for (int level = 0, start = b, q_start = 0; level < depth(); ++level) {
    const Tensor logits = network(level, tokens);
    const int most = this->children(level);
    Tensor found;
    if (drawn) {
      const auto sample = ops.sample_children(logits, s.slots, s.sampling, level + 1, most,
                                              children == Children::drawn_with_replacement);
      found = sample.tokens;
      distributions.push_back(sample.q);
    } else {
      found = most == 1 ? ops.argmax(logits) : Tensor(ops.top_k(logits, most).ids);
      if (target_ids) found = target_ids(found);
    }
    found = reshape(found, found.rows * found.cols, 1);
    candidates.push_back(found);
    starts.push_back(start);
    q_starts.push_back(q_start);
    start += found.rows;
    q_start += logits.rows;
    if (level + 1 == depth()) break;
    std::vector<int> index;
    for (int q = 0; q < b; ++q)
      for (const int r : levels_[level + 1].rows) index.push_back(candidate(q, r));
    tokens = ops.gather(found, ops.constant(index));
  }
  const IntSpan depths = tree.depths();
  std::vector<int> index, q_index;
  for (int q = 0; q < b; ++q) {
    index.push_back(q);
    for (int r = 1; r < n; ++r) {
      const int level = depths[r] - 1;
      index.push_back(starts[level] + candidate(q, r));
      q_index.push_back(q_starts[level] + q * rows(level) + parent_in_level(r));
    }
  }
  Proposal p{.rows = ops.uniform(b, n),
             .tokens = ops.gather(ops.concat_rows(candidates), ops.constant(index)),
             .parents = ops.constant(tree.parents(), 1, b),
             .depth = tree.depth()};
  if (!is_chain()) p.tree_mask = ops.constant(tree.tree_mask(), tree.words(), b);
  if (drawn) {
    p.q = ops.gather(ops.concat_rows(distributions), ops.constant(q_index));
    p.rule = children == Children::drawn ? AcceptRule::without_replacement : AcceptRule::independent;
  }
  return p;
}

}  // namespace draftline::methods
