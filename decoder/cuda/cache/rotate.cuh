// SPDX-License-Identifier: Apache-2.0
// Rotary embedding by one warp: a row's position in the text, and the rotation of a head's columns.
#pragma once
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

// The position of row r, the i-th of its sequence, which has `length` committed entries.
__device__ inline float position_of(const PassView& pass, int r, int i, int length) {
  int visible = pass.tail + i + 1;  // entries of the tail to which the row may attend
  if (pass.tree_mask.data != nullptr) {
    visible = 0;
    for (int w = 0; w < pass.tree_mask.cols; ++w) visible += __popc(pass.tree_mask.row(r)[w]);
  }
  return to_float(length + visible - 1);
}

// Rotates the first 2 * half columns; the two halves of them hold the two coordinates of each pair. `also` gets the
// same, unless it is null.
template <class T>
__device__ void rotate(const T* from, const Rotation& by, int half, float position, float factor, T* to,
                       T* also = nullptr) {
  for (int c = lane_of(); c < half; c += 32) {
    const float angle = position * by.frequencies[c], cosine = factor * cosf(angle), sine = factor * sinf(angle);
    const float u = to_float(from[c]), v = to_float(from[c + half]);
    const T first = from_float<T>(u * cosine - v * sine), second = from_float<T>(u * sine + v * cosine);
    to[c] = first, to[c + half] = second;
    if (also != nullptr) also[c] = first, also[c + half] = second;
  }
}

template <class T>
__device__ void check_entry(const CacheView<T>& cache, int entry) {
  if (entry >= cache.blocks_per_kv_slot * kBlockTokens)
    __trap();  // the plan allocated too small a cache, which is a bug
}

}  // namespace draftline::cuda
