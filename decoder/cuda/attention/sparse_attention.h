// SPDX-License-Identifier: Apache-2.0
// Sparse attention (decoder/op/latent_attention.h): an indexer's keys, the tokens that its scores choose, and attention
// to these alone. Each is one launch. A cache's columns are a latent, the shared key, and the indexer's key. Kernels
// are simple: each block computes alone what FlashMLA and DeepGEMM compute in tiles.
#pragma once
#include <cuda_runtime.h>

#include "decoder/cuda/cache/movement.h"

namespace draftline::cuda {

// Rotates q [total, heads * dim] into y, and puts the rotated k [total, dim] into the cache's last columns.
template <class T>
struct IndexAppendView {
  View<const T> q, k;
  Rotation rotation;
  PassView pass;
  CacheView<T> cache;
  int layer;
  View<T> y;
};
template <class T>
void index_append(const IndexAppendView<T>&, cudaStream_t);

std::size_t select_tokens_scratch(int rows, int capacity);  // bytes; capacity: cache entries of a sequence
// The fields of SelectTokens: q [total, heads * dim], weights [total, heads] -> y [total, top_k].
template <class T>
struct SelectTokensView {
  View<const T> q, weights;
  PassView pass;
  CacheView<T> cache;
  int layer;
  View<int> y;
};
// Scratch: select_tokens_scratch() bytes; a Bug if it is too small.
template <class T>
void select_tokens(const SelectTokensView<T>&, int capacity, const Scratch&, cudaStream_t);

// q [total, heads * rank], q_rope [total, heads * rope], tokens [total, top_k] -> y [total, heads * rank].
template <class T>
struct AttendToTokensView {
  View<const T> q, q_rope;
  View<const int> tokens;
  PassView pass;
  CacheView<T> cache;
  int layer;
  float scale;
  int heads;
  View<T> y;
};
// Throws InputErrors if a row has more tokens than the scores of a block have room for, 12288.
template <class T>
void attend_to_tokens(const AttendToTokensView<T>&, cudaStream_t);

}  // namespace draftline::cuda
