// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/feature_drafter.h"

#include <algorithm>

#include "methods/drafting/batch_index.h"
#include "methods/drafting/published_drafter.h"

namespace draftline::methods {

DraftShape draft_shape(const MethodSpec& spec, int candidates) {
  const auto& lengths = spec.entry().lengths;
  const int usual = spec.tree() || lengths.tree_by_default ? 0 : lengths.usual;  // 0: a tree
  if (const int length = spec.draft_length().value_or(usual); length > 0) return {.length = length};
  DraftShape s{.top_k = std::min(10, candidates), .passes = lengths.passes};
  if (spec.tree())
    if (const auto* grown = std::get_if<DraftTree::Grown>(&spec.tree()->form))
      s.top_k = grown->top_k, s.passes = grown->passes, s.nodes = grown->nodes;
  s.nodes = std::min(s.nodes, s.top_k + s.passes * s.top_k * s.top_k);  // at most the number of candidates
  return s;
}

// Where the layer that stands for all has none, as in every few layers of some networks, that of another.
static Rope usual_rope(const TransformerShape& target) {
  const Rope* usual = target.usual_layer().rope();
  for (const LayerShape& layer : target.kinds)
    if (usual == nullptr || (usual->columns == 0 && layer.rope() != nullptr)) usual = layer.rope();
  Rope rope = usual != nullptr ? *usual : Rope{};
  rope.growth.reset();
  return rope;
}

LayerShape drafter_layer(const TransformerShape& target) {
  AttentionHeads heads = target.usual_heads();
  heads.value_dim = heads.head_dim;
  heads.values_are_keys = false;
  LayerShape s = llama_layer(target.hidden, heads, target.intermediate > 0 ? target.intermediate : 4 * target.hidden);
  *s.rope() = usual_rope(target);
  if (target.usual_layer().latent() != nullptr) s.rope()->columns = heads.head_dim / 2 * 2;  // of whole heads
  s.norm = target.norm;
  s.norm_epsilon = target.norm_epsilon;
  const DenseMlp* mlp = target.usual_layer().dense_mlp();
  if (mlp != nullptr && mlp->kind == MlpKind::gelu) std::get<DenseMlp>(s.mlp).kind = MlpKind::gelu;
  return s;
}

LayerShape native_drafter_layer(const TransformerShape& target) {
  LayerShape s = drafter_layer(target);
  const LatentHeads* latent = target.usual_layer().latent();
  if (latent == nullptr) return s;
  LatentHeads a{.heads = latent->heads, .dims = latent->dims, .rope = usual_rope(target)};
  a.dims.indexer.reset();
  s.attention = a;
  return s;
}

void add_attention(Ops& ops, Stream& x, const LayerWeights& w, const LayerPass& at, int ranks) {
  const Tensor y = x.norm(ops, *w.attention_norm, epsilon_of(w.shape));
  x.push(ops, self_attention(ops, y, w, at, ranks));
}

void add_mlp(Ops& ops, Stream& x, const LayerWeights& w, int ranks, int sequences) {
  const Tensor y = x.norm(ops, *w.mlp_norm, epsilon_of(w.shape));
  x.push(ops, mlp(ops, y, w, ranks, sequences));
}

FeatureDrafter::FeatureDrafter(Context& c, const DraftShape& shape, const DrafterConfig& drafter,
                               const std::string& prefix)
    : target_(c.target),
      shape_(shape),
      drafter_(drafter),
      cache_(make_cache(c.ops, drafter.layer, drafter.layers, c.capacity)) {
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
  Tensor tree_mask = ops.constant(std::vector<int>(at(words)), words, b);
  std::vector<Tensor> tokens, scores, parents;
  for (int level = 0, width = 1, first = 0;; ++level) {
    TopK best = ops.top_k(logits(ops, hidden), top);
    best.ids = target_ids(ops, best.ids);
    const ExpandTree e = ops.expand_tree(best, {score, node, tree_mask}, {width, top, first, level * top});
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
