// SPDX-License-Identifier: Apache-2.0
// Sparse attention (decoder/op/latent_attention.h): an indexer's keys, the tokens that its scores choose, and attention
// to these alone. Each is one launch. A cache's columns are a latent, the shared key, and the indexer's key. Kernels
// are simple: each block computes alone what FlashMLA and DeepGEMM compute in tiles.
#include <cstdint>
#include <string>

#include "core/errors.h"
#include "decoder/cuda/cache/rotate.cuh"
#include "decoder/cuda/runtime/block.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32;
constexpr int kHeadsPerBlock = 4;       // one for each warp
constexpr int kMostTokens = 12 * 1024;  // whose scores fit into 48 KiB, which every device gives a block

// grid (rows of a sequence, sequences, heads of q, and one for the key)
template <class T>
__global__ void index_append_kernel(View<const T> q, View<const T> k, Rotation rotation, PassView pass,
                                    CacheView<T> cache, int layer, View<T> y) {
  await_previous();
  const int i = block_x(), b = block_y();
  const int r = pass.cu_seqlens.row(b)[0] + i, h = block_z() * kHeadsPerBlock + warp_of();
  const int d = k.cols, heads = q.cols / d;
  if (r >= pass.cu_seqlens.row(b + 1)[0] || h > heads) return;
  const int length = pass.slots.lengths.row(b)[0], entry = length + pass.tail + i;
  const float position = position_of(pass, r, i, length);
  const T* from = h < heads ? q.row(r) + h * d : k.row(r);
  T* to = y.row(r) + h * d;
  if (h == heads) {
    check_entry(cache, entry);
    to = cache.entry(layer, pass.slots.kv_slots.row(b)[0], entry, 0, 0) + cache.head_dim - d;
  }
  rotate(from, rotation, rotation.half, position, rotation.factor, to);
  for (int c = 2 * rotation.half + lane_of(); c < d; c += 32) to[c] = from[c];
}

// Numbers whose order is that of the scores; 0 is below all of them.
__device__ unsigned ordered(float score) {
  const unsigned bits = __float_as_uint(score);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}

// The score of an entry: the sum over heads of w relu(q k), each product column by column.
template <class T>
__device__ float score_of(const T* query, const T* weights, int heads, int dim, const T* key) {
  float sum = 0;
  for (int h = 0; h < heads; ++h) {
    float product = 0;
    for (int c = 0; c < dim; ++c) product += to_float(query[h * dim + c]) * to_float(key[c]);
    sum += to_float(weights[h]) * fmaxf(product, 0.0F);
  }
  return sum;
}

// The `room`-th largest of n numbers, of which at least so many are above 0.
__device__ unsigned ranked(const unsigned* x, int n, int room) {
  unsigned least = 0;
  for (unsigned bit = 1U << 31; bit > 0; bit /= 2) {
    int count = 0;
    for (int j = thread_x(); j < n; j += kThreads) count += x[j] >= (least | bit);
    if (block_reduce(count, Plus{}) >= room) least |= bit;
  }
  return least;
}

// How many threads of the block before this one hold the flag; `all`: how many hold it.
__device__ int flags_before(bool flag, int& all) {
  __shared__ int of_warp[kWarps];
  const unsigned flags = __ballot_sync(kWarp, flag);
  if (lane_of() == 0) of_warp[warp_of()] = __popc(flags);
  __syncthreads();
  int before = __popc(flags & ((1U << lane_of()) - 1));
  all = 0;
  for (int w = 0; w < kWarps; ++w) {
    if (w < warp_of()) before += of_warp[w];
    all += of_warp[w];
  }
  __syncthreads();  // the next call overwrites of_warp
  return before;
}

// grid (rows of a sequence, sequences). `scores`: room for one of each row and entry.
template <class T>
__global__ void select_tokens_kernel(View<const T> q, View<const T> weights, PassView pass, CacheView<T> cache,
                                     int layer, int capacity, unsigned* scores, View<int> y) {
  const int i = block_x(), b = block_y(), thread = thread_x();
  const int first = pass.cu_seqlens.row(b)[0], rows = pass.cu_seqlens.row(b + 1)[0] - first, r = first + i;
  if (i >= rows) return;
  const int length = pass.slots.lengths.row(b)[0], kv_slot = pass.slots.kv_slots.row(b)[0];
  const int keys = length + pass.tail + (pass.looks_ahead() ? rows : i + 1), dim = q.cols / weights.cols;
  unsigned* score = scores + std::ptrdiff_t{r} * capacity;
  int seen = 0;
  for (int key = thread; key < keys; key += kThreads) {
    const int of_tail = key - length;
    const bool sees = of_tail < 0 || pass.tree_mask.data == nullptr || has_bit(pass.tree_mask.row(r), of_tail);
    score[key] = sees ? ordered(score_of(q.row(r), weights.row(r), weights.cols, dim,
                                         cache.entry(layer, kv_slot, key, 0, 0) + cache.head_dim - dim))
                      : 0;
    seen += sees;
  }
  const int room = min(block_reduce(seen, Plus{}), y.cols);
  const unsigned least = ranked(score, keys, room);
  int above = 0;
  for (int key = thread; key < keys; key += kThreads) above += score[key] > least;
  above = block_reduce(above, Plus{});
  int written = 0, equal = 0;  // of the equals, which the earlier entries come before
  for (int from = 0; from < keys; from += kThreads) {
    const int key = from + thread;
    const unsigned mine = key < keys ? score[key] : 0;
    int all = 0;
    const bool ties = key < keys && mine == least;
    const int earlier = equal + flags_before(ties, all);
    equal += all;
    const bool taken = key < keys && (mine > least || (ties && earlier < room - above));
    const int at = written + flags_before(taken, all);
    written += all;
    if (taken) y.row(r)[at] = key;
  }
  for (int j = room + thread; j < y.cols; j += kThreads) y.row(r)[j] = -1;
}

