// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/cache.h"

#include <algorithm>
#include <bit>
#include <cstdint>

namespace draftline {

CpuCache::CpuCache(const Cache& c, int seats, int capacity, bool filled)
    : seats_(seats),
      capacity_(capacity),
      heads_(c.kv_heads),
      dim_(c.head_dim),
      key_lines_(static_cast<std::size_t>(panels_for(capacity)) * static_cast<std::size_t>(c.head_dim)),
      value_lines_(static_cast<std::size_t>(panels_for(c.head_dim)) * static_cast<std::size_t>(capacity)) {
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

void CpuCache::check_place(int place, int position) const {
  check(position >= 0 && position < capacity_ && place >= 0 && place < seats_, "a cache entry outside of the cache");
}

// Of a key's columns each has a line of its own; of a value's, sixteen share one.
float* CpuCache::key(int layer, int place, int position, int head) {
  const std::size_t panel = static_cast<std::size_t>(position / kPanel) * static_cast<std::size_t>(dim_);
  return keys_[first(layer, place, head) * key_lines_ + panel].column + position % kPanel;
}
float* CpuCache::value(int layer, int place, int position, int head) {
  return values_[first(layer, place, head) * value_lines_ + static_cast<std::size_t>(position)].column;
}

std::vector<float> CpuCache::entry(int layer, int place, int position) const {
  check_place(place, position);
  std::vector<float> both;
  for (int head = 0; head < heads_; ++head) {
    const PanelLine* panel = keys(layer, place, head) + position / kPanel * dim_;
    for (int c = 0; c < dim_; ++c) both.push_back(panel[c].column[position % kPanel]);
  }
  for (int head = 0; head < heads_; ++head)
    for (int c = 0; c < dim_; ++c) {
      const auto block = static_cast<std::ptrdiff_t>(c / kPanel) * capacity_;
      both.push_back(values(layer, place, head)[block + position].column[c % kPanel]);
    }
  return both;
}

void CpuCache::store(int layer, int place, int position, const float* k, const float* v) {
  check_place(place, position);
  for (int head = 0; head < heads_; ++head) {
    float* lane = key(layer, place, position, head);
    for (int c = 0; c < dim_; ++c) lane[c * kPanel] = *k++;
    float* line = value(layer, place, position, head);
    for (int c = 0; c < dim_; c += kPanel, line += std::ptrdiff_t{kPanel} * capacity_) {
      const int n = std::min(kPanel, dim_ - c);
      std::copy_n(v, n, line);
      v += n;
    }
  }
}

void CpuCache::move(int layer, int place, int from, int to) {
  check_place(place, from);
  check_place(place, to);
  if (from == to) return;
  for (int head = 0; head < heads_; ++head) {
    const float* k = key(layer, place, from, head);
    float* k_to = key(layer, place, to, head);
    for (int c = 0; c < dim_; ++c) k_to[c * kPanel] = k[c * kPanel];
    const float* v = value(layer, place, from, head);
    float* v_to = value(layer, place, to, head);
    for (int c = 0; c < dim_; c += kPanel) {
      const std::ptrdiff_t block = std::ptrdiff_t{c} * capacity_;
      std::copy_n(v + block, kPanel, v_to + block);
    }
  }
}

}  // namespace draftline
