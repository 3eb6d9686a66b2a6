// SPDX-License-Identifier: Apache-2.0
#include "methods/static_tree.h"

#include <algorithm>

namespace draftline {

static bool shorter_first(const std::vector<int>& a, const std::vector<int>& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

StaticTree::StaticTree(std::vector<std::vector<int>> paths) : paths_(std::move(paths)) {
  std::sort(paths_.begin(), paths_.end(), shorter_first);
  const int words = (size() + 31) / 32;
  parents_ = {-1};
  sees_.assign(static_cast<std::size_t>(size() * words), 0);
  sees_[0] = 1;
  for (int i = 1; i < size(); ++i) {
    const auto& path = paths_[static_cast<std::size_t>(i - 1)];
    int parent = 0;
    if (path.size() > 1) {
      const std::vector<int> up(path.begin(), path.end() - 1);
      const auto it = std::lower_bound(paths_.begin(), paths_.end(), up, shorter_first);
      check(it != paths_.end() && *it == up, "a static tree holds the parent of every node");
      parent = 1 + static_cast<int>(it - paths_.begin());
    }
    parents_.push_back(parent);
    for (int w = 0; w < words; ++w)
      sees_[static_cast<std::size_t>(i * words + w)] =
          sees_[static_cast<std::size_t>(parent * words + w)] | (i / 32 == w ? static_cast<int>(1U << (i % 32)) : 0);
  }
}

StaticTree StaticTree::chain(int length) {
  std::vector<std::vector<int>> paths;
  for (int n = 1; n <= length; ++n) paths.emplace_back(static_cast<std::size_t>(n), 0);
  return StaticTree(std::move(paths));
}

std::optional<StaticTree> StaticTree::read(const Reader& in, int most_depth, int most_width) {
  constexpr std::size_t kMostNodes = 1024;
  const Reader nodes = in.at("nodes");
  std::vector<std::vector<int>> paths;
  for (const Reader& node : nodes.items()) {
    paths.emplace_back();
    for (const Reader& rank : node.items()) paths.back().push_back(rank.integer(0, most_width - 1));
    if (paths.back().empty()) node.fail("a path holds at least one rank");
    if (paths.back().size() > static_cast<std::size_t>(most_depth))
      node.fail("deeper than the " + std::to_string(most_depth) + " levels that are drafted");
  }
  if (paths.empty()) nodes.fail("a tree holds at least one node");
  if (paths.size() > kMostNodes) nodes.fail("at most " + std::to_string(kMostNodes) + " nodes");
  if (in.failed()) return std::nullopt;
  auto sorted = paths;
  std::sort(sorted.begin(), sorted.end());
  const auto items = nodes.items();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (std::count(paths.begin(), paths.begin() + static_cast<std::ptrdiff_t>(i), paths[i]) > 0)
      items[i].fail("this node is listed twice");
    const std::vector<int> up(paths[i].begin(), paths[i].end() - 1);
    if (!up.empty() && !std::binary_search(sorted.begin(), sorted.end(), up)) items[i].fail("its parent is not in the tree");
  }
  if (in.failed()) return std::nullopt;
  return StaticTree(std::move(paths));
}

int StaticTree::depth() const { return paths_.empty() ? 0 : static_cast<int>(paths_.back().size()); }

int StaticTree::width(int level) const {
  int most = 0;
  for (const auto& p : paths_)
    if (p.size() > static_cast<std::size_t>(level)) most = std::max(most, p[static_cast<std::size_t>(level)] + 1);
  return most;
}

bool StaticTree::is_chain() const { return depth() + 1 == size(); }

Proposal StaticTree::propose(Ops& ops, const Session& s, const std::vector<Tensor>& candidates) const {
  const int b = s.sequences, n = size();
  std::vector<Tensor> flat{s.root};  // all candidates below each other: [sequences * width] of each level
  std::vector<int> level_start{b};
  for (const Tensor& c : candidates) {
    flat.push_back(reshape(c, c.rows * c.cols, 1));
    level_start.push_back(level_start.back() + c.rows * c.cols);
  }
  std::vector<int> index;
  for (int q = 0; q < b; ++q) {
    index.push_back(q);
    for (const auto& path : paths_) {
      const std::size_t level = path.size() - 1;
      index.push_back(level_start[level] + q * candidates[level].cols + path.back());
    }
  }
  Proposal p{ops.uniform(b, n), ops.gather(ops.concat_rows(flat), ops.constant(index)), ops.constant(parents_, 1, b), {}, depth()};
  if (!is_chain()) p.sees = ops.constant(sees_, (n + 31) / 32, b);
  return p;
}

}  // namespace draftline
