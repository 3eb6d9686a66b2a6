// SPDX-License-Identifier: Apache-2.0
// Choosing tokens by their logits: the best token, the k best with their log-probabilities, ids of another vocabulary,
// and the candidates that are worth drafting. Long rows are split among CTAs; the last of them to finish joins the
// parts.
#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "decoder/cuda/runtime/on_device.h"
#include "decoder/cuda/sampling/order.cuh"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256;
constexpr int kLeastColumns = 4096;  // of a CTA; splitting a row further does not pay

int splits_of(int rows, int columns, int sms) {
  if (rows > kCounters) return 1;
  constexpr int kBlocksPerSm = 4;
  return std::clamp(std::min(kBlocksPerSm * sms / rows, ceil_div(columns, kLeastColumns)), 1, 64);
}

struct Share {  // a part of a sum of exponentials, relative to its largest term
  float top, sum;
};
__device__ Share join(Share a, Share b) {
  const float top = fmaxf(a.top, b.top);
  const auto scaled = [top](Share s) { return s.top == -INFINITY ? 0.0F : s.sum * expf(s.top - top); };
  return {top, scaled(a) + scaled(b)};
}

struct Part {  // a part of a row; `at` is its index in [row][split]
  int begin, end, at;
};
// grid (rows, splits); rows come first, as there may be more of them than the grid's second dimension allows
__device__ Part part_of_block(int columns) {
  const int splits = blocks_y(), split = block_y();
  const int each = ceil_div(ceil_div(columns, splits), 8) * 8;
  return {min(columns, split * each), min(columns, (split + 1) * each), block_x() * splits + split};
}

template <class T>
__global__ void argmax_kernel(View<const T> x, unsigned* counters, Ranked* parts, View<int> y) {
  await_previous();
  const int row = block_x(), splits = blocks_y();
  const Part part = part_of_block(x.cols);
  Ranked best = 0;
  each_of_mine(x.row(row), part.begin, part.end, thread_x(), kThreads,
               [&](int i, float v) { best = Largest{}(best, ranked(v, i)); });
  best = block_reduce<kThreads>(best, Largest{});
  if (splits > 1) {
    if (threadIdx.x == 0) parts[part.at] = best;
    if (!last_to_finish(counters + row, splits)) return;
    for (int s = 0; s < splits; ++s) best = Largest{}(best, parts[row * splits + s]);
  }
  if (threadIdx.x == 0) *y.row(row) = id_of(best);
}

// The best of a thread's share of a row. Two are kept; when they are used up, the share is read again.
template <class T>
struct BestOfMine {
  const T* x;
  int begin, end;
  Ranked first = 0, second = 0;
  __device__ void put(Ranked r) {
    if (r > first) second = first, first = r;
    else if (r > second) second = r;
  }
  __device__ void pop() {
    const Ranked gone = first;
    first = second;
    second = 0;
    if (first != 0) return;
    each_of_mine(x, begin, end, thread_x(), kThreads, [&](int i, float v) {
      const Ranked r = ranked(v, i);
      if (r < gone) put(r);
    });
  }
};

// parts: [row][split][k], shares: [row][split].
template <class T>
__global__ void top_k_kernel(View<const T> logits, unsigned* counters, Ranked* parts, Share* shares, View<int> ids,
                             View<float> log_probs) {
  const int row = block_x(), splits = blocks_y(), k = ids.cols;
  const Part part = part_of_block(logits.cols);
  BestOfMine<T> mine{logits.row(row), part.begin, part.end};
  Share share{-INFINITY, 0};
  each_of_mine(mine.x, part.begin, part.end, thread_x(), kThreads, [&](int i, float v) {
    mine.put(ranked(v, i));
    if (v > share.top) share = {v, (share.top == -INFINITY ? 0.0F : share.sum * expf(share.top - v)) + 1};
    else if (v != -INFINITY) share.sum += expf(v - share.top);
  });
  const float top = block_reduce<kThreads>(share.top, Largest{});
  share = {top, block_reduce<kThreads>(share.top == -INFINITY ? 0.0F : share.sum * expf(share.top - top), Plus{})};
  Ranked* list = parts + std::ptrdiff_t{part.at} * k;
  for (int j = 0; j < k; ++j) {
    const Ranked best = block_reduce<kThreads>(mine.first, Largest{});
    if (best != 0 && best == mine.first) mine.pop();
    if (threadIdx.x == 0) list[j] = best;
  }
  if (threadIdx.x == 0) shares[part.at] = share;
  if (splits == 1) __syncthreads();  // there may be more rows than counters
  else if (!last_to_finish(counters + row, splits)) return;

  for (int s = 0; s < splits; ++s) share = s == 0 ? shares[row * splits] : join(share, shares[row * splits + s]);
  const Ranked* all = parts + std::ptrdiff_t{row} * splits * k;
  Ranked before = ~Ranked{0};
  for (int j = 0; j < k; ++j) {
    Ranked best = 0;
    for (int i = thread_x(); i < splits * k; i += kThreads)
      if (all[i] < before) best = Largest{}(best, all[i]);
    best = before = block_reduce<kThreads>(best, Largest{});
    if (threadIdx.x == 0) {
      ids.row(row)[j] = id_of(best);
      log_probs.row(row)[j] = logit_of(best) - share.top - logf(share.sum);
    }
  }
}

