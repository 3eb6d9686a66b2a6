// SPDX-License-Identifier: Apache-2.0
#include "methods/decoder.h"

namespace draftline {

static std::unique_ptr<Method> make_method(methods::Context c, const Decoder::FindTransformer& find,
                                           const Decoder::FindDrafter& drafter) {
  c.weights.drafter_follows();
  methods::resolve(c, find, drafter);
  methods::refuse_mistakes(c);
  return c.spec.entry().make(c);
}

Decoder::Decoder(const Options& o, const MethodSpec& spec, const FindTransformer& find, const MakeBackend& make_backend)
    : weights(o.precision),
      backend(make_backend(weights)),
      ops(*backend, o.precision.activations, o.slots * o.positions_per_slot, o.slots, o.precision.kv_cache),
      target(shard(o.target, o.parallel), weights, ops, o.capacity, {.ranks = o.parallel.tensor(), .states = o.states}),
      target_bytes(weights.bytes()),
      method(make_method({ops, weights, target, o.capacity, spec, o.accepted}, find, o.drafter)),
      generator(ops, target, *method, o.sampling) {}

}  // namespace draftline
