// SPDX-License-Identifier: Apache-2.0
// LatentAppend of decoder/op/latent_attention.h.
#include "decoder/cuda/cache/rotate.cuh"
#include "decoder/cuda/runtime/on_device.h"

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
void run(const OnDevice<T>& d, const LatentAppend& o) {
  const int tasks = o.q_rope.cols / o.k_rope.cols + 1;
  const PassView pass = d.view(o.pass);
  launch_overlapping(latent_append_kernel<T>, grid_of(pass.widest, pass.sequences, ceil_div(tasks, kHeadsPerBlock)),
                     dim3(32 * kHeadsPerBlock), 0, d.stream, d.in(o.q), d.in(o.latent), d.in(o.shared_key),
                     d.rotation(o.rope), pass, d.view(o.cache), o.layer, d.out(o.q_rope), d.out(o.k_rope));
}
FOR_FORMATS(void, run, LatentAppend);

}  // namespace draftline::cuda
