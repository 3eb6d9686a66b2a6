// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/cache/movement.h"

#include "decoder/cuda/cache/rotate.cuh"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256;

template <class Word>
__global__ void gather_kernel(Parts<Word> parts, View<const int> index, int shift, int span, View<Word> y) {
  const int r = block_x();
  const int c = block_y() * kThreads + thread_x();
  if (c >= y.cols) return;
  const int from = index.data != nullptr ? index.row(r / span)[0] + shift + r % span : r;
  int p = 0;
  while (c >= parts.begin[p + 1]) ++p;
  y.row(r)[c] = parts.part[p].row(from)[c - parts.begin[p]];
}

template <class Word>
__global__ void concat_rows_kernel(Parts<Word> parts, View<Word> y) {
  const int r = block_x();
  const int c = block_y() * kThreads + thread_x();
  if (c >= y.cols) return;
  int p = 0;
  while (r >= parts.begin[p + 1]) ++p;
  y.row(r)[c] = parts.part[p].row(r - parts.begin[p])[c];
}

constexpr int kHeadsPerBlock = 4;  // one for each warp

// grid (rows of a sequence, sequences, heads of q, k and v)
template <class T>
__global__ void rope_append_kernel(View<const T> q, View<const T> k, View<const T> v, Rotation rotation, PassView pass,
                                   CacheView<T> cache, int layer, View<T> y) {
  await_previous();
  const int i = block_x(), b = block_y();
  const int first = pass.cu_seqlens.row(b)[0], r = first + i;
  const int d = cache.head_dim, heads = q.cols / d, kv = k.cols > 0 ? cache.kv_heads : 0;
  int h = block_z() * kHeadsPerBlock + warp_of();
  if (r >= pass.cu_seqlens.row(b + 1)[0] || h >= heads + 2 * kv) return;

  const int length = pass.slots.lengths.row(b)[0], kv_slot = pass.slots.kv_slots.row(b)[0];
  const float position = position_of(pass, r, i, length);

  const T* from;
  T* to;
  int columns = d;
  bool rotates = true;
  const bool is_query = h < heads;
  if (is_query) {
    from = q.row(r) + h * d;
    to = y.row(r) + h * d;
  } else {
    h -= heads;
    rotates = h < kv;
    if (!rotates) h -= kv;
    const int kv_side = rotates ? 0 : 1;
    columns = cache.columns(kv_side);
    from = (rotates ? k : v).row(r) + h * columns;
    const int entry = cache.held(length) + pass.tail + i;
    check_entry(cache, entry);
    to = cache.entry(layer, kv_slot, entry, kv_side, h);
  }
  const int half = rotates ? rotation.half : 0;
  const float grown =
      is_query ? 1 + rotation.growth * log1pf(floorf((position + rotation.growth_offset) / rotation.growth_every)) : 1;
  rotate(from, rotation, half, position, grown * rotation.factor, to);
  for (int c = 2 * half + lane_of(); c < columns; c += 32)
    to[c] = is_query ? from_float<T>(grown * to_float(from[c])) : from[c];
}

// grid (layers, sequences, keys and values of each head, or keys alone). A thread owns a column, and moves its entries
// in ascending order, eight at a time. Entry j comes from an entry at or behind j, so that nothing is overwritten
// before it is read.
template <class T>
__global__ void commit_kernel(View<const int> path, View<const int> cu_seqlens, BatchSlotsView slots,
                              CacheView<T> cache, int per) {
  constexpr int kHeld = 8;
  const int layer = block_x(), b = block_y();
  const int kv = block_z() / cache.kv_heads, head = block_z() % cache.kv_heads;
  const int c = thread_x();
  const int length = slots.lengths.row(b)[0], kv_slot = slots.kv_slots.row(b)[0], first = cu_seqlens.row(b)[0];
  if (c >= cache.columns(kv)) return;
  T held[kHeld];
  for (int j = 0; j < per; j += kHeld) {
    for (int i = 0; i < kHeld; ++i)
      if (j + i < per)
        held[i] = cache.entry(layer, kv_slot, length + path.row(b * per + j + i)[0] - first, kv, head)[c];
    for (int i = 0; i < kHeld; ++i)
      if (j + i < per) cache.entry(layer, kv_slot, length + j + i, kv, head)[c] = held[i];
  }
}

