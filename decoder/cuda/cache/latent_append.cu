// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/cache/latent_append.h"

#include "decoder/cuda/cache/rotate.cuh"

namespace draftline::cuda {

namespace {

constexpr int kHeadsPerBlock = 4;  // one for each warp

// grid (rows of a sequence, sequences, heads of q, and one for the key)
template <class T>
__global__ void latent_append_kernel(View<const T> q, View<const T> latent, View<const T> shared_key, Rotation rotation,
                                     PassView pass, CacheView<T> cache, int layer, View<T> q_rope, View<T> k_rope) {
  await_previous();
  const int i = block_x(), b = block_y();
  const int r = pass.cu_seqlens.row(b)[0] + i, h = block_z() * kHeadsPerBlock + warp_of();
  const int rope = k_rope.cols, heads = q_rope.cols / rope, of_head = q.cols / heads;
  if (r >= pass.cu_seqlens.row(b + 1)[0] || h > heads) return;
  const int length = pass.slots.lengths.row(b)[0], entry = length + pass.tail + i;
  const float position = position_of(pass, r, i, length);
  if (h < heads)
    return rotate(q.row(r) + (h + 1) * of_head - rope, rotation, rope / 2, position, rotation.factor,
                  q_rope.row(r) + h * rope);
  check_entry(cache, entry);
  T* to = cache.entry(layer, pass.slots.kv_slots.row(b)[0], entry, 0, 0);
  for (int c = lane_of(); c < latent.cols; c += 32) to[c] = latent.row(r)[c];
  rotate(shared_key.row(r), rotation, rope / 2, position, rotation.factor, k_rope.row(r), to + latent.cols);
}

}  // namespace

template <class T>
void latent_append(const LatentAppendView<T>& o, cudaStream_t s) {
  const int tasks = o.q_rope.cols / o.k_rope.cols + 1;
  launch_overlapping(latent_append_kernel<T>, grid_of(o.pass.widest, o.pass.sequences, ceil_div(tasks, kHeadsPerBlock)),
                     dim3(32 * kHeadsPerBlock), 0, s, o.q, o.latent, o.shared_key, o.rotation, o.pass, o.cache, o.layer,
                     o.q_rope, o.k_rope);
}
template void latent_append(const LatentAppendView<float>&, cudaStream_t);
template void latent_append(const LatentAppendView<bf16>&, cudaStream_t);

}  // namespace draftline::cuda
