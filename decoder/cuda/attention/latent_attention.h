// SPDX-License-Identifier: Apache-2.0
// Latent attention (decoder/op/latent_attention.h): absorbed, over the latents of a paged cache, which all heads share,
// or expanded, among the rows of whole prompts. Absorbed attention has a second launch where contexts are split.
#pragma once
#include <cuda_runtime.h>

#include "decoder/cuda/attention/attention.h"

namespace draftline::cuda {

struct LatentShape {
  int sequences, widest, heads, rank, rope;
  int capacity;        // cache entries that a sequence may have
  int sms;             // of the device
  std::size_t shared;  // memory that the device gives a block, in bytes
};
// Tiles are of rows x heads, as those of plan_attend: 64 of them where the shared memory has room for their queries.
template <class T>
AttendPlan plan_latent(const LatentShape&);
template <class T>
std::size_t latent_scratch(const LatentShape&);  // bytes

// q [total, heads * rank], q_rope [total, heads * rope] over a cache of rank + rope columns -> y [total, heads * rank].
// `scale`: of scores.
template <class T>
struct LatentAttendView {
  View<const T> q, q_rope;
  PassView pass;
  CacheView<T> cache;
  int layer;
  float scale;
  View<T> y;
};
// Scratch: latent_scratch() bytes. A Bug if it is too small. Throws InputErrors if a latent has more than 512 columns.
template <class T>
void latent_attend(const LatentAttendView<T>&, const LatentShape&, const Scratch&, cudaStream_t);

struct ExpandedShape {
  int heads, nope, rope, value;
};
// Causal among the rows of each sequence, before which nothing is cached: q [total, heads * (nope + rope)], whose
// rotated columns are q_rope's [total, heads * rope]; kv [total, heads * (nope + value)], k_rope [total, rope] ->
// y [total, heads * value].
template <class T>
struct ExpandedAttendView {
  View<const T> q, q_rope, kv, k_rope;
  PassView pass;
  float scale;
  View<T> y;
};
// Throws InputErrors if a value has more than 512 columns.
template <class T>
void expanded_attend(const ExpandedAttendView<T>&, const ExpandedShape&, cudaStream_t);

}  // namespace draftline::cuda
