// SPDX-License-Identifier: Apache-2.0
// Caches that keep a part of a text (KeepEntries, SelectEntries of decoder/op/rings.h): what is copied into them, and
// which entries of a prompt are chosen. One launch each.
#pragma once
#include <cuda_runtime_api.h>

#include "decoder/cuda/runtime/view.h"

namespace draftline::cuda {

// The entries of rows up to `last` [sequences] of each path, from the committed length on.
template <class T>
struct KeepEntriesView {
  View<const int> last, cu_seqlens;
  BatchSlotsView slots;
  CacheView<T> from, to;
  int layers, rows;
};
template <class T>
void keep_entries(const KeepEntriesView<T>&, cudaStream_t);

struct EntryRanking {
  int layer, window, pool;
  float scale;  // of q against keys
};
std::size_t select_scratch(int sequences, int widest, int kv_heads);  // bytes
// q [total, heads * head_dim] of whole prompts.
template <class T>
struct SelectEntriesView {
  View<const T> q;
  PassView pass;
  CacheView<T> from, to;
  EntryRanking ranking;
};
template <class T>
void select_entries(const SelectEntriesView<T>&, const Scratch&, cudaStream_t);

}  // namespace draftline::cuda
