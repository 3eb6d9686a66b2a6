// SPDX-License-Identifier: Apache-2.0
// Ops that move rows, and keys and values into the cache and within it (decoder/op/movement.h, attention.h, trees.h).
#include <cstdint>
#include <string>

#include "core/errors.h"
#include "decoder/cuda/cache/rotate.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256;

// Tensors to be put side by side, or one below the other. Word is the storage of a value: uint16_t or uint32_t.
inline constexpr int kMostParts = 96;
template <class Word>
struct Parts {
  View<const Word> part[kMostParts];
  int begin[kMostParts + 1] = {};  // the first column, or row, of each part in the result
  int count = 0;
};

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

template <class Word, class T>
Parts<Word> parts(const OnDevice<T>& d, const std::vector<Tensor>& all, bool below) {
  if (all.size() > kMostParts)
    throw InputErrors("on CUDA a plan may put at most " + std::to_string(kMostParts) +
                      " tensors together; this one needs " + std::to_string(all.size()));
  Parts<Word> p;
  for (const Tensor& t : all) {
    const int i = p.count++;
    p.part[i] = d.template view<const Word>(t);
    p.begin[i + 1] = p.begin[i] + (below ? t.rows : t.cols);
  }
  return p;
}
template <class F>
void by_word(DType t, F f) {
  if (bits_of(t) == 16) f(std::uint16_t{});
  else f(std::uint32_t{});
}
template <class T>
void stack_rows(const OnDevice<T>& d, const std::vector<Tensor>& from, const Tensor& to) {
  by_word(to.dtype, [&]<class Word>(Word) {
    launch(concat_rows_kernel<Word>, grid_of(to.rows, ceil_div(to.cols, kThreads)), dim3(kThreads), 0, d.stream,
           parts<Word>(d, from, true), d.template view<Word>(to));
  });
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const Gather& o) {
  by_word(o.y.dtype, [&]<class Word>(Word) {
    launch(gather_kernel<Word>, grid_of(o.y.rows, ceil_div(o.y.cols, kThreads)), dim3(kThreads), 0, d.stream,
           parts<Word>(d, o.parts, false), d.ids(o.index), o.shift, o.span, d.template view<Word>(o.y));
  });
}
template <class T>
void run(const OnDevice<T>& d, const ConcatRows& o) {
  stack_rows(d, o.parts, o.y);
}
template <class T>
void run(const OnDevice<T>& d, const Store& o) {
  check(o.x.dtype == o.to.dtype, "store: a buffer of another format");
  stack_rows(d, {o.x}, o.to);
}
template <class T>
void run(const OnDevice<T>&, const Upload&) {}  // it was copied before the tape ran
template <class T>
int launches(const OnDevice<T>&, const Upload&) {
  return 0;
}

template <class T>
void run(const OnDevice<T>& d, const RopeAppend& o) {
  const int heads = o.q.cols / o.cache.head_dim + (o.k.cols > 0 ? 2 * o.cache.kv_heads : 0);
  const PassView pass = d.view(o.pass);
  launch_overlapping(rope_append_kernel<T>, grid_of(pass.widest, pass.sequences, ceil_div(heads, kHeadsPerBlock)),
                     dim3(32 * kHeadsPerBlock), 0, d.stream, d.in(o.q), d.in(o.k), d.in(o.v), d.rotation(o.rope), pass,
                     d.view(o.cache), o.layer, d.out(o.y));
}
template <class T>
void run(const OnDevice<T>& d, const Commit& o) {
  const int sequences = o.cu_seqlens.rows - 1;
  const CacheView<T> cache = d.view(o.cache);
  launch(commit_kernel<T>, grid_of(o.cache.layers, sequences, cache.sides() * cache.kv_heads),
         grid_of(32 * ceil_div(cache.widest(), 32)), 0, d.stream, d.ids(o.path), d.ids(o.cu_seqlens),
         d.view(BatchSlots{o.kv_slots, o.lengths, {}}), cache, o.path.rows / sequences);
}
template <class T>
void run(const OnDevice<T>& d, const FollowPath& o) {
  launch(follow_path_kernel, grid_of(o.last.rows), dim3(kThreads), 0, d.stream, d.ids(o.last), d.ids(o.cu_seqlens),
         d.ids(o.to), o.items, o.own, d.out_ids(o.y), d.out_ids(o.newest));
}
template <class T>
void run(const OnDevice<T>& d, const Advance& o) {
  launch(advance_kernel, grid_of(ceil_div(o.counts.rows, kThreads)), dim3(kThreads), 0, d.stream, d.ids(o.counts),
         d.out_ids(o.lengths));
}

FOR_FORMATS(void, run, Gather);
FOR_FORMATS(void, run, ConcatRows);
FOR_FORMATS(void, run, Store);
FOR_FORMATS(void, run, Upload);
FOR_FORMATS(int, launches, Upload);
FOR_FORMATS(void, run, RopeAppend);
FOR_FORMATS(void, run, Commit);
FOR_FORMATS(void, run, FollowPath);
FOR_FORMATS(void, run, Advance);

}  // namespace draftline::cuda
