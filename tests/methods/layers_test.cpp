// SPDX-License-Identifier: Apache-2.0
// The rows of a verification pass mean what a run of their path alone would say.

#include "methods/drafting/partial_target.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

// One sequence, at the beginning of its text, on a decoder of its own.
struct OneSequence {
  Rig rig{{"autoregressive", ""}, Rig::Kind::cpu_planned, 1};
  Ops& ops = rig.decoder.ops;
  const Transformer& target = rig.decoder.target;
  Session s;

  OneSequence() {
    ops.on_segment = {};  // the accounts are not of interest here
    s.sequences = 1;
    s.slots = {s.state(ops, "kv_slots", 1, 1, DType::int32), s.state(ops, "lengths", 1, 1, DType::int32),
               s.state(ops, "ids", 1, 1, DType::int32)};
    ops.upload(s.slots.kv_slots, std::vector<int>{0});
    ops.upload(s.slots.lengths, std::vector<int>{0});
  }
  Stream run(const std::string& name, const std::vector<int>& tokens, std::optional<Tensor> tree_mask = std::nullopt) {
    Stream x{target.embed(ops, ops.input(name, tokens))};
    target.run(ops, x, ops.pass({ops.uniform(1, static_cast<int>(tokens.size())), s.slots, tree_mask}));
    return x;
  }
  std::vector<float> logits(Stream x, int rows) {
    const Tensor out = ops.persistent("logits", rows, target.shape.vocabulary, DType::fp32);
    ops.store(out, target.logits(ops, target.final_norm(ops, x)));
    ops.flush();
    return rig.cpu().read_floats(out);
  }
};

// Logits of the last token of `text`, by a fresh prefill.
std::vector<float> logits_after(const std::vector<int>& text) {
  OneSequence one;
  const auto all = one.logits(one.run("text", text), static_cast<int>(text.size()));
  return {all.end() - one.target.shape.vocabulary, all.end()};
}

}  // namespace

TEST_CASE("each row of a tree has the logits of its path run alone, mask rows or not") {
  // A tree with two branches, a group of mask rows that nobody else sees, behind a prefix of three tokens.
  const std::vector<int> prefix{3, 1, 4};
  const TokenTree tree({-1, 0, 0, 1, 2, 0, 5}, {true, true, true, true, true, false, false});
  const std::vector<int> tokens{1, 5, 9, 2, 6, 7, 8};
  OneSequence one;
  Ops& ops = one.ops;
  one.run("prefix", prefix);
  ops.advance(one.s.slots.lengths, ops.constant({3}));
  ops.flush();
  const auto all = one.logits(one.run("tree", tokens, ops.constant(tree.tree_mask(), tree.words())), tree.rows());
  const int vocabulary = one.target.shape.vocabulary;
  for (int row = 0; row < tree.rows(); ++row) {
    auto text = prefix;
    for (const int above : tree.path(row)) text.push_back(tokens[static_cast<std::size_t>(above)]);
    const auto alone = logits_after(text);
    for (int c = 0; c < vocabulary; ++c)
      CHECK(all[static_cast<std::size_t>(row * vocabulary + c)] ==
            Approx(alone[static_cast<std::size_t>(c)]).margin(1e-4));
  }
}

TEST_CASE("skip schemes keep the layers that S3D's tables name") {
  const auto kept = [](const char* text, int layers) {
    const Document d = Document::from_text(text, "method.json");
    std::vector<int> which;
    const auto skip = d.root().find("skip");
    const auto gap = skip ? std::optional(methods::read_gap(*skip)) : std::nullopt;
    d.finish();
    if (const auto wrong = methods::wrong_gap(gap, layers)) throw InputErrors(wrong->text);
    for (const LayerUse& u : methods::kept_layers(gap, layers)) which.push_back(u.layer);
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
