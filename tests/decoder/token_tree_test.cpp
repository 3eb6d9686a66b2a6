// SPDX-License-Identifier: Apache-2.0
#include "decoder/token_tree.h"

#include <bit>
#include <cstdint>

#include "core/errors.h"
#include "core/reader.h"
#include "tests/catch.h"

using namespace draftline;
using Ints = std::vector<int>;

namespace {

bool attends_to(const TokenTree& tree, int row, int other) {
  const auto bits = tree.tree_mask();
  const int word = bits[static_cast<std::size_t>(row * tree.words() + other / 32)];
  return (std::bit_cast<std::uint32_t>(word) >> (other % 32) & 1) != 0;
}

int visible(const TokenTree& tree, int row) {
  int n = 0;
  for (int j = 0; j < tree.rows(); ++j) n += attends_to(tree, row, j);
  return n;
}

Ints mistakes_at(const std::vector<Ints>& paths, const RankLimits& limits = {4, 10}) {
  Ints at;
  for (const auto& [index, message] : mistakes_of(paths, limits)) at.push_back(static_cast<int>(index));
  return at;
}

}  // namespace

TEST_CASE("a chain is a tree: each row attends to all before it") {
  const auto chain = TokenTree::chain(3);
  CHECK(chain.parents() == Ints{-1, 0, 1, 2});
  CHECK(chain.depths() == Ints{0, 1, 2, 3});
  CHECK(chain.depth() == 3);
  CHECK(chain.tree_mask() == Ints{1, 3, 7, 15});
  CHECK(TokenTree::chain(0).rows() == 1);
  CHECK(TokenTree::chain(0).depth() == 0);
}

TEST_CASE("a row of a tree attends to its path and itself, nothing else") {
  //  0 ─ 1 ─ 3
  //   └─ 2 ─ 4
  const TokenTree tree({-1, 0, 0, 1, 2});
  CHECK(tree.tree_mask() == Ints{1, 1 + 2, 1 + 4, 1 + 2 + 8, 1 + 4 + 16});
  CHECK(tree.children(0) == Ints{1, 2});
  CHECK(tree.children(4).empty());
  CHECK(tree.path(4) == Ints{0, 2, 4});
  CHECK(tree.depth() == 2);
}

TEST_CASE("trees of more than 32 rows spread over words") {
  const auto chain = TokenTree::chain(70);
  CHECK(chain.words() == 3);
  for (const int row : {0, 31, 32, 63, 64, 70})
    for (int j = 0; j < chain.rows(); ++j) CHECK(attends_to(chain, row, j) == (j <= row));
  CHECK(TokenTree::chain(31).words() == 1);
  CHECK(TokenTree::chain(32).words() == 2);
}

TEST_CASE("SPACE's rows: masks see the prefix and their own group, and are no candidates") {
  // k = 2: root 0, masks 1 2; c_1 = 3, masks 4 5; c_2 = 6, masks 7 8. 1 + k (k + 2) = 9 rows
  const TokenTree space({-1, 0, 1, 0, 3, 4, 3, 6, 7}, {true, false, false, true, false, false, true, false, false});
  CHECK(space.parents() == Ints{-1, -2, -2, 0, -2, -2, 3, -2, -2});
  CHECK(space.depth() == 2);
  CHECK(attends_to(space, 8, 7));
  CHECK(attends_to(space, 8, 3));
  CHECK_FALSE(attends_to(space, 8, 5));  // a mask of another group
  CHECK_FALSE(attends_to(space, 6, 1));  // candidates attend to no masks
  // Position = what is seen - 1: mask j of group g at g + j, so mask 1 where the next real token goes.
  for (int g = 0; g <= 2; ++g)
    for (int j = 1; j <= 2; ++j) {
      CHECK(visible(space, 3 * g + j) - 1 == g + j);
      CHECK(space.depths()[static_cast<std::size_t>(3 * g + j)] == g + j);
    }
}

TEST_CASE("rows out of order, a second root, a candidate below a mask are bugs") {
  CHECK_THROWS_AS(TokenTree({}), Bug);
  CHECK_THROWS_AS(TokenTree({0}), Bug);
  CHECK_THROWS_AS(TokenTree({-1, -1}), Bug);
  CHECK_THROWS_AS(TokenTree({-1, 1}), Bug);
  CHECK_THROWS_AS(TokenTree({-1, 2, 0}), Bug);
  CHECK_THROWS_AS(TokenTree({-1, 0, 1}, {true, false, true}), Bug);
  CHECK_THROWS_AS(TokenTree({-1, 0}, {true}), Bug);
}

TEST_CASE("a tree of rank paths: sorted by depth, then path, whatever order they come in") {
  const auto t = rank_tree({{1}, {0, 1}, {0}, {1, 0}, {0, 0}, {0, 0, 2}}, {3, 10});
  // rows: root, [0], [1], [0 0], [0 1], [1 0], [0 0 2]
  CHECK(t.tree.parents() == Ints{-1, 0, 0, 1, 1, 2, 3});
  CHECK(t.ranks == Ints{0, 0, 1, 0, 1, 0, 2});
  CHECK(t.tree.depth() == 3);
}

TEST_CASE("wrong rank paths are all named") {
  CHECK(mistakes_at({{0}, {1}, {0, 0}}).empty());
  CHECK(mistakes_at({{0}, {0}}) == Ints{1});            // twice
  CHECK(mistakes_at({{0}, {1, 0}}) == Ints{1});         // no parent
  CHECK(mistakes_at({{0}, {}}) == Ints{1});             // the root
  CHECK(mistakes_at({{-1}, {10}, {0}}) == Ints{0, 1});  // ranks
  CHECK(mistakes_at({{0}, {0, 0}, {0, 0, 0}}, {2, 10}) == Ints{2});
  try {
    rank_tree({{0}, {2, 1}, {0}}, {4, 10});
    FAIL("no error");
  } catch (const InputErrors& e) {
    CHECK(e.messages() ==
          std::vector<std::string>{"path [2, 1] has no parent: [2] is missing", "path [0] stands there twice"});
  }
  CHECK_THROWS_AS(rank_tree({}, {4, 10}), InputErrors);
}

TEST_CASE("a tree is read from its file, each mistake at its path") {
  const auto read = [](const std::string& text) {
    const auto document = Document::from_text(text, "tree.json");
    auto t = rank_tree(read_rank_paths(document.root(), {4, 10}), {4, 10});
    document.finish();
    return t;
  };
  CHECK(read(R"({"nodes": [[0], [1], [0, 0]]})").tree.parents() == Ints{-1, 0, 0, 1});
  const auto messages = [&](const std::string& text) {
    try {
      read(text);
    } catch (const InputErrors& e) { return e.messages(); }
    return std::vector<std::string>{};
  };
  using Messages = std::vector<std::string>;
  CHECK(messages(R"({"nodes": [[0], [1, 0], [0]], "extra": 1})") ==
        Messages{"tree.json#/extra: unknown key; known here: \"nodes\"",
                 "tree.json#/nodes/1: path [1, 0] has no parent: [1] is missing",
                 "tree.json#/nodes/2: path [0] stands there twice"});
  CHECK(messages(R"({"nodes": []})") == Messages{"tree.json#/nodes: a tree needs at least one path"});
  CHECK(messages(R"({"nodes": [[0], 3, ["a"]]})").size() == 2);
  CHECK(messages(R"({"nodes": [[0.5]]})").size() == 1);
  CHECK(messages(R"({"nodes": 3})").size() == 1);
  CHECK(messages(R"({})").size() == 1);
}
