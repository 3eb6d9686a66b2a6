// SPDX-License-Identifier: Apache-2.0
// A batch of sequences on both sides, CPU and CUDA: its rows, lengths and tree masks, and a cache of latents in pages.
#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "tests/emulator/op_rig.h"

namespace draftline::cuda {

inline std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

// Sequences of a batch on both sides: rows of a pass, behind `lengths` committed entries and a tail.
struct Batch {
  std::vector<int> lengths, rows;
  int tail = 0;
  bool tree = false;

  int sequences() const { return static_cast<int>(rows.size()); }
  int total() const { return std::accumulate(rows.begin(), rows.end(), 0); }
  int widest() const { return *std::max_element(rows.begin(), rows.end()); }
  int words() const { return (tail + widest() + 31) / 32; }
  std::vector<int> all_entries() const {
    std::vector<int> n;
    for (std::size_t b = 0; b < rows.size(); ++b) n.push_back(lengths[b] + tail + rows[b]);
    return n;
  }
  std::vector<int> cu_seqlens() const {
    std::vector<int> all{0};
    for (const int n : rows) all.push_back(all.back() + n);
    return all;
  }
  std::vector<int> reversed_slots() const {
    std::vector<int> slots(rows.size());
    std::iota(slots.rbegin(), slots.rend(), 0);
    return slots;
  }
  std::vector<int> mask(Dice& dice) const {
    std::vector<int> all;
    for (const int n : rows)
      for (int i = 0; i < n; ++i)
        for (int w = 0; w < words(); ++w) {
          unsigned word = 0;
          for (int bit = 0; bit < 32; ++bit) {
            const int entry = 32 * w + bit;
            if (entry == tail + i || (entry < tail + i && dice.below(2) == 0)) word |= 1U << bit;
          }
          all.push_back(static_cast<int>(word));
        }
    return all;
  }
};
inline BatchSlots slots_of(Ops& ops) {
  return {ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
          ops.persistent_per_slot("lengths", 1, 1, DType::int32), ops.persistent_per_slot("ids", 1, 1, DType::int32)};
}
// What a kernel is told of a batch.
struct DevicePass {
  explicit DevicePass(const Batch& b, const std::vector<int>& mask = {})
      : cu_seqlens(b.cu_seqlens(), 1),
        lengths(b.lengths, 1),
        slots(b.reversed_slots(), 1),
        tree_mask(mask, b.words()),
        batch(b) {}
  PassRef on(OpRunner& d) const {
    Pass p{.rows = {.cu_seqlens = d(cu_seqlens), .total = batch.total(), .widest = batch.widest()},
           .slots = {d(slots), d(lengths), d(slots)},
           .tail = batch.tail};
    if (batch.tree) p.tree_mask = d(tree_mask);
    return d.pass(p);
  }
  Array<int> cu_seqlens, lengths, slots, tree_mask;
  Batch batch;
};
// A cache in blocks that lie about; what is not used stays NaN.
template <class T>
struct Pages {
  Pages(int layers, int slots, int capacity, int columns, Dice& dice) : per_slot(ceil_div(capacity, kBlockTokens)) {
    table.resize(product(slots, per_slot) + 3);
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), dice.engine);
    held.assign(product(layers * static_cast<int>(table.size()), kBlockTokens * columns), from_float<T>(NAN));
    view = {held.data(), table.data(), per_slot, static_cast<int>(table.size()), 1, columns};
  }
  int per_slot;
  std::vector<int> table;
  std::vector<T> held;
  CacheView<T> view;
};

}  // namespace draftline::cuda
