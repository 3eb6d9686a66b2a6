// SPDX-License-Identifier: Apache-2.0
#include "methods/eagle3_network.h"

#include <algorithm>

#include "methods/feature_drafter.h"

namespace draftline::methods {

int read_draft_vocabulary(const MethodSpec& spec, const Transformer& target) {
  const auto given = spec.in().find("draft_vocabulary");
  return given ? given->integer(1, target.vocabulary()) : std::min(32000, target.vocabulary());
}

Eagle3Network::Eagle3Network(Context& c, const std::string& prefix, int layers, int vocabulary, Cache cache)
    : target_(c.target), shape_(drafter_layer_shape(c.target.shape)), cache_(cache) {
  const int d = shape_.hidden;
  fc_ = c.weights.matrix(prefix + "fc", 3 * d, d);
  token_norm_ = c.weights.vector(prefix + "token_norm", d);
  state_norm_ = c.weights.vector(prefix + "state_norm", d);
  layers_.push_back(make_layer(c.weights, prefix + "layer.", shape_, {.inputs = 2 * d, .input_norm = false}));
  for (int i = 1; i < layers; ++i)
    layers_.push_back(make_layer(c.weights, prefix + "layers." + std::to_string(i) + ".", shape_));
  out_norm_ = c.weights.vector(prefix + "out_norm", d);
  head_ = c.weights.lm_head(prefix + "lm_head", d, (vocabulary + c.target.ranks - 1) / c.target.ranks);
  if (vocabulary < c.target.vocabulary()) offsets_ = c.weights.vector(prefix + "id_offsets", vocabulary);
}

std::vector<int> Eagle3Network::auxiliary_layers(const Transformer& target) {
  const int l = target.shape.layers;
  return {std::min(2, l), l / 2, std::max(0, l - 3)};
}

Tensor Eagle3Network::fused(Ops& ops, const Committed& c) const {
  std::vector<Tensor> states;
  for (const int layer : auxiliary_layers(target_)) states.push_back(c.auxiliary_states.at(layer));
  return ops.linear(ops.gather(states, c.path), fc_);
}

Tensor Eagle3Network::forward(Ops& ops, Tensor states, Tensor tokens, PassRef pass) const {
  const Tensor embedded = ops.rms_norm(target_.embed(ops, tokens), token_norm_, epsilon());
  Tensor y = ops.gather(std::vector{embedded, ops.rms_norm(states, state_norm_, epsilon())});
  Stream x{states};
  for (int i = 0; i < static_cast<int>(layers_.size()); ++i) {
    const LayerWeights& w = layers_[static_cast<std::size_t>(i)];
    if (i > 0) y = x.norm(ops, *w.attention_norm, epsilon());
    x.push(ops, self_attention(ops, y, w, shape_, pass, cache_, i, target_.ranks));
    const Tensor z = x.norm(ops, *w.mlp_norm, epsilon());
    x.push(ops, mlp(ops, z, w, shape_, target_.ranks));
  }
  return x.value(ops);
}

Tensor Eagle3Network::logits(Ops& ops, Tensor states) const {
  return ops.gather_over_ranks(ops.linear(ops.rms_norm(states, out_norm_, epsilon()), head_), target_.ranks);
}

}  // namespace draftline::methods
