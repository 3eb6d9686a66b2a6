// SPDX-License-Identifier: Apache-2.0
// Moving rows: gather, concat and store of any format, keys and values into the cache and within it. One launch each.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// Rows of some tensors, side by side or below each other. Word: the storage of a value, uint16_t or uint32_t.
inline constexpr int kMostParts = 96;
template <class Word>
struct Parts {
  View<const Word> part[kMostParts];
  int begin[kMostParts + 1] = {};  // first column, or row, of each part in the result
  int count = 0;
};

// y's row r: row index[r / span] + shift + r % span of every part; index.data null: row r.
template <class Word>
void gather(const Parts<Word>&, View<const int> index, int shift, int span, View<Word> y, cudaStream_t);
// The parts below each other. One part: a copy.
template <class Word>
void concat_rows(const Parts<Word>&, View<Word> y, cudaStream_t);

// Rotates q into y; rotates k and stores k and v behind the tail. `frequencies`: angle per position of each of `half` pairs.
template <class T>
void rope_append(View<const T> q, View<const T> k, View<const T> v, const float* frequencies, int half, const PassView&,
                 CacheView<T>, int layer, View<T> y, cudaStream_t);

// Moves the rows on `path` [sequences * per] to length.. in all of the cache's layers.
template <class T>
void commit(View<const int> path, View<const int> cu_seqlens, const BatchSlotsView&, CacheView<T>, int layers,
            cudaStream_t);

void advance(View<const int> counts, View<int> lengths, cudaStream_t);

}  // namespace draftline::cuda