__global__ void map_ids_kernel(View<const int> ids, const int* offsets, View<int> y) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= ids.rows * ids.cols) return;
  const int from = ids.row(i / ids.cols)[i % ids.cols];
  y.row(i / ids.cols)[i % ids.cols] = from + offsets[from];
}

__global__ void clip_top_k_kernel(View<const float> x, float top_p, float least_share, View<float> y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= x.rows) return;
  const float first = expf(x.row(row)[0]);
  float before = 0;
  for (int j = 0; j < x.cols; ++j) {
    const float v = x.row(row)[j], p = expf(v);
    y.row(row)[j] = before < top_p && p >= least_share * first ? v : -INFINITY;
    before += p;
  }
}

constexpr int kMostWalked = 64;  // candidates of a slot

// grid (sequences): a warp adds up the products of a candidate; a slot waits for the one before it.
template <class T>
__global__ void walk_candidates_kernel(View<const int> ids, View<const float> log_probs, View<const T> gate,
                                       View<const T> root, View<const T> before, View<const T> after, View<int> y) {
  __shared__ float score[kMostWalked];
  __shared__ int chosen;
  const int b = block_x(), slots = ids.rows / root.rows, k = ids.cols;
  const int warp = thread_x() / 32, lane = thread_x() % 32;
  for (int i = b * slots; i < (b + 1) * slots; ++i) {
    const T* from = i == b * slots ? root.row(b) : before.row((i - 1) * k + chosen);
    for (int c = warp; c < k; c += kThreads / 32) {
      float sum = 0;
      for (int j = lane; j < gate.cols; j += 32)
        sum += to_float(from[j]) * to_float(gate.row(i)[j]) * to_float(after.row(i * k + c)[j]);
      for (int o = 16; o > 0; o /= 2) sum += __shfl_xor_sync(0xffffffffU, sum, o);
      if (lane == 0) score[c] = sum + log_probs.row(i)[c];
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      chosen = 0;
      for (int c = 1; c < k; ++c)
        if (score[c] > score[chosen]) chosen = c;
      y.row(i)[0] = ids.row(i)[chosen];
    }
    __syncthreads();
  }
}

}  // namespace

// Bytes of scratch memory; k = 1 for argmax.
static std::size_t scratch_for(const Tensor& logits, int k, int sms) {
  const auto parts = at(logits.rows) * at(splits_of(logits.rows, logits.cols, sms));
  return kCounterBytes + parts * (sizeof(Ranked) * at(k) + sizeof(Share));
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>& d, const Argmax& o) {
  return scratch_for(o.x, 1, d.multiprocessors);
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>& d, const TopK& o) {
  return scratch_for(o.logits, o.ids.cols, d.multiprocessors);
}

template <class T>
void run(const OnDevice<T>& d, const Argmax& o) {
  check(d.scratch.bytes >= scratch_bytes(d, o), "argmax: its scratch is too small");
  launch_overlapping(argmax_kernel<T>, grid_of(o.x.rows, splits_of(o.x.rows, o.x.cols, d.multiprocessors)),
                     grid_of(kThreads), 0, d.stream, d.in(o.x), counters_of(d.scratch),
                     behind_counters<Ranked>(d.scratch), d.out_ids(o.y));
}
template <class T>
void run(const OnDevice<T>& d, const TopK& o) {
  const int rows = o.logits.rows, splits = splits_of(rows, o.logits.cols, d.multiprocessors);
  check(d.scratch.bytes >= scratch_bytes(d, o), "top_k: its scratch is too small");
  auto* parts = behind_counters<Ranked>(d.scratch);
  auto* shares = reinterpret_cast<Share*>(parts + std::ptrdiff_t{rows} * splits * o.ids.cols);
  launch(top_k_kernel<T>, grid_of(rows, splits), grid_of(kThreads), 0, d.stream, d.in(o.logits), counters_of(d.scratch),
         parts, shares, d.out_ids(o.ids), d.out_floats(o.log_probs));
}
template <class T>
void run(const OnDevice<T>& d, const MapIds& o) {
  launch(map_ids_kernel, grid_of(ceil_div(o.ids.rows * o.ids.cols, kThreads)), grid_of(kThreads), 0, d.stream,
         d.ids(o.ids), d.addresses.whole_numbers(o.offsets), d.out_ids(o.y));
}
template <class T>
void run(const OnDevice<T>& d, const ClipTopK& o) {
  launch(clip_top_k_kernel, grid_of(ceil_div(o.log_probs.rows, kThreads)), grid_of(kThreads), 0, d.stream,
         d.floats(o.log_probs), o.top_p, o.least_share, d.out_floats(o.y));
}
template <class T>
void run(const OnDevice<T>& d, const WalkCandidates& o) {
  check(o.ids.cols <= kMostWalked, "walk_candidates: too many candidates");
  launch(walk_candidates_kernel<T>, grid_of(o.root.rows), grid_of(kThreads), 0, d.stream, d.ids(o.ids),
         d.floats(o.log_probs), d.in(o.gate), d.in(o.root), d.in(o.before), d.in(o.after), d.out_ids(o.y));
}

FOR_FORMATS(std::size_t, scratch_bytes, Argmax);
FOR_FORMATS(std::size_t, scratch_bytes, TopK);
FOR_FORMATS(void, run, Argmax);
FOR_FORMATS(void, run, TopK);
FOR_FORMATS(void, run, MapIds);
FOR_FORMATS(void, run, ClipTopK);
FOR_FORMATS(void, run, WalkCandidates);

}  // namespace draftline::cuda
