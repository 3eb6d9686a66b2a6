// SPDX-License-Identifier: Apache-2.0
// A CTA sums 64 columns over one split of the inputs: eight lanes read 128 bytes of a row of w, 32 rows at a time, and
// the next batch is loaded while one is used. The first batch does not wait for the kernel before this one, as no
// kernel writes weights. The last CTA of a column's splits to finish adds them in order.
#include "decoder/cuda/gemm/few_rows.h"

#include "core/errors.h"
#include "decoder/cuda/runtime/block.cuh"

namespace draftline::cuda {

namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kPer = 8;  // columns of a load
constexpr int kAcross = 8, kColumns = kAcross * kPer, kDeep = kThreads / kAcross, kAhead = 4;
constexpr int kMostRows = 8, kMostSplits = 32, kLeastInputs = 4 * kDeep;  // inputs of a part

__device__ inline uint4 load_once(const bf16* from) {
#ifdef __CUDACC__
  return __ldcs(reinterpret_cast<const uint4*>(from));  // evicted first from L2, as it is read once
#else
  return *reinterpret_cast<const uint4*>(from);
#endif
}
// The lower and the upper of the two bf16 in a word.
__device__ inline float low_of(unsigned pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_of(unsigned pair) { return __uint_as_float(pair & 0xffff0000U); }

// Blocks whose loads are under way on a multiprocessor: as many as the sums leave registers for.
constexpr int blocks_beside(int rows) { return rows == 1 ? 4 : rows == 2 ? 3 : 2; }

template <int rows>
__global__ void __launch_bounds__(kThreads, blocks_beside(rows))
    few_rows_kernel(View<const bf16> x, const bf16* w, const bf16* bias, int splits, unsigned* counters, float* parts,
                    View<bf16> y) {
  __shared__ float of_warp[kWarps][rows][kColumns];
  const int me = thread_x(), across = me % kAcross, deep = me / kAcross;
  const int tile = block_x() / splits, split = block_x() % splits;
  const int each = ceil_div(ceil_div(x.cols, splits), kDeep) * kDeep, end = min(x.cols, (split + 1) * each);
  // A lane beyond the last column or input reads the last one again, so that no load waits for a branch. Its sums are
  // not used, or its factor is 0.
  const bf16* from = w + min(tile * kColumns + across * kPer, y.cols - kPer);
  const auto load = [&](int k, uint4(&to)[kAhead]) {
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
      to[j] = load_once(from + std::ptrdiff_t{min(k + deep + j * kDeep, end - 1)} * y.cols);
  };

  const int begin = split * each;
  uint4 next[kAhead];
  if (begin < end) load(begin, next);
  await_previous();
  float sum[rows][kPer] = {};
  for (int k = begin; k < end; k += kAhead * kDeep) {
    uint4 now[kAhead];
#pragma unroll
    for (int j = 0; j < kAhead; ++j) now[j] = next[j];
    if (k + kAhead * kDeep < end) load(k + kAhead * kDeep, next);
    float factor[kAhead][rows];
#pragma unroll
    for (int j = 0; j < kAhead; ++j)
#pragma unroll
      for (int r = 0; r < rows; ++r) {
        const int at = k + deep + j * kDeep;
        factor[j][r] = at < end ? to_float(x.row(r)[at]) : 0.0F;
      }
#pragma unroll
    for (int j = 0; j < kAhead; ++j) {
      const float v[kPer] = {low_of(now[j].x), high_of(now[j].x), low_of(now[j].y), high_of(now[j].y),
                             low_of(now[j].z), high_of(now[j].z), low_of(now[j].w), high_of(now[j].w)};
#pragma unroll
      for (int r = 0; r < rows; ++r)
#pragma unroll
        for (int c = 0; c < kPer; ++c) sum[r][c] += factor[j][r] * v[c];
    }
  }

#pragma unroll
  for (int r = 0; r < rows; ++r)
#pragma unroll
    for (int c = 0; c < kPer; ++c) {
      for (int with = kAcross; with < 32; with *= 2) sum[r][c] += __shfl_xor_sync(kWarp, sum[r][c], with);
      if (lane_of() < kAcross) of_warp[warp_of()][r][across * kPer + c] = sum[r][c];
    }
  __syncthreads();
  const auto put = [&](int r, int c, float total) {
    const int to = tile * kColumns + c;
    if (to < y.cols) y.row(r)[to] = from_float<bf16>(total + (bias != nullptr ? to_float(bias[to]) : 0.0F));
  };
  float* mine = parts + std::ptrdiff_t{tile} * splits * rows * kColumns;
  for (int e = me; e < rows * kColumns; e += kThreads) {
    float total = 0;
    for (int i = 0; i < kWarps; ++i) total += of_warp[i][e / kColumns][e % kColumns];
    if (splits == 1) put(e / kColumns, e % kColumns, total);
    else mine[split * rows * kColumns + e] = total;
  }
  if (splits == 1 || !last_to_finish(counters + tile, splits)) return;
  for (int e = me; e < rows * kColumns; e += kThreads) {
    float total = 0;
    for (int i = 0; i < splits; ++i) total += mine[i * rows * kColumns + e];
    put(e / kColumns, e % kColumns, total);
  }
}

__global__ void read_through_kernel(const uint4* from, std::int64_t n, unsigned* sink) {
  unsigned all = 0;
  const auto step = std::int64_t{gridDim.x} * kThreads;
  for (auto i = std::int64_t{blockIdx.x} * kThreads + threadIdx.x; i < n; i += step) {
    const uint4 v = from[i];
    all ^= v.x ^ v.y ^ v.z ^ v.w;
  }
  if (all == 0x9e3779b9U) *sink = all;  // practically never true, but it keeps the compiler from dropping the reads
}

template <int rows>
void launch_few_rows(const FewRowsView& o, cudaStream_t s) {
  if constexpr (rows > 0) {
    if (o.x.rows != rows) return launch_few_rows<rows - 1>(o, s);
    launch_overlapping(few_rows_kernel<rows>, grid_of(ceil_div(o.y.cols, kColumns) * o.splits), grid_of(kThreads), 0, s,
                       o.x, o.w, o.bias, o.splits, o.counters, o.parts, o.y);
  }
}

}  // namespace

std::vector<int> few_rows_splits(const FewRowsShape& s, int sms) {
  std::vector<int> all;
  const int tiles = ceil_div(s.out, kColumns);
  if (s.rows < 1 || s.rows > kMostRows || s.in < 1 || s.out % kPer != 0) return all;
  constexpr int kMostBlocks = 16;  // per SM, one after another; more would only make joining longer
  for (int splits = 1; splits <= kMostSplits && s.in / splits >= kLeastInputs; splits *= 2)
    if (splits == 1 || (tiles <= kCounters && tiles * splits <= kMostBlocks * sms)) all.push_back(splits);
  if (all.empty()) all.push_back(1);
  return all;
}

std::size_t few_rows_parts(const FewRowsShape& s, int splits) {
  if (splits == 1) return 0;
  return sizeof(float) * kColumns * at(ceil_div(s.out, kColumns)) * at(splits) * at(s.rows);
}

void few_rows(const FewRowsView& o, cudaStream_t s) {
  check(o.x.rows == o.y.rows && o.x.rows >= 1 && o.x.rows <= kMostRows && o.y.cols % kPer == 0,
        "few_rows: another shape");
  check(reinterpret_cast<std::uintptr_t>(o.w) % sizeof(uint4) == 0, "few_rows: weights are read 16 bytes at a time");
  launch_few_rows<kMostRows>(o, s);
}

void read_through(const void* data, std::size_t bytes, unsigned* sink, int sms, cudaStream_t s) {
  const std::int64_t n = bytes / sizeof(uint4);
  launch(read_through_kernel, grid_of(4 * sms), grid_of(kThreads), 0, s, static_cast<const uint4*>(data), n, sink);
}

}  // namespace draftline::cuda
