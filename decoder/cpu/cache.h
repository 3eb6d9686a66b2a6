// SPDX-License-Identifier: Apache-2.0
// Keys and values of one Cache. A head's keys of a sequence are stored in panels of 16 positions with one line per
// column, its values in blocks of 16 columns with one line per position, so that attention reads both line by line.
#pragma once
#include <memory_resource>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/cpu/lines.h"
#include "decoder/tensor.h"

namespace draftline {

class CpuCache {
 public:
  // Every entry starts as NaN, or, if `filled`, with random values in [-1, 1).
  CpuCache(const Cache&, int kv_slots, int capacity, bool filled);

  // Key, then value of one entry, all heads. A latent is stored as both; an indexer's key follows that of the latent.
  // Throws Bug if the entry is outside the cache.
  std::vector<float> entry(int layer, int kv_slot, int position) const;
  void store(int layer, int kv_slot, int position, const float* k, const float* v);
  void store_index(int layer, int kv_slot, int position, const float* k);
  // The lines of the panel with this position: those of latent keys, and those of the indexer's keys.
  const PanelLine* latent_panel(int layer, int kv_slot, int position) const {
    return keys(layer, kv_slot, 0) + position / kPanel * (dim_ + index_dim_);
  }
  const PanelLine* index_panel(int layer, int kv_slot, int position) const {
    return latent_panel(layer, kv_slot, position) + dim_;
  }
  void add_latent(int layer, int kv_slot, int position, float times, float* to) const;  // to += times * the latent
  void move(int layer, int kv_slot, int from, int to);
  // Copies one head's key and value from an entry of `from`, which has the same shape, to an entry of this cache.
  void copy(int layer, int kv_slot, int head, int to, const CpuCache& from, int entry);
  void check_entry(int kv_slot, int position) const;

  // The lines of one head, without an indexer: of panel p and column c at [p * head_dim + c]; of block b and position i
  // at [b * capacity + i].
  const PanelLine* keys(int layer, int kv_slot, int head) const {
    return &keys_[first(layer, kv_slot, head) * key_lines_];
  }
  const PanelLine* values(int layer, int kv_slot, int head) const {
    return &values_[first(layer, kv_slot, head) * value_lines_];
  }
  int capacity() const { return capacity_; }

 private:
  std::size_t first(int layer, int kv_slot, int head) const {
    return (at(layer) * at(kv_slots_) + at(kv_slot)) * at(heads_) + at(head);
  }
  float* key(int layer, int kv_slot, int position, int head);
  float* value(int layer, int kv_slot, int position, int head);
  const float* key(int layer, int kv_slot, int position, int head) const {
    return const_cast<CpuCache*>(this)->key(layer, kv_slot, position, head);
  }
  const float* value(int layer, int kv_slot, int position, int head) const {
    return const_cast<CpuCache*>(this)->value(layer, kv_slot, position, head);
  }

  int kv_slots_, capacity_, heads_, dim_, index_dim_, value_dim_;
  std::size_t key_lines_, value_lines_;  // per head
  std::pmr::vector<PanelLine> keys_, values_;
};

}  // namespace draftline
