// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/block_drafter.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "core/int_indexed.h"
#include "methods/drafting/published_drafter.h"

namespace draftline::methods {

std::vector<Field<BlockParameters>> block_fields(const BlockDrafts& drafts) {
  using P = BlockParameters;
  return {integer("block_size", &P::block_size, drafts.rows_for(1), drafts.rows_for(kMostBlockDrafts),
                  {.meaning = "rows of the block, which is drafted whole",
                   .usual = drafts.root_predicts ? "draft_length" : "draft_length + 1"}),
          integer("layers", &P::layers, 1, 32, {.meaning = "decoder layers", .in_checkpoint = true}),
          integers("target_layers", &P::target_layers, 0, 1 << 20,
                   {.meaning = "of the target, counted from 0, whose states it reads",
                    .usual = "as many as layers, spread evenly",
                    .in_checkpoint = true,
                    .most = last_layer_of}),
          mask_token(&P::mask_token),
          integer("window", &P::window, 1, 1 << 24,
                  {.meaning = "entries that the block sees of its text", .usual = "all"})};
}

// The states that a drafter reads, as in the authors' code: those that leave layers from the second to the third from
// the end, evenly spread, halves to even.
static std::vector<int> spread_layers(int target_layers, int layers) {
  if (layers == 1) return {target_layers / 2 + 1};
  const int first = std::min(1, target_layers - 1), last = std::max(first, target_layers - 3);
  std::vector<int> chosen;
  for (int i = 0; i < layers; ++i)
    chosen.push_back(1 + static_cast<int>(std::nearbyint(first + 1.0 * (i * (last - first)) / (layers - 1))));
  return chosen;
}

// A layer of Qwen3's kind with the target's widths.
static LayerShape usual_layer(const TransformerShape& target) {
  LayerShape s = drafter_layer(target);
  std::get<HeadAttention>(s.attention).qk_norm = QkNorm::each_head;
  return s;
}

// The rows of the block: as given, as the draft length needs, as a checkpoint was trained, or as usual.
static int rows_of_block(const Context& c) {
  const auto& p = c.own<BlockParameters>();
  const BlockDrafts drafts = block_drafts(c.spec.entry());
  if (p.block_size) return *p.block_size;
  if (const auto length = c.spec.draft_length()) return drafts.rows_for(*length);
  return c.published && c.published->block.rows > 0 ? c.published->block.rows
                                                    : drafts.rows_for(c.spec.entry().lengths.usual);
}

BlockShape block_shape(const Context& c) {
  const auto& p = c.own<BlockParameters>();
  BlockShape b;
  if (const auto& published = c.published) {
    b.layer = published->layer;
    b.windows = published->windows;
    b.causal = published->block.causal;
    b.own_embedding = published->own_embedding;
    b.target_layers = published->auxiliary_layers;
    b.trained = published->block.rows;
    if (published->vocabulary > 0) b.vocabulary = published->vocabulary;
  } else {
    b.layer = usual_layer(c.target.shape);
    b.windows.resize(at(p.layers.value));
    if (p.target_layers)
      for (const int layer : *p.target_layers) b.target_layers.push_back(layer + 1);  // by the states that leave them
  }
  if (b.target_layers.empty()) b.target_layers = spread_layers(c.target.shape.layers(), count(b.windows));
  b.mask_token = p.mask_token.value_or(c.target.vocabulary() - 1);
  if (c.published && c.published->mask_token) b.mask_token = *c.published->mask_token;
  b.block = rows_of_block(c);
  if (p.window)
    for (int& w : b.windows) w = w > 0 ? std::min(w, *p.window) : *p.window;
  return b;
}

std::optional<Mistake> inconsistent_block(const MethodSpec& spec) {
  const BlockDrafts drafts = block_drafts(spec.entry());
  constexpr std::size_t kMostFused = 16;
  const auto& p = spec.own<BlockParameters>();
  if (p.target_layers && (p.target_layers->empty() || p.target_layers->size() > kMostFused))
    return Mistake{"/target_layers", "must name 1 to " + std::to_string(kMostFused) + " layers"};
  if (const auto length = spec.draft_length(); length && p.block_size && *length > drafts.of(*p.block_size))
    return Mistake{"", "\"draft_length\" can't exceed the " + std::to_string(drafts.of(*p.block_size)) +
                           " drafts of \"block_size\""};
  return std::nullopt;
}

std::optional<Mistake> unfit_block(const Context& c) {
  const auto& p = c.spec.own<BlockParameters>();
  if (!c.published && c.target.shape.latent() != nullptr)
    return Mistake{"", "its layers have the target's heads, and no block drafter with latent attention is known"};
  const int block = rows_of_block(c), trained = c.published ? c.published->block.rows : 0;
  if (trained > 0 && block > trained)
    return Mistake{"/checkpoint", "its blocks have " + std::to_string(trained) + " rows, which give " +
                                      std::to_string(block_drafts(c.spec.entry()).of(trained)) + " drafts"};
  if (p.window && *p.window < block)
    return Mistake{"/window", "must be at least " + std::to_string(block) + ", got " + std::to_string(*p.window)};
  return std::nullopt;
}

BlockDrafter::BlockDrafter(Context& c, const std::string& prefix, BlockShape block)
    : target_(c.target),
      block_(std::move(block)),
      length_(c.spec.draft_length().value_or(block_drafts(c.spec.entry()).of(block_.block))),
      head_(c.target, c.weights, prefix, block_.vocabulary),
      drafts_(block_drafts(c.spec.entry())) {
  const AttentionHeads& h = attention().heads;
  const int d = block_.layer.hidden, q = h.q_columns(), kv = 2 * h.k_columns(),
            inner = block_.layer.dense_mlp()->intermediate;
  if (block_.own_embedding)
    embedding_ = c.weights.embedding(prefix + "embedding", c.target.shape.vocabulary, c.target.shape.hidden);
  const auto convolution = [&](const std::string& name) {
    const int taps = block_.conv_taps;
    return Convolution{c.weights.matrix(name + "kernel", d, 2 * taps * (d / block_.conv_group)),
                       c.weights.table(name + "into", taps, d), c.weights.table(name + "out_of", taps, d)};
  };
  fc_ = c.weights.matrix(prefix + "fc", count(block_.target_layers) * d, d);
  state_norm_ = c.weights.vector(prefix + "state_norm", d);
  std::map<int, int> of_window;
  for (const int w : block_.windows) ++of_window[w];
  std::map<int, Cache> caches;
  for (const auto& [w, count] : of_window)
    caches[w] = c.ops.cache(count, h.kv_heads, h.head_dim, c.capacity, Window{w});
  std::map<int, int> next;
  for (std::size_t i = 0; i < block_.windows.size(); ++i) {
    const std::string name = prefix + "layers." + std::to_string(i) + ".";
    Layer l;
    l.cache = caches.at(block_.windows[i]);
    l.in_cache = next[block_.windows[i]]++;
    l.causal = !block_.causal.empty() && block_.causal[i];
    l.q = c.weights.attention(name + "q", d, q);
    l.kv = c.weights.attention(name + "kv", d, kv);
    l.rest.shape = block_.layer;
    l.rest.attention_norm = c.weights.vector(name + "input_norm", d);
    l.rest.q_norm = c.weights.vector(name + "q_norm", h.head_dim);
    l.rest.k_norm = c.weights.vector(name + "k_norm", h.head_dim);
    l.rest.o = c.weights.attention(name + "o", q, d);
    l.rest.mlp_norm = c.weights.vector(name + "mlp_norm", d);
    l.rest.gate_up = c.weights.matrix(name + "gate_up", d, 2 * inner);
    l.rest.down = c.weights.matrix(name + "down", inner, d);
    if (block_.conv_taps > 0) {
      l.attention_conv = convolution(name + "attention_conv.");
      l.mlp_conv = convolution(name + "mlp_conv.");
    }
    layers_.push_back(l);
  }
  out_norm_ = c.weights.vector(prefix + "out_norm", d);
}

std::optional<int> BlockDrafter::longest_chain() const {
  return block_.trained > 0 ? std::optional(drafts_.of(block_.trained)) : std::nullopt;
}

Tensor BlockDrafter::keys(Ops& ops, const Layer& l, Tensor kv) const {
  const AttentionHeads& h = attention().heads;
  return ops.rms_norm(columns(kv, 0, h.k_columns()), *l.rest.k_norm, epsilon(), h.head_dim);
}

Tensor BlockDrafter::values(Tensor kv) const {
  const AttentionHeads& h = attention().heads;
  return columns(kv, h.k_columns(), h.v_columns());
}

void BlockDrafter::extend(Ops& ops, const Session& s, const Committed& c) {
  std::vector<Tensor> states;
  for (const int layer : block_.target_layers) states.push_back(c.auxiliary_states.at(layer));
  const Tensor fused = ops.rms_norm(ops.linear(ops.gather(states, c.path), fc_), state_norm_, epsilon());
  const PassRef pass = ops.pass({c.rows, s.slots});
  for (const Layer& l : layers_) {
    const Tensor kv = ops.linear(fused, l.kv);
    ops.append(keys(ops, l, kv), values(kv), attention().rope, {pass, l.cache, l.in_cache});
  }
}

Tensor BlockDrafter::convolved(Ops& ops, const std::optional<Convolution>& conv, Tensor y,
                               const std::function<Tensor(Tensor)>& sublayer) const {
  if (!conv) return sublayer(y);
  const Tensor deltas = ops.linear(y, conv->kernel);
  const int half = deltas.cols / 2;
  const Tensor before = ops.grouped_conv(y, columns(deltas, 0, half), conv->into, block_.block);
  return ops.grouped_conv(sublayer(before), columns(deltas, half, half), conv->out_of, block_.block);
}

Tensor BlockDrafter::mask_states(Ops& ops, const Session& s) const {
  std::vector<int> masks;
  for (int q = 0; q < s.sequences; ++q)
    for (int j = 1; j < block_.block; ++j) masks.push_back(q * block_.block + j);
  return ops.gather(states(ops, s), ops.constant(masks));
}

Tensor BlockDrafter::states(Ops& ops, const Session& s) const {
  std::vector<int> index;
  for (int q = 0; q < s.sequences; ++q)
    for (int j = 0; j < block_.block; ++j) index.push_back(j == 0 ? q : s.sequences);
  const Tensor tokens = ops.gather(ops.concat_rows({s.root, ops.constant({block_.mask_token})}), ops.constant(index));
  std::map<bool, PassRef> passes;
  for (const Layer& l : layers_)
    if (!passes.contains(l.causal))
      passes.emplace(l.causal,
                     ops.pass({.rows = ops.uniform(s.sequences, block_.block), .slots = s.slots, .causal = l.causal}));
  Stream x{embedding_ ? ops.sum_over_ranks(ops.embed(*embedding_, tokens), target_.ranks) : target_.embed(ops, tokens)};
  for (const Layer& l : layers_) {
    const PassRef pass = passes.at(l.causal);
    const Tensor y = x.norm(ops, *l.rest.attention_norm, epsilon());
    x.push(ops, convolved(ops, l.attention_conv, y, [&](Tensor rows) {
             const Tensor q =
                 ops.rms_norm(ops.linear(rows, l.q), *l.rest.q_norm, epsilon(), attention().heads.head_dim);
             const Tensor kv = ops.linear(rows, l.kv);
             const Tensor rotated =
                 ops.rope_append(q, keys(ops, l, kv), values(kv), attention().rope, {pass, l.cache, l.in_cache});
             const Tensor attended = ops.attend(rotated, {pass, l.cache, l.in_cache});
             return ops.sum_over_ranks(ops.linear(attended, l.rest.o), target_.ranks);
           }));
    const Tensor z = x.norm(ops, *l.rest.mlp_norm, epsilon());
    x.push(ops, convolved(ops, l.mlp_conv, z, [&](Tensor rows) { return mlp(ops, rows, l.rest, target_.ranks); }));
  }
  return x.norm(ops, out_norm_, epsilon());
}

}  // namespace draftline::methods
