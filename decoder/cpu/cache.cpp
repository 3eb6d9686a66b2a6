// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/cache.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/int_indexed.h"
#include "decoder/cpu/huge_pages.h"

namespace draftline {

CpuCache::CpuCache(const Cache& c, int kv_slots, int capacity, bool filled)
    : kv_slots_(kv_slots),
      capacity_(capacity),
      heads_(c.kv_heads),
      dim_(c.head_dim),
      index_dim_(c.index_columns()),
      value_dim_(c.value_dim),
      key_lines_(at(panels_for(capacity)) * at(dim_ + index_dim_)),
      value_lines_(at(panels_for(value_dim_)) * at(capacity)),
      keys_(huge_pages()),
      values_(huge_pages()) {
  PanelLine poison;
  std::fill_n(poison.column, kPanel, std::bit_cast<float>(kPoison));
  const std::size_t all = first(c.layers, 0, 0);
  keys_.assign(all * key_lines_, poison);
  values_.assign(all * value_lines_, poison);
  if (!filled) return;
  std::uint32_t x = 1;
  for (auto* lines : {&keys_, &values_})
    for (PanelLine& line : *lines)
      for (float& v : line.column) {
        x = x * 1664525 + 1013904223;
        v = static_cast<float>(static_cast<std::int32_t>(x)) * 0x1p-31F;
      }
}

void CpuCache::check_entry(int kv_slot, int position) const {
  check(position >= 0 && position < capacity_ && kv_slot >= 0 && kv_slot < kv_slots_,
        "a cache entry outside of the cache");
}

// Each column of a key is in a line of its own; sixteen columns of a value share one.
float* CpuCache::key(int layer, int kv_slot, int position, int head) {
  const std::size_t panel = at(position / kPanel) * at(dim_ + index_dim_);
  return keys_[first(layer, kv_slot, head) * key_lines_ + panel].column + position % kPanel;
}
float* CpuCache::value(int layer, int kv_slot, int position, int head) {
  return values_[first(layer, kv_slot, head) * value_lines_ + at(position)].column;
}

std::vector<float> CpuCache::entry(int layer, int kv_slot, int position) const {
  check_entry(kv_slot, position);
  std::vector<float> both;
  for (int head = 0; head < heads_; ++head) {
    const PanelLine* panel = keys(layer, kv_slot, head) + position / kPanel * (dim_ + index_dim_);
    for (int c = 0; c < dim_ + index_dim_; ++c) both.push_back(panel[c].column[position % kPanel]);
  }
  for (int head = 0; head < heads_; ++head)
    for (int c = 0; c < value_dim_; ++c) {
      const auto block = std::ptrdiff_t{c / kPanel} * capacity_;
      both.push_back(values(layer, kv_slot, head)[block + position].column[c % kPanel]);
    }
  return both;
}

void CpuCache::store(int layer, int kv_slot, int position, const float* k, const float* v) {
  check_entry(kv_slot, position);
  for (int head = 0; head < heads_; ++head) {
    float* lane = key(layer, kv_slot, position, head);
    for (int c = 0; c < dim_; ++c) lane[c * kPanel] = *k++;
    float* line = value(layer, kv_slot, position, head);
    for (int c = 0; c < value_dim_; c += kPanel, line += std::ptrdiff_t{kPanel} * capacity_) {
      const int n = std::min(kPanel, value_dim_ - c);
      std::copy_n(v, n, line);
      v += n;
    }
  }
}

void CpuCache::store_index(int layer, int kv_slot, int position, const float* k) {
  check_entry(kv_slot, position);
  float* lane = key(layer, kv_slot, position, 0) + dim_ * kPanel;
  for (int c = 0; c < index_dim_; ++c) lane[c * kPanel] = k[c];
}

void CpuCache::add_latent(int layer, int kv_slot, int position, float times, float* to) const {
  const float* line = value(layer, kv_slot, position, 0);
  for (int c = 0; c < value_dim_; c += kPanel, line += std::ptrdiff_t{kPanel} * capacity_) {
    const int n = std::min(kPanel, value_dim_ - c);
    for (int i = 0; i < n; ++i) to[c + i] += times * line[i];
  }
}

void CpuCache::move(int layer, int kv_slot, int from, int to) {
  if (from == to) return;
  for (int head = 0; head < heads_; ++head) copy(layer, kv_slot, head, to, *this, from);
}

void CpuCache::copy(int layer, int kv_slot, int head, int to, const CpuCache& other, int entry) {
  other.check_entry(kv_slot, entry);
  check_entry(kv_slot, to);
  const float* k = other.key(layer, kv_slot, entry, head);
  float* k_to = key(layer, kv_slot, to, head);
  for (int c = 0; c < dim_ + index_dim_; ++c) k_to[c * kPanel] = k[c * kPanel];
  const float* v = other.value(layer, kv_slot, entry, head);
  float* v_to = value(layer, kv_slot, to, head);
  for (int c = 0; c < value_dim_;
       c += kPanel, v += std::ptrdiff_t{kPanel} * other.capacity_, v_to += std::ptrdiff_t{kPanel} * capacity_)
    std::copy_n(v, kPanel, v_to);
}

}  // namespace draftline
