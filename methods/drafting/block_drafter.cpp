// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/block_drafter.h"

#include <algorithm>
#include <cmath>

#include "decoder/rope.h"
#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/masked_rows.h"

namespace draftline::methods {

// As in the authors' code: evenly spread from the second layer to the third from the end, halves to even.
static std::vector<int> spread_layers(int target_layers, int layers) {
  if (layers == 1) return {target_layers / 2};
  const int first = std::min(1, target_layers - 1), last = std::max(first, target_layers - 3);
  std::vector<int> chosen;
  for (int i = 0; i < layers; ++i)
    chosen.push_back(static_cast<int>(std::nearbyint(first + static_cast<double>(i * (last - first)) / (layers - 1))));
  return chosen;
}

BlockShape read_block(const MethodSpec& spec, const Transformer& target, const BlockDrafts& drafts) {
  constexpr int kMostLayers = 32, kMostFused = 16, kMostWindow = 1 << 24;
  const Reader& in = spec.in();
  BlockShape b;
  const auto length = spec.draft_length();
  const auto block = in.find("block_size"), layers = in.find("layers"), fused = in.find("target_layers");
  const int least = drafts.root_predicts ? 1 : 2;
  b.block = block    ? block->integer(least, spec.entry().lengths.most + least - 1)
            : length ? *length + least - 1
                     : drafts.usual_block;
  if (block && length && *length > drafts.of(b.block))
    in.fail("\"draft_length\" can't exceed the " + std::to_string(drafts.of(b.block)) + " drafts of \"block_size\"");
  if (layers) b.layers = layers->integer(1, kMostLayers);
  if (fused) {
    for (const Reader& layer : fused->items()) b.target_layers.push_back(layer.integer(0, target.shape.layers - 1));
    if (b.target_layers.empty() || b.target_layers.size() > kMostFused)
      fused->fail("must name 1 to " + std::to_string(kMostFused) + " layers");
  }
  if (b.target_layers.empty()) b.target_layers = spread_layers(target.shape.layers, b.layers);
  b.mask_token = read_mask_token(spec, target);
  if (const auto window = in.find("window")) b.window = window->integer(b.block, kMostWindow);
  if (target.shape.latent)
    in.fail("its layers have the target's heads, and no block drafter with latent attention is known");
  return b;
}

bool fits_block(const MethodSpec& spec, const BlockDrafts& drafts) {
  const auto block = spec.in().find("block_size");
  return !block || *spec.draft_length() <= drafts.of(block->integer());
}

BlockDrafter::BlockDrafter(Context& c, const std::string& prefix, BlockShape block)
    : target_(c.target), shape_(drafter_layer_shape(c.target.shape)), block_(std::move(block)) {
  shape_.qk_norm = true;
  shape_.latent.reset();
  const int d = shape_.hidden, q = shape_.q_columns(), kv = 2 * shape_.kv_columns();
  const auto convolution = [&](const std::string& name) {
    const int taps = block_.conv_taps;
    return Convolution{c.weights.matrix(name + "kernel", d, 2 * taps * (d / block_.conv_group)),
                       c.weights.table(name + "into", taps, d), c.weights.table(name + "out_of", taps, d)};
  };
  fc_ = c.weights.matrix(prefix + "fc", static_cast<int>(block_.target_layers.size()) * d, d);
  state_norm_ = c.weights.vector(prefix + "state_norm", d);
  for (int i = 0; i < block_.layers; ++i) {
    const std::string name = prefix + "layers." + std::to_string(i) + ".";
    Layer l;
    l.q = c.weights.attention(name + "q", d, q);
    l.kv = c.weights.attention(name + "kv", d, kv);
    l.rest.attention_norm = c.weights.vector(name + "input_norm", d);
    l.rest.q_norm = c.weights.vector(name + "q_norm", shape_.head_dim);
    l.rest.k_norm = c.weights.vector(name + "k_norm", shape_.head_dim);
    l.rest.o = c.weights.attention(name + "o", q, d);
    l.rest.mlp_norm = c.weights.vector(name + "mlp_norm", d);
    l.rest.gate_up = c.weights.matrix(name + "gate_up", d, 2 * shape_.intermediate);
    l.rest.down = c.weights.matrix(name + "down", shape_.intermediate, d);
    if (block_.conv_taps > 0) {
      l.attention_conv = convolution(name + "attention_conv.");
      l.mlp_conv = convolution(name + "mlp_conv.");
    }
    layers_.push_back(l);
  }
  out_norm_ = c.weights.vector(prefix + "out_norm", d);
  cache_ = c.ops.cache(block_.layers, shape_.kv_heads, shape_.head_dim, c.capacity, Window{block_.window});
}

std::vector<int> BlockDrafter::auxiliary_layers() const {
  std::vector<int> entered;
  for (const int layer : block_.target_layers) entered.push_back(layer + 1);
  return entered;
}

Tensor BlockDrafter::keys(Ops& ops, const Layer& l, Tensor kv) const {
  return ops.rms_norm(columns(kv, 0, shape_.kv_columns()), *l.rest.k_norm, epsilon(), shape_.head_dim);
}

Tensor BlockDrafter::values(Tensor kv) const { return columns(kv, shape_.kv_columns(), shape_.kv_columns()); }

void BlockDrafter::extend(Ops& ops, const Session& s, const Committed& c) const {
  std::vector<Tensor> states;
  for (const int layer : auxiliary_layers()) states.push_back(c.auxiliary_states.at(layer));
  const Tensor fused = ops.rms_norm(ops.linear(ops.gather(states, c.path), fc_), state_norm_, epsilon());
  const PassRef pass = ops.pass({c.rows, s.slots});
  for (int i = 0; i < block_.layers; ++i) {
    const Layer& l = layers_[static_cast<std::size_t>(i)];
    const Tensor kv = ops.linear(fused, l.kv);
    ops.append(keys(ops, l, kv), values(kv), rope_of(shape_), pass, cache_, i);
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
  const PassRef pass = ops.pass({.rows = ops.uniform(s.sequences, block_.block), .slots = s.slots, .causal = false});
  Stream x{target_.embed(ops, tokens)};
  for (int i = 0; i < block_.layers; ++i) {
    const Layer& l = layers_[static_cast<std::size_t>(i)];
    const Tensor y = x.norm(ops, *l.rest.attention_norm, epsilon());
    x.push(ops, convolved(ops, l.attention_conv, y, [&](Tensor rows) {
             const Tensor q = ops.rms_norm(ops.linear(rows, l.q), *l.rest.q_norm, epsilon(), shape_.head_dim);
             const Tensor kv = ops.linear(rows, l.kv);
             const Tensor rotated = ops.rope_append(q, keys(ops, l, kv), values(kv), rope_of(shape_), pass, cache_, i);
             const Tensor attended = ops.attend(rotated, pass, cache_, i);
             return ops.sum_over_ranks(ops.linear(attended, l.rest.o), target_.ranks);
           }));
    const Tensor z = x.norm(ops, *l.rest.mlp_norm, epsilon());
    x.push(ops,
           convolved(ops, l.mlp_conv, z, [&](Tensor rows) { return mlp(ops, rows, l.rest, shape_, target_.ranks); }));
  }
  return x.norm(ops, out_norm_, epsilon());
}

}  // namespace draftline::methods
