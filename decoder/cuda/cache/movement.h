// SPDX-License-Identifier: Apache-2.0
// Ops that move rows: gather, concat and store in any format, and keys and values into the cache and within it. Each is
// one launch. Shapes: decoder/op/movement.h.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// Tensors to be put side by side, or one below the other. Word is the storage of a value: uint16_t or uint32_t.
inline constexpr int kMostParts = 96;
template <class Word>
struct Parts {
  View<const Word> part[kMostParts];
  int begin[kMostParts + 1] = {};  // the first column, or row, of each part in the result
  int count = 0;
};

// Row r of y is row index[r / span] + shift + r % span of every part; if index.data is null, row r.
template <class Word>
void gather(const Parts<Word>&, View<const int> index, int shift, int span, View<Word> y, cudaStream_t);
// Puts the parts one below the other; a single part is copied.
template <class Word>
void concat_rows(const Parts<Word>&, View<Word> y, cudaStream_t);

struct Rotation {
  const float* frequencies = nullptr;  // [half]: radians per position of each pair of columns
  int half = 0;
  float factor = 1;                                       // of sines and cosines
  float growth_every = 1, growth = 0, growth_offset = 1;  // of queries: QueryGrowth
};
// Rotates q into y, and appends the rotated k, and v, to the cache behind the tail. Where k has no columns nothing is
// appended.
template <class T>
struct RopeAppendView {
  View<const T> q, k, v;
  Rotation rotation;
  PassView pass;
  CacheView<T> cache;
  int layer;
  View<T> y;
};
template <class T>
void rope_append(const RopeAppendView<T>&, cudaStream_t);

// Moves the entries of the rows on `path` [sequences * rows] to entries length, length + 1, ... in all `layers` layers.
template <class T>
void commit(View<const int> path, View<const int> cu_seqlens, const BatchSlotsView&, CacheView<T>, int layers,
            cudaStream_t);

// The fields of FollowPath in decoder/op/trees.h.
struct FollowPathView {
  View<const int> last, cu_seqlens, to;
  int items, own;
  View<int> y, newest;
};
void follow_path(const FollowPathView&, cudaStream_t);

// lengths [sequences] += counts [sequences].
void advance(View<const int> counts, View<int> lengths, cudaStream_t);

}  // namespace draftline::cuda
