// SPDX-License-Identifier: Apache-2.0
// The arguments of kernels: device addresses and extents, passed by value. T is float or __nv_bfloat16, the
// activations' format; all sums are fp32. This header is plain C++ and needs no CUDA.
#pragma once
#include <cstddef>

#ifdef __CUDACC__
#define DRAFTLINE_BOTH __host__ __device__
#else
#define DRAFTLINE_BOTH
#endif

namespace draftline::cuda {

template <class T>
struct View {  // row-major; stride in elements
  T* data = nullptr;
  int rows = 0, cols = 0, stride = 0;
  DRAFTLINE_BOTH T* row(int r) const { return data + std::ptrdiff_t{r} * stride; }
};

struct BatchSlotsView {  // [sequences] each; views may be strided
  View<const int> kv_slots, lengths, ids;
};

// One forward pass. `cu_seqlens` [sequences + 1]: the first row of each sequence is data on the device; the totals are
// known to the host, as grids depend on them.
struct PassView {
  View<const int> cu_seqlens;
  BatchSlotsView slots;
  View<const int> tree_mask = {};  // [total, words]: bit j = attends to tail entry j. data null: causal
  int sequences = 0, total = 0, widest = 0, tail = 0;
  bool causal = true;  // false: each row attends to all rows of the pass
  // Whether keys behind a row may be needed: all rows then read the keys of all.
  DRAFTLINE_BOTH bool looks_ahead() const { return tree_mask.data != nullptr || !causal; }
};

// Keys and values of a cache, in blocks of kBlockTokens entries: [layer][block][K, V][kv head][entry in block][column].
// Latent attention has one head, whose key is all there is (`value_dim` is 0): its first columns are the value, and its
// last ones are an indexer's key, where there is an indexer.
// `blocks`: [KV slots][blocks_per_kv_slot], the block that holds an entry.
inline constexpr int kBlockTokens = 16;
template <class T>
struct CacheView {
  T* data = nullptr;
  const int* blocks = nullptr;
  int blocks_per_kv_slot = 0, block_count = 0, kv_heads = 0, head_dim = 0, value_dim = 0;
  int ring = 0, sinks = 0;  // as of Window: committed entries that there is room for; 0: all
  // Committed entries that are held of a text, and the entry of a committed position.
  DRAFTLINE_BOTH int held(int length) const { return ring > 0 && length > ring ? ring : length; }
  DRAFTLINE_BOTH int place(int position) const {
    return ring > 0 && position >= ring ? sinks + (position - sinks) % (ring - sinks) : position;
  }
  // `kv`: 0 for keys, 1 for values.
  DRAFTLINE_BOTH int columns(int kv) const { return kv == 0 ? head_dim : value_dim; }
  DRAFTLINE_BOTH int sides() const { return value_dim > 0 ? 2 : 1; }
  DRAFTLINE_BOTH int widest() const { return head_dim > value_dim ? head_dim : value_dim; }
  // The columns of one head of entry `key`.
  DRAFTLINE_BOTH T* entry(int layer, int kv_slot, int key, int kv, int head) const {
    const int block = blocks[kv_slot * blocks_per_kv_slot + key / kBlockTokens];
    const auto whole = (std::ptrdiff_t{layer} * block_count + block) * (head_dim + value_dim);
    const std::ptrdiff_t before = (whole + kv * head_dim) * kv_heads;  // columns of all entries of a block
    return data + before * kBlockTokens + (head * kBlockTokens + key % kBlockTokens) * columns(kv);
  }
};

// The rings of one StateCache: [layer][KV slot][position mod ring] of states [value heads, key_dim, value_dim] in S, or
// of rows in T.
template <class T, class S>
struct StateView {
  S* states = nullptr;
  T* rows = nullptr;
  int kv_slots = 0, ring = 0, row_ring = 0;
  int columns = 0;  // of a row
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, kernel = 0;
  DRAFTLINE_BOTH S* state(int layer, int kv_slot, int position, int head) const {
    const auto at = std::ptrdiff_t{layer * kv_slots + kv_slot} * ring + (position + ring) % ring;
    return states + (at * value_heads + head) * key_dim * value_dim;
  }
  DRAFTLINE_BOTH T* row(int layer, int kv_slot, int position) const {
    const auto at = std::ptrdiff_t{layer * kv_slots + kv_slot} * row_ring + (position + row_ring) % row_ring;
    return rows + at * columns;
  }
};

// Rotary embedding of positions.
struct Rotation {
  const float* frequencies = nullptr;  // [half]: radians per position of each pair of columns
  int half = 0;
  float factor = 1;                                       // of sines and cosines
  float growth_every = 1, growth = 0, growth_offset = 1;  // of queries: QueryGrowth
};

// Preallocated workspace of one launch, aligned to 256 bytes. It begins with counters, which are zero before the first
// use; every launch leaves them zero.
struct Scratch {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};
inline constexpr int kCounters = 16384;
inline constexpr std::size_t kCounterBytes = kCounters * sizeof(unsigned);

}  // namespace draftline::cuda
