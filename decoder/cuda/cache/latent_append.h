// SPDX-License-Identifier: Apache-2.0
// LatentAppend of decoder/op/latent_attention.h: rotates the queries' last columns and the shared key, and appends the
// latent and that key to the cache behind the tail. One launch.
#pragma once
#include "decoder/cuda/cache/movement.h"

namespace draftline::cuda {

// q [total, heads * (nope + rope)], latent [total, rank], shared_key [total, rope] -> q_rope [total, heads * rope],
// k_rope [total, rope]; the cache's columns are rank + rope.
template <class T>
struct LatentAppendView {
  View<const T> q, latent, shared_key;
  Rotation rotation;
  PassView pass;
  CacheView<T> cache;
  int layer;
  View<T> q_rope, k_rope;
};
template <class T>
void latent_append(const LatentAppendView<T>&, cudaStream_t);

}  // namespace draftline::cuda
