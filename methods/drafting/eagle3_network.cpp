// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/eagle3_network.h"

#include <algorithm>

#include "methods/drafting/feature_drafter.h"

namespace draftline::methods {

Eagle3Network::Eagle3Network(Context& c, const std::string& prefix, const DrafterConfig& drafter, Cache cache)
    : target_(c.target), drafter_(drafter), cache_(cache) {
  const int d = c.target.shape.hidden;
  const int joined = count(auxiliary_layers()) * d;
  if (drafter.norm_before_fc || drafter.norm_each_state)
    fusion_norm_ = c.weights.vector(prefix + "fusion_norm", joined);
  fc_ = c.weights.matrix(prefix + "fc", joined, d);
  token_norm_ = c.weights.vector(prefix + "token_norm", d);
  state_norm_ = c.weights.vector(prefix + "state_norm", d);
  layers_.push_back(make_layer(c.weights, prefix + "layer.", first_eagle3_layer(drafter.layer)));
  for (int i = 1; i < drafter.layers; ++i)
    layers_.push_back(make_layer(c.weights, prefix + "layers." + std::to_string(i) + ".", drafter.layer));
  out_norm_ = c.weights.vector(prefix + "out_norm", d);
  head_ = DraftHead(c.target, c.weights, prefix, drafter.vocabulary);
}

std::vector<int> Eagle3Network::auxiliary_layers() const {
  if (!drafter_.auxiliary_layers.empty()) return drafter_.auxiliary_layers;
  const int l = target_.shape.layers();
  return {std::min(2, l), l / 2, std::max(0, l - 3)};
}

Tensor Eagle3Network::fused(Ops& ops, const Committed& c) const {
  std::vector<Tensor> states;
  for (const int layer : auxiliary_layers()) states.push_back(c.auxiliary_states.at(layer));
  Tensor joined = ops.gather(states, c.path);
  const int width = drafter_.norm_each_state ? target_.shape.hidden : 0;
  if (fusion_norm_) joined = ops.rms_norm(joined, *fusion_norm_, epsilon(), width);
  return ops.linear(joined, fc_);
}

Tensor Eagle3Network::forward(Ops& ops, Tensor states, Tensor embedded, PassRef pass) const {
  const Tensor tokens = ops.rms_norm(embedded, token_norm_, epsilon());
  const Tensor normed = ops.rms_norm(states, state_norm_, epsilon());
  Stream x{drafter_.norm_before_residual ? normed : states};
  for (int i = 0; i < layers_.size(); ++i) {
    if (i == 0)
      x.push(ops,
             self_attention(ops, ops.gather(std::vector{tokens, normed}), layers_[0], pass, cache_, 0, target_.ranks));
    else add_attention(ops, x, layers_[i], pass, {cache_, i}, target_.ranks);
    add_mlp(ops, x, layers_[i], target_.ranks);
  }
  return drafter_.normed_state ? x.norm(ops, out_norm_, epsilon()) : x.value(ops);
}

Tensor Eagle3Network::logits(Ops& ops, Tensor states) const {
  return head_.logits(ops, target_, drafter_.normed_state ? states : ops.rms_norm(states, out_norm_, epsilon()));
}

}  // namespace draftline::methods