// grid (rows of a sequence, sequences, heads)
template <class T>
__global__ void attend_to_tokens_kernel(View<const T> q, View<const T> q_rope, View<const int> tokens, PassView pass,
                                        CacheView<T> cache, int layer, float scale, int heads, View<T> y) {
  const int i = block_x(), b = block_y(), h = block_z();
  const int r = pass.cu_seqlens.row(b)[0] + i, thread = thread_x();
  if (r >= pass.cu_seqlens.row(b + 1)[0]) return;
  const int rank = q.cols / heads, rope = q_rope.cols / heads, kv_slot = pass.slots.kv_slots.row(b)[0];
  const T *query = q.row(r) + h * rank, *rotated = q_rope.row(r) + h * rope;
  const int* own = tokens.row(r);
  float* score = dynamic_shared<float>();
  float top = -INFINITY, all = 0;
  int chosen = 0;
  for (int j = thread; j < tokens.cols; j += kThreads) {
    if (own[j] < 0) continue;
    const T* key = cache.entry(layer, kv_slot, own[j], 0, 0);
    float s = 0;
    for (int c = 0; c < rank; ++c) s += to_float(query[c]) * to_float(key[c]);
    for (int c = 0; c < rope; ++c) s += to_float(rotated[c]) * to_float(key[rank + c]);
    score[j] = scale * s;
    top = fmaxf(top, score[j]);
    ++chosen;
  }
  chosen = block_reduce(chosen, Plus{});
  top = block_reduce(top, Largest{});
  for (int j = thread; j < chosen; j += kThreads) all += score[j] = expf(score[j] - top);
  all = block_reduce(all, Plus{});
  for (int c = thread; c < rank; c += kThreads) {
    float sum = 0;
    for (int j = 0; j < chosen; ++j) sum += score[j] / all * to_float(cache.entry(layer, kv_slot, own[j], 0, 0)[c]);
    y.row(r)[h * rank + c] = from_float<T>(sum);
  }
}

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const IndexAppend& o) {
  const int heads = o.q.cols / o.k.cols + 1;
  const PassView pass = d.view(o.pass);
  launch_overlapping(index_append_kernel<T>, grid_of(pass.widest, pass.sequences, ceil_div(heads, kHeadsPerBlock)),
                     dim3(32 * kHeadsPerBlock), 0, d.stream, d.in(o.q), d.in(o.k), d.rotation(o.rope), pass,
                     d.view(o.cache), o.layer, d.out(o.y));
}

template <class T>
std::size_t scratch_bytes(const OnDevice<T>& d, const SelectTokens& o) {
  return kCounterBytes + sizeof(unsigned) * at(d.pass(o.pass).rows.total) * at(d.capacity(o.cache));
}
template <class T>
void run(const OnDevice<T>& d, const SelectTokens& o) {
  check(d.scratch.bytes >= scratch_bytes(d, o), "choosing tokens: its scratch is too small");
  const PassView pass = d.view(o.pass);
  launch(select_tokens_kernel<T>, grid_of(pass.widest, pass.sequences), dim3(kThreads), 0, d.stream, d.in(o.q),
         d.in(o.weights), pass, d.view(o.cache), o.layer, d.capacity(o.cache), behind_counters<unsigned>(d.scratch),
         d.out_ids(o.y));
}

// LatentAttend to the tokens that an indexer chose. Throws InputErrors if a row has more of them than the scores of a
// block have room for.
template <class T>
void attend_to_tokens(const OnDevice<T>& d, const LatentAttend& o) {
  const int chosen = o.tokens->cols, heads = o.q.cols / o.cache.latent;
  if (chosen > kMostTokens)
    throw InputErrors("on CUDA an indexer may choose at most " + std::to_string(kMostTokens) +
                      " tokens; this one chooses " + std::to_string(chosen));
  const PassView pass = d.view(o.pass);
  launch(attend_to_tokens_kernel<T>, grid_of(pass.widest, pass.sequences, heads), dim3(kThreads),
         sizeof(float) * at(chosen), d.stream, d.in(o.q), d.in(o.q_rope), d.ids(o.tokens), pass, d.view(o.cache),
         o.layer, o.scale, heads, d.out(o.y));
}

FOR_FORMATS(void, run, IndexAppend);
FOR_FORMATS(std::size_t, scratch_bytes, SelectTokens);
FOR_FORMATS(void, run, SelectTokens);
FOR_FORMATS(void, attend_to_tokens, LatentAttend);

}  // namespace draftline::cuda