// grid (sequences): a sequence has few rows
__global__ void follow_path_kernel(View<const int> last, View<const int> cu_seqlens, View<const int> to, int items,
                                   int own, View<int> y, View<int> newest) {
  const int b = block_x(), from = cu_seqlens.row(b)[0], first = to.row(b)[0];
  const int mine = last.row(b)[0] - from + 1;
  for (int i = thread_x(); i < to.row(b + 1)[0] - first; i += kThreads)
    y.row(first + i)[0] = i < mine ? from + i : i < mine + own ? items + b * own + i - mine : items + last.rows * own;
  if (threadIdx.x == 0) newest.row(b)[0] = first + mine + own - 1;
}

__global__ void advance_kernel(View<const int> counts, View<int> lengths) {
  const int b = block_x() * kThreads + thread_x();
  if (b < counts.rows) lengths.row(b)[0] += counts.row(b)[0];
}

}  // namespace

template <class Word>
void gather(const Parts<Word>& parts, View<const int> index, int shift, int span, View<Word> y, cudaStream_t s) {
  launch(gather_kernel<Word>, grid_of(y.rows, ceil_div(y.cols, kThreads)), dim3(kThreads), 0, s, parts, index, shift,
         span, y);
}
template <class Word>
void concat_rows(const Parts<Word>& parts, View<Word> y, cudaStream_t s) {
  launch(concat_rows_kernel<Word>, grid_of(y.rows, ceil_div(y.cols, kThreads)), dim3(kThreads), 0, s, parts, y);
}
template <class T>
void rope_append(const RopeAppendView<T>& o, cudaStream_t s) {
  const int heads = o.q.cols / o.cache.head_dim + (o.k.cols > 0 ? 2 * o.cache.kv_heads : 0);
  launch_overlapping(rope_append_kernel<T>, grid_of(o.pass.widest, o.pass.sequences, ceil_div(heads, kHeadsPerBlock)),
                     dim3(32 * kHeadsPerBlock), 0, s, o.q, o.k, o.v, o.rotation, o.pass, o.cache, o.layer, o.y);
}
template <class T>
void commit(View<const int> path, View<const int> cu_seqlens, const BatchSlotsView& slots, CacheView<T> cache,
            int layers, cudaStream_t s) {
  const int sequences = cu_seqlens.rows - 1;
  launch(commit_kernel<T>, grid_of(layers, sequences, cache.sides() * cache.kv_heads),
         grid_of(32 * ceil_div(cache.widest(), 32)), 0, s, path, cu_seqlens, slots, cache, path.rows / sequences);
}
void follow_path(const FollowPathView& o, cudaStream_t s) {
  launch(follow_path_kernel, grid_of(o.last.rows), dim3(kThreads), 0, s, o.last, o.cu_seqlens, o.to, o.items, o.own,
         o.y, o.newest);
}
void advance(View<const int> counts, View<int> lengths, cudaStream_t s) {
  launch(advance_kernel, grid_of(ceil_div(counts.rows, kThreads)), dim3(kThreads), 0, s, counts, lengths);
}

#define FOR_WORD(W)                                                                        \
  template void gather(const Parts<W>&, View<const int>, int, int, View<W>, cudaStream_t); \
  template void concat_rows(const Parts<W>&, View<W>, cudaStream_t)
FOR_WORD(std::uint16_t);
FOR_WORD(std::uint32_t);
#define FOR_FORMAT(T)                                                \
  template void rope_append(const RopeAppendView<T>&, cudaStream_t); \
  template void commit(View<const int>, View<const int>, const BatchSlotsView&, CacheView<T>, int, cudaStream_t)
FOR_FORMAT(float);
FOR_FORMAT(bf16);

}  // namespace draftline::cuda
