// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/eagle.h"

namespace draftline::methods {

Eagle::Eagle(Context& c, const std::string& prefix, const DraftShape& shape)
    : FeatureDrafter(c, shape, drafter_config(c), prefix),
      head_(c.target, c.weights, prefix, c.own<HeadParameters>().draft_vocabulary) {
  const int d = c.target.shape.hidden;
  fc_ = c.weights.matrix(prefix + "fc", 2 * d, d);
  fc_bias_ = c.weights.vector(prefix + "fc_bias", d);
  layer_ = make_layer(c.weights, prefix + "layer.", without_input_norm(drafter_.layer));
}

// Committed pairs with the target's features; their cache entries are permanent.
void Eagle::extend(Ops& ops, const Session& s, const Committed& c) {
  const Tensor feature = ops.gather(c.auxiliary_states.at(target_.shape.layers()), c.path);
  const Tensor out = forward(ops, feature, c.next, ops.pass({c.rows, s.slots}));
  ops.store(state(ops, s), ops.gather(out, c.last));
}

Tensor Eagle::forward(Ops& ops, Tensor feature, Tensor tokens, PassRef pass) const {
  Stream x{ops.linear(ops.gather(std::vector{embed(ops, tokens), feature}), fc_, fc_bias_)};
  x.push(ops, self_attention(ops, x.value(ops), layer_, pass, cache_, 0, target_.ranks));
  add_mlp(ops, x, layer_, target_.ranks);
  return x.value(ops);
}

}  // namespace draftline::methods
