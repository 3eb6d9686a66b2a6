// SPDX-License-Identifier: Apache-2.0
// Rows of a batch: their order, and those that the host puts together.
#include "methods/drafting/batch_index.h"
#include "methods/drafting/host_rows.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::methods;
using namespace draftline::test;
using Ints = std::vector<int>;

TEST_CASE("what is drafted pass by pass is verified sequence by sequence") {
  // Two sequences, three passes: rows 0 1 | 2 3 | 4 5.
  CHECK(BatchIndex::interleave(2, 3) == Ints{0, 2, 4, 1, 3, 5});
  CHECK(BatchIndex::level(2, 3, 0) == Ints{0, 3});
  CHECK(BatchIndex::level(2, 3, 2) == Ints{2, 5});
}

TEST_CASE("rows of the host carry each sequence's root, tokens, parents and mask") {
  Rig rig({"autoregressive", ""}, Rig::Kind::cpu_planned, 2);
  Ops& ops = rig.decoder.ops;
  ops.on_segment = {};  // the accounts are not of interest here
  Session s;
  s.sequences = 2;
  s.root = ops.input("roots", Ints{7, 9});
  HostRows rows(2);
  rows.add(TokenTree::chain(1), Ints{1});
  rows.add(TokenTree({-1, 0, 0}), Ints{2, 3});
  CHECK(rows.each() == Ints{2, 3});
  const Proposal p = rows.proposal(ops, s, "test", HostRows::Mask::tree);
  CHECK(p.depth == 1);
  CHECK(p.rows.each == Ints{2, 3});
  const Tensor tokens = ops.persistent("tokens", 5, 1, DType::int32);
  ops.store(tokens, p.tokens);
  ops.flush();
  CHECK(ops.fetch(tokens) == Ints{7, 1, 9, 2, 3});
  CHECK(ops.fetch(p.parents) == Ints{-1, 0, -1, 0, 0});
  CHECK(ops.fetch(*p.tree_mask) == Ints{1, 1 + 2, 1, 1 + 2, 1 + 4});
}

TEST_CASE("a sequence without tokens has its root alone") {
  Rig rig({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  Ops& ops = rig.decoder.ops;
  ops.on_segment = {};
  Session s;
  s.sequences = 1;
  s.root = ops.input("roots", Ints{7});
  HostRows rows(1);
  rows.add(TokenTree::chain(0), Ints{});
  const Proposal p = rows.proposal(ops, s, "test", HostRows::Mask::none);
  CHECK(p.depth == 0);
  CHECK(!p.tree_mask);
  CHECK(ops.fetch(p.tokens) == Ints{7});
  CHECK_THROWS_AS(HostRows(1).add(TokenTree::chain(2), Ints{1}), Bug);
}
