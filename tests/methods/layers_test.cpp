// SPDX-License-Identifier: Apache-2.0
// The rows of a verification pass mean what a run of their path alone would say (METHODS.md section 6, oracle 2).
#include <cmath>

#include "methods/partial_target.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

// Logits of the last token of `text`, by a fresh prefill on a decoder of its own.
std::vector<float> logits_after(const std::vector<int>& text) {
  Rig rig({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  Ops& ops = rig.decoder.ops;
  ops.on_segment = {};  // the accounts are not of interest here
  const Transformer& t = rig.decoder.target;
  Session s;
  s.sequences = 1;
  s.seats = {s.slot(ops, "table", 1, 1, DType::int32), s.slot(ops, "lengths", 1, 1, DType::int32),
             s.slot(ops, "ids", 1, 1, DType::int32)};
  ops.upload(s.seats.table, std::vector<int>{0});
  ops.upload(s.seats.lengths, std::vector<int>{0});
  Stream x{t.embed(ops, ops.input("text", text))};
  t.run(ops, x, ops.pass({ops.uniform(1, static_cast<int>(text.size())), s.seats}));
  const Tensor out = ops.slot("logits", static_cast<int>(text.size()), t.shape.vocabulary, DType::fp32);
  ops.store(out, t.logits(ops, t.final_norm(ops, x)));
  ops.flush();
  const auto all = rig.cpu().read_floats(out);
  return {all.end() - t.shape.vocabulary, all.end()};
}

}  // namespace

TEST_CASE("each row of a tree has the logits of its path run alone, mask rows or not") {
  // A tree with two branches, a group of mask rows that nobody else sees, behind a prefix of three tokens.
  const std::vector<int> prefix{3, 1, 4};
  const TokenTree tree({-1, 0, 0, 1, 2, 0, 5}, {true, true, true, true, true, false, false});
  const std::vector<int> tokens{1, 5, 9, 2, 6, 7, 8};
  Rig rig({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  Ops& ops = rig.decoder.ops;
  ops.on_segment = {};  // the accounts are not of interest here
  const Transformer& t = rig.decoder.target;
  Session s;
  s.sequences = 1;
  s.seats = {s.slot(ops, "table", 1, 1, DType::int32), s.slot(ops, "lengths", 1, 1, DType::int32),
             s.slot(ops, "ids", 1, 1, DType::int32)};
  ops.upload(s.seats.table, std::vector<int>{0});
  ops.upload(s.seats.lengths, std::vector<int>{0});
  Stream x{t.embed(ops, ops.input("prefix", prefix))};
  t.run(ops, x, ops.pass({ops.uniform(1, 3), s.seats}));
  ops.advance(s.seats.lengths, ops.constant({3}));
  ops.flush();
  Stream y{t.embed(ops, ops.input("tree", tokens))};
  t.run(ops, y, ops.pass({ops.uniform(1, tree.rows()), s.seats, ops.constant(tree.sees(), tree.words())}));
  const Tensor out = ops.slot("tree logits", tree.rows(), t.shape.vocabulary, DType::fp32);
  ops.store(out, t.logits(ops, t.final_norm(ops, y)));
  ops.flush();
  const auto all = rig.cpu().read_floats(out);
  for (int row = 0; row < tree.rows(); ++row) {
    auto text = prefix;
    for (const int above : tree.path(row)) text.push_back(tokens[static_cast<std::size_t>(above)]);
    const auto alone = logits_after(text);
    for (int c = 0; c < t.shape.vocabulary; ++c)
      CHECK(all[static_cast<std::size_t>(row * t.shape.vocabulary + c)] ==
            Approx(alone[static_cast<std::size_t>(c)]).margin(1e-4));
  }
}

TEST_CASE("skip schemes keep the layers that S3D's tables name") {
  const auto kept = [](const char* text, int layers) {
    const Document d = Document::from_text(text, "method.json");
    std::vector<int> which;
    for (const LayerUse& u : methods::read_kept_layers(d.root(), layers)) which.push_back(u.layer);
    d.finish();
    return which;
  };
  CHECK(kept(R"({"skip": "5->26"})", 32) == std::vector<int>{0, 1, 2, 3, 4, 25, 26, 27, 28, 29, 30, 31});
  CHECK(kept(R"({"skip": "7->24"})", 32).size() == 16);
  CHECK(kept("{}", 32) == kept(R"({"skip": "5->26"})", 32));
  CHECK(kept(R"({"skip": "none"})", 4) == std::vector<int>{0, 1, 2, 3});
  CHECK_THROWS_AS(kept(R"({"skip": "5->34"})", 32), InputErrors);
  CHECK_THROWS_AS(kept(R"({"skip": "9->9"})", 32), InputErrors);
  CHECK_THROWS_AS(kept(R"({"skip": "0->33"})", 32), InputErrors);
  CHECK_THROWS_AS(kept(R"({"skip": "a->b"})", 32), InputErrors);
}
