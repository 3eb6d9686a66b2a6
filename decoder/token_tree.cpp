// SPDX-License-Identifier: Apache-2.0
#include "decoder/token_tree.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/reader.h"

namespace draftline {

TokenTree::TokenTree(std::vector<int> above, const std::vector<bool>& node) : above_(std::move(above)) {
  const auto is_node = [&](int row) { return node.empty() || node[at(row)]; };
  check(!above_.empty() && above_[0] == -1, "a tree starts with its root");
  check(node.empty() || node.size() == above_.size(), "a tree: one flag for each row");
  check(is_node(0), "the root is a node");
  for (int r = 0; r < rows(); ++r) {
    const int up = above_[at(r)];
    check(r == 0 || (up >= 0 && up < r), "a tree: parents stand before their children");
    check(r == 0 || !is_node(r) || is_node(up), "a tree: a node hangs on a node");
    parents_.push_back(is_node(r) ? up : -2);
    depths_.push_back(r == 0 ? 0 : depths_[at(up)] + 1);
  }
}

TokenTree TokenTree::chain(int drafts) {
  check(drafts >= 0, "a chain of no negative length");
  std::vector<int> above(at(drafts + 1));
  std::iota(above.begin(), above.end(), -1);
  return TokenTree(std::move(above));
}

int TokenTree::depth() const {
  int deepest = 0;
  for (int r = 0; r < rows(); ++r)
    if (parents_[at(r)] != -2) deepest = std::max(deepest, depths_[at(r)]);
  return deepest;
}

std::vector<int> TokenTree::children(int row) const {
  std::vector<int> found;
  for (int r = row + 1; r < rows(); ++r)
    if (parents_[at(r)] == row) found.push_back(r);
  return found;
}

std::vector<int> TokenTree::path(int row) const {
  std::vector<int> rows_up;
  for (; row >= 0; row = above_[at(row)]) rows_up.push_back(row);
  std::reverse(rows_up.begin(), rows_up.end());
  return rows_up;
}

std::vector<int> TokenTree::tree_mask() const {
  const auto width = at(words());
  std::vector<std::uint32_t> bits(at(rows()) * width);
  for (std::size_t r = 0; r < at(rows()); ++r) {
    if (r > 0) std::copy_n(&bits[at(above_[r]) * width], width, &bits[r * width]);
    bits[r * width + r / 32] |= std::uint32_t{1} << (r % 32);
  }
  std::vector<int> words;
  for (const std::uint32_t w : bits) words.push_back(std::bit_cast<int>(w));
  return words;
}

std::vector<int> tree_mask_of(std::span<const TokenTree> trees) {
  int words = 1;
  for (const TokenTree& t : trees) words = std::max(words, t.words());
  std::vector<int> all;
  for (const TokenTree& t : trees) {
    const auto own = t.tree_mask();
    for (int r = 0; r < t.rows(); ++r) {
      const auto row = own.begin() + std::ptrdiff_t{r} * t.words();
      all.insert(all.end(), row, row + t.words());
      all.resize(all.size() + at(words - t.words()));
    }
  }
  return all;
}

static std::string text_of(const std::vector<int>& path) {
  std::string text;
  for (const int rank : path) text += (text.empty() ? "" : ", ") + std::to_string(rank);
  return "[" + text + "]";
}

std::vector<std::pair<std::size_t, std::string>> mistakes_of(std::span<const std::vector<int>> paths,
                                                             const RankLimits& limits) {
  const std::set<std::vector<int>> all(paths.begin(), paths.end());
  std::set<std::vector<int>> seen;
  std::vector<std::pair<std::size_t, std::string>> mistakes;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& path = paths[i];
    const std::string name = "path " + text_of(path);
    const auto wrong = [&](const std::string& what) { mistakes.emplace_back(i, name + " " + what); };
    if (path.empty()) {
      wrong("is the root, which every tree has");
      continue;
    }
    if (!seen.insert(path).second) {
      wrong("stands there twice");
      continue;
    }
    if (path.size() > at(limits.levels))
      wrong("is deeper than the " + std::to_string(limits.levels) + " levels that are drafted");
    for (const int rank : path)
      if (rank < 0 || rank >= limits.ranks) {
        wrong("has rank " + std::to_string(rank) + "; ranks go from 0 to " + std::to_string(limits.ranks - 1));
        break;
      }
    const std::vector<int> parent(path.begin(), path.end() - 1);
    if (!parent.empty() && !all.contains(parent)) wrong("has no parent: " + text_of(parent) + " is missing");
  }
  return mistakes;
}

static RankTree build(std::vector<std::vector<int>> paths) {
  std::sort(paths.begin(), paths.end(),
            [](const auto& a, const auto& b) { return a.size() != b.size() ? a.size() < b.size() : a < b; });
  std::map<std::vector<int>, int> row_of{{{}, 0}};
  std::vector<int> above{-1}, ranks{0};
  for (const auto& path : paths) {
    above.push_back(row_of.at({path.begin(), path.end() - 1}));
    ranks.push_back(path.back());
    row_of.emplace(path, count(row_of));
  }
  return {TokenTree(std::move(above)), std::move(ranks)};
}

RankTree rank_tree(std::vector<std::vector<int>> paths, const RankLimits& limits) {
  std::vector<std::string> messages;
  for (auto& [index, message] : mistakes_of(paths, limits)) messages.push_back(std::move(message));
  if (paths.empty()) messages.emplace_back("a tree needs at least one path");
  if (!messages.empty()) throw InputErrors(std::move(messages));
  return build(std::move(paths));
}

std::vector<std::vector<int>> read_rank_paths(Reader in, const RankLimits& limits) {
  const Reader nodes = in.at("nodes");
  const auto items = nodes.items();
  if (nodes.is_array() && items.empty()) nodes.fail("a tree needs at least one path");
  bool good = !items.empty();
  std::vector<std::vector<int>> paths;
  for (const Reader& item : items) {
    std::vector<int> path;
    good = good && item.is_array();
    for (const Reader& rank : item.items()) {
      path.push_back(rank.integer());
      good = good && rank.is_number() && rank.json().get<double>() == path.back();
    }
    paths.push_back(std::move(path));
  }
  in.done();
  if (good)  // a path that could not be read would seem to miss or repeat
    for (const auto& [index, message] : mistakes_of(paths, limits)) {
      items[index].fail(message);
      good = false;
    }
  if (!good) return {{0}};
  return paths;
}

}  // namespace draftline
