// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/feature_drafter.h"

#include <algorithm>

#include "methods/drafting/batch_index.h"
#include "methods/drafting/published_drafter.h"

namespace draftline::methods {

DraftShape read_draft_shape(const MethodSpec& spec, int vocabulary, int official_passes) {
  const Reader& in = spec.in();
  const int most = std::min(64, vocabulary);
  DraftShape s;
  s.top_k = std::min(10, most);
  s.passes = official_passes;
  const auto length = spec.draft_length();
  if (const auto tree = in.find("tree")) {
    if (length) in.fail("give \"draft_length\" (a chain) or \"tree\", not both");
    if (tree->is_object() && tree->has("num_steps")) {  // SGLang's words, which count the first pass and the root
      s.top_k = tree->at("eagle_topk").integer(1, most);
      s.passes = tree->at("num_steps").integer(1, 32) - 1;
      s.nodes = tree->at("num_draft_tokens").integer(2, 1024) - 1;
      tree->done();
    } else if (tree->is_object()) {
      s.top_k = tree->at("top_k").integer(1, most);
      s.passes = tree->at("passes").integer(0, 31);
      s.nodes = tree->at("nodes").integer(1, 1023);
      tree->done();
    } else if (tree->text() != "default") {
      tree->fail(
          "must be \"default\", {\"top_k\": n, \"passes\": n, \"nodes\": n} or SGLang's {\"eagle_topk\": n, "
          "\"num_steps\": n, \"num_draft_tokens\": n}");
    }
  } else if (length) {
    s.length = *length;
    s.top_k = 0;
  }
  s.nodes = std::min(s.nodes, s.top_k + s.passes * s.top_k * s.top_k);  // at most the number of candidates
  return s;
}

TransformerShape drafter_layer_shape(const TransformerShape& target) {
  TransformerShape s = target;
  s.experts.reset();
  s.layer_kinds.clear();
  if (s.latent) s.latent->indexer.reset();
  s.qk_norm = QkNorm::none;
  s.qkv_bias = s.rotated_qk_norm = s.o_bias = s.output_gate = false;
  s.sinks = Sinks::none;
  s.value_dim.reset();
  s.windowed_heads.reset();
  s.value_scale = 1;
  s.values_are_keys = s.value_norm = s.layer_scale = false;
  s.norms = NormPlacement::before;
  s.query_scale.reset();
  s.query_growth.reset();
  s.window_rope.reset();
  if (s.mlp != MlpKind::gelu) s.mlp = MlpKind::gated_silu;
  if (s.intermediate == 0) s.intermediate = 4 * s.hidden;
  return s;
}

FeatureDrafter::FeatureDrafter(Context& c, const DraftShape& shape, const DrafterConfig& drafter,
                               const std::string& prefix)
    : target_(c.target),
      shape_(shape),
      layer_shape_(drafter.layer),
      cache_(make_cache(c.ops, layer_shape_, 1, c.capacity, window_of(drafter))) {
  if (drafter.own_embedding)
    embedding_ = c.weights.embedding(prefix + "embedding", c.target.shape.vocabulary, c.target.shape.hidden);
}

Proposal FeatureDrafter::propose(Ops& ops, Session& s) {
  if (shape_.top_k > 0) return propose_tree(ops, s);
  const int b = s.sequences;
  Tensor hidden = state(ops, s);
  std::vector<Tensor> drafts;
  for (int j = 0;; ++j) {
    drafts.push_back(target_ids(ops, ops.argmax(logits(ops, hidden))));
    if (j + 1 == shape_.length) break;
    hidden =
        forward(ops, hidden, drafts.back(), ops.pass({ops.uniform(b, 1), s.slots, {}, j}));  // from its own last state
  }
  const Tensor order = ops.constant(BatchIndex::interleave(b, shape_.length));
  return propose_chain(ops, s, ops.gather(ops.concat_rows(drafts), order), shape_.length);
}

Proposal FeatureDrafter::propose_tree(Ops& ops, Session& s) {
  const int b = s.sequences, top = shape_.top_k, words = (top * std::max(1, shape_.passes) + 31) / 32;
  Tensor hidden = state(ops, s);
  Tensor score = ops.constant({0}, 1, b), node = ops.constant({-1}, 1, b);
  Tensor tree_mask = ops.constant(std::vector<int>(static_cast<std::size_t>(words)), words, b);
  std::vector<Tensor> tokens, scores, parents;
  for (int level = 0, width = 1, first = 0;; ++level) {
    TopK best = ops.top_k(logits(ops, hidden), top);
    best.ids = target_ids(ops, best.ids);
    const ExpandTree e = ops.expand_tree(best, score, node, tree_mask, width, top, first, level * top);
    tokens.push_back(e.tokens);
    scores.push_back(e.scores);
    parents.push_back(e.parents);
    if (level == shape_.passes) break;
    const PassRef pass = ops.pass({ops.uniform(b, top), s.slots, e.next_tree_mask, level * top});
    hidden = forward(ops, ops.gather(hidden, e.row), e.token, pass);
    score = e.next_score;
    node = e.next_node;
    tree_mask = e.next_tree_mask;
    first += width * top;
    width = top;
  }
  const SelectTree t = ops.select_tree(tokens, scores, parents, s.root, shape_.nodes + 1);
  return {.rows = ops.uniform(b, shape_.nodes + 1),
          .tokens = t.y,
          .parents = t.parent,
          .tree_mask = t.tree_mask,
          .depth = depth()};
}

}  // namespace draftline::methods
