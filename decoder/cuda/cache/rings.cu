// SPDX-License-Identifier: Apache-2.0
// Caches that keep a part of a text (KeepEntries, SelectEntries of decoder/op/rings.h).
#include "core/errors.h"
#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256;

struct EntryRanking {
  int layer, window, pool;
  float scale;  // of q against keys
};

// grid (layers, sequences, keys and values of each head). A thread owns a column.
template <class T>
__global__ void keep_entries_kernel(View<const int> last, View<const int> cu_seqlens, BatchSlotsView slots,
                                    CacheView<T> from, CacheView<T> to, int rows) {
  const int layer = block_x(), b = block_y();
  const int kv = block_z() / from.kv_heads, head = block_z() % from.kv_heads;
  const int c = thread_x();
  const int length = slots.lengths.row(b)[0], kv_slot = slots.kv_slots.row(b)[0];
  const int n = last.row(b)[0] - cu_seqlens.row(b)[0] + 1;
  if (c >= from.columns(kv)) return;
  for (int i = 0; i < rows; ++i) {
    const int position = length + (n <= rows ? min(i, n - 1) : i < to.sinks ? i : n - rows + i);
    to.entry(layer, kv_slot, to.place(position), kv, head)[c] = from.entry(layer, kv_slot, position, kv, head)[c];
  }
}

// The weights with which the last rows' queries of a KV head attend to each entry before them, added up. `score`: room
// for one row's.
template <class T>
__device__ void add_weights(View<const T> q, int first, int rows, int window, int group, int kv_head, int kv_slot,
                            const CacheView<T>& from, const EntryRanking& r, float* score, float* sum) {
  const int d = from.head_dim, old = rows - window, thread = thread_x();
  for (int j = thread; j < old; j += kThreads) sum[j] = 0;
  for (int row = old; row < rows; ++row)
    for (int h = 0; h < group; ++h) {
      const T* query = q.row(first + row) + (kv_head * group + h) * d;
      float top = -INFINITY, all = 0;
      for (int j = thread; j <= row; j += kThreads) {
        const T* key = from.entry(r.layer, kv_slot, j, 0, kv_head);
        float s = 0;
        for (int c = 0; c < d; ++c) s += to_float(query[c]) * to_float(key[c]);
        score[j] = r.scale * s;
        top = fmaxf(top, score[j]);
      }
      top = block_reduce(top, Largest{});
      for (int j = thread; j <= row; j += kThreads) all += score[j] = expf(score[j] - top);
      all = block_reduce(all, Plus{});
      for (int j = thread; j < old; j += kThreads) sum[j] += score[j] / all;
    }
  __syncthreads();
}

// The `room`-th largest of n numbers that are not negative, whose bits have their order.
__device__ unsigned ranked(const float* x, int n, int room) {
  unsigned least = 0;
  for (unsigned bit = 1U << 30; bit > 0; bit /= 2) {
    int count = 0;
    for (int j = thread_x(); j < n; j += kThreads) count += __float_as_uint(x[j]) >= (least | bit);
    if (block_reduce(count, Plus{}) >= room) least |= bit;
  }
  return least;
}

// grid (KV heads, sequences). `widest`: rows of a sequence, of which scratch memory has three for each block.
template <class T>
__global__ void select_entries_kernel(View<const T> q, PassView pass, CacheView<T> from, CacheView<T> to,
                                      EntryRanking r, float* scratch, int widest) {
  const int kv_head = block_x(), b = block_y();
  const int thread = thread_x(), wide = from.widest();
  const int first = pass.cu_seqlens.row(b)[0], n = pass.cu_seqlens.row(b + 1)[0] - first;
  const int kv_slot = pass.slots.kv_slots.row(b)[0];
  const int window = min(r.window, n), old = n - window;
  const bool all = n <= to.ring;
  const int room = all ? old : to.ring - window;
  float* mean = scratch + std::ptrdiff_t{b * blocks_x() + kv_head} * 3 * widest;
  float* sum = mean + widest;
  int* chosen = reinterpret_cast<int*>(sum + widest);  // best first
  if (all) {
    for (int j = thread; j < old; j += kThreads) chosen[j] = j;
  } else {
    add_weights(q, first, n, window, q.cols / from.head_dim / from.kv_heads, kv_head, kv_slot, from, r, mean, sum);
    for (int j = thread; j < old; j += kThreads) {
      const int begin = max(0, j - r.pool / 2), end = min(old, j - r.pool / 2 + r.pool);
      float s = 0;
      for (int i = begin; i < end; ++i) s += sum[i];
      mean[j] = s / to_float(r.pool);
    }
    __syncthreads();
    const unsigned least = ranked(mean, old, room);
    for (int j = thread; j < old; j += kThreads) {
      const unsigned mine = __float_as_uint(mean[j]);
      if (mine < least) continue;
      int rank = 0;
      for (int i = 0; i < old; ++i) {
        const unsigned other = __float_as_uint(mean[i]);
        rank += other > mine || (other == mine && i < j);
      }
      if (rank < room) chosen[rank] = j;
    }
  }
  __syncthreads();
  for (int e = thread; e < (room + window) * wide; e += kThreads) {
    const int i = e / wide, c = e % wide, entry = i < room ? chosen[i] : old + i - room;
    const int place = i >= room ? to.place(entry) : all ? i : to.place(n + room - 1 - i);
    for (int kv = 0; kv < 2; ++kv)
      if (c < from.columns(kv))
        to.entry(r.layer, kv_slot, place, kv, kv_head)[c] = from.entry(r.layer, kv_slot, entry, kv, kv_head)[c];
  }
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const KeepEntries& o) {
  const CacheView<T> from = d.view(o.from);
  launch(keep_entries_kernel<T>, grid_of(o.from.layers, o.last.rows, 2 * from.kv_heads),
         grid_of(32 * ceil_div(from.widest(), 32)), 0, d.stream, d.ids(o.last), d.ids(o.cu_seqlens),
         d.view(BatchSlots{o.kv_slots, o.lengths, {}}), from, d.view(o.to), o.rows);
}

template <class T>
std::size_t scratch_bytes(const OnDevice<T>& d, const SelectEntries& o) {
  const Rows& rows = d.pass(o.pass).rows;
  return kCounterBytes + 3 * sizeof(float) * at(rows.sequences()) * at(rows.widest) * at(o.from.kv_heads);
}
template <class T>
void run(const OnDevice<T>& d, const SelectEntries& o) {
  check(d.scratch.bytes >= scratch_bytes(d, o), "choosing entries: its scratch is too small");
  const PassView pass = d.view(o.pass);
  launch(select_entries_kernel<T>, grid_of(o.from.kv_heads, pass.sequences), dim3(kThreads), 0, d.stream, d.in(o.q),
         pass, d.view(o.from), d.view(o.to), EntryRanking{o.layer, o.window, o.pool, o.scale},
         behind_counters<float>(d.scratch), pass.widest);
}

FOR_FORMATS(void, run, KeepEntries);
FOR_FORMATS(void, run, SelectEntries);
FOR_FORMATS(std::size_t, scratch_bytes, SelectEntries);

}  // namespace draftline::cuda
