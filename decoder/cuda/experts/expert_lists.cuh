// SPDX-License-Identifier: Apache-2.0
// Routing: the router's scores, a row's best experts and their weights, and lists of the choices by expert, in the
// order of the rows, cut into groups. It is one launch: a CTA sums the scores of 32 experts over a part of the inputs
// for 16 rows, the last CTA of these rows chooses the experts (expert_choice.cuh), and the last CTA of all writes the
// lists.
#pragma once
#include "decoder/cuda/experts/expert_choice.cuh"

namespace draftline::cuda {

struct ExpertGroup {  // `rows` choices of one expert, from list[begin] on
  int expert, begin, rows;
};

// Arrays in the scratch memory. A choice is row * per_token + j, the j-th expert of a row.
struct ExpertLists {
  float* scores;        // [parts][rows][experts]
  int* expert;          // of a choice
  float* share;         // of a choice: its weight in its row's sum
  int* rank;            // of a choice: the number of earlier choices of the same expert in its tile
  int* begins;          // [tiles][experts]: where the tile's choices of an expert begin in the list
  int* first;           // [experts]: where an expert's choices begin
  int* list;            // [rows * per_token]: choices by expert
  int* missing;         // [rows][column_tiles]: experts whose results are still missing
  ExpertGroup* groups;  // [group_count]
  int* group_count;
  int column_tiles, group_rows;
};

constexpr int kRouteThreads = 256, kRouteWarps = kRouteThreads / 32, kRouteRows = 16;  // rows of a tile
constexpr int kRouteHeld = 16, kRouteDeep = kRouteWarps * kRouteHeld;                  // inputs of a warp, of a block
constexpr int kMostRouteParts = 16;

// Inputs are cut into parts that are multiples of a stage.
DRAFTLINE_BOTH constexpr int route_stages(int hidden) {
  return ceil_div(ceil_div(hidden, kRouteDeep), kMostRouteParts);
}
DRAFTLINE_BOTH constexpr int route_parts(int hidden) { return ceil_div(hidden, kRouteDeep * route_stages(hidden)); }

// Computes partial scores: each lane has an expert and sums this CTA's part of the inputs for each row of the tile.
template <class T>
__device__ void score_part(const ExpertShape& m, View<const T> x, const T* router, int first, int rows, int chunk,
                           int part, float* scores) {
  __shared__ float inputs[kRouteRows][kRouteDeep], of_warp[kRouteWarps][kRouteRows][32];
  const int me = thread_x(), lane = lane_of(), warp = warp_of();
  const int stages = route_stages(m.hidden), begin = part * stages * kRouteDeep;
  const T* from = router + min(chunk * 32 + lane, m.experts - 1);
  float weight[kRouteHeld], sum[kRouteRows] = {};
  const auto load = [&](int k) {  // beyond the last input it reads the last row of weights again, for inputs of 0
#pragma unroll
    for (int i = 0; i < kRouteHeld; ++i)
      weight[i] = to_float(from[std::ptrdiff_t{min(k + warp * kRouteHeld + i, m.hidden - 1)} * m.experts]);
  };
  load(begin);
  await_previous();
  for (int s = 0; s < stages; ++s) {
    const int k = begin + s * kRouteDeep;
    if (s > 0) load(k);
    for (int i = me; i < rows * kRouteDeep; i += kRouteThreads) {
      const int r = i / kRouteDeep, c = i % kRouteDeep;
      inputs[r][c] = k + c < m.hidden ? to_float(x.row(first + r)[k + c]) : 0.0F;
    }
    __syncthreads();
#pragma unroll
    for (int r = 0; r < kRouteRows; ++r) {
      if (r >= rows) break;
#pragma unroll
      for (int i = 0; i < kRouteHeld; ++i) sum[r] += inputs[r][warp * kRouteHeld + i] * weight[i];
    }
    __syncthreads();  // before the inputs are overwritten
  }
#pragma unroll
  for (int r = 0; r < kRouteRows; ++r) of_warp[warp][r][lane] = sum[r];
  __syncthreads();
  for (int i = me; i < rows * 32; i += kRouteThreads) {
    const int r = i / 32, e = chunk * 32 + i % 32;
    float total = 0;
    for (int w = 0; w < kRouteWarps; ++w) total += of_warp[w][r][i % 32];
    if (e < m.experts) scores[(std::ptrdiff_t{part} * m.rows + first + r) * m.experts + e] = total;
  }
}

// Adds the parts of a tile's scores, and the router's bias, and stores the sums in the first part.
template <class T>
__device__ void join_parts(const ExpertShape& m, const T* bias, float* scores, int first, int rows) {
  const int parts = route_parts(m.hidden);
  const auto apart = std::ptrdiff_t{m.rows} * m.experts;
  float* of_tile = scores + std::ptrdiff_t{first} * m.experts;
  for (int i = thread_x(); i < rows * m.experts; i += kRouteThreads) {
    float part[kMostRouteParts], total = 0;
#pragma unroll
    for (int p = 0; p < kMostRouteParts; ++p) part[p] = p < parts ? of_tile[p * apart + i] : 0.0F;
#pragma unroll
    for (int p = 0; p < kMostRouteParts; ++p) total += part[p];
    of_tile[i] = total + (bias != nullptr ? to_float(bias[i % m.experts]) : 0.0F);
  }
}

// Counts the choices of each expert in a tile, and numbers them.
__device__ inline void rank_choices(const ExpertShape& m, const ExpertLists& l, int tile, int rows) {
  const int begin = tile * kRouteRows * m.per_token, end = begin + rows * m.per_token;
  for (int e = thread_x(); e < m.experts; e += kRouteThreads) {
    int n = 0;
    for (int c = begin; c < end; ++c)
      if (l.expert[c] == e) l.rank[c] = n++;
    l.begins[tile * m.experts + e] = n;
  }
}

// Finds where each expert's choices begin, and cuts them into groups. One warp runs it. On entry `first` holds their
// numbers.
__device__ inline void cut_groups(const ExpertShape& m, const ExpertLists& l) {
  const int lane = lane_of();
  int begin = 0, at = 0;
  for (int base = 0; base < m.experts; base += 32) {
    const int e = base + lane, n = e < m.experts ? l.first[e] : 0, groups = ceil_div(n, l.group_rows);
    int rows_to = n, groups_to = groups;  // up to this expert
    for (int by = 1; by < 32; by *= 2) {
      const int r = __shfl_up_sync(kWarp, rows_to, by), g = __shfl_up_sync(kWarp, groups_to, by);
      if (lane >= by) rows_to += r, groups_to += g;
    }
    const int mine = begin + rows_to - n;
    if (e < m.experts) l.first[e] = mine;
    for (int i = 0; i < groups; ++i)
      l.groups[at + groups_to - groups + i] = {e, mine + i * l.group_rows, min(l.group_rows, n - i * l.group_rows)};
    begin += __shfl_sync(kWarp, rows_to, 31);
    at += __shfl_sync(kWarp, groups_to, 31);
  }
  if (lane == 0) *l.group_count = at;
}

__device__ inline void list_choices(const ExpertShape& m, const ExpertLists& l, int tiles) {
  const int me = thread_x();
  for (int e = me; e < m.experts; e += kRouteThreads) {
    int n = 0;
    for (int t = 0; t < tiles; ++t) n += l.begins[t * m.experts + e];
    l.first[e] = n;
  }
  __syncthreads();
  if (warp_of() == 0) cut_groups(m, l);
  __syncthreads();
  for (int e = me; e < m.experts; e += kRouteThreads) {
    int at = l.first[e];
    for (int t = 0; t < tiles; ++t) {
      const int n = l.begins[t * m.experts + e];
      l.begins[t * m.experts + e] = at;
      at += n;
    }
  }
  __syncthreads();
  for (int c = me; c < m.rows * m.per_token; c += kRouteThreads) {
    const int tile = c / (kRouteRows * m.per_token);
    l.list[l.begins[tile * m.experts + l.expert[c]] + l.rank[c]] = c;
  }
}

// grid (32 experts x parts of the inputs, tiles of rows)
template <class T>
__global__ void __launch_bounds__(kRouteThreads, 3)
    route_kernel(ExpertShape m, View<const T> routed, ExpertPointers<T> w, unsigned* counters, ExpertLists l) {
  const int chunks = ceil_div(m.experts, 32), block = block_x();
  const int tile = block_y(), tiles = blocks_y();
  const int first = tile * kRouteRows, rows = min(kRouteRows, m.rows - first);
  score_part(m, routed, w.router, first, rows, block % chunks, block / chunks, l.scores);
  if (!last_to_finish(counters + 1 + tile, blocks_x())) return;
  join_parts(m, w.router_bias, l.scores, first, rows);
  __syncthreads();
  for (int r = first + warp_of(); r < first + rows; r += kRouteWarps)
    choose_experts(m, l.scores + std::ptrdiff_t{r} * m.experts, w, l.expert + r * m.per_token,
                   l.share + r * m.per_token);
  for (int i = thread_x(); i < rows * l.column_tiles; i += kRouteThreads)
    l.missing[first * l.column_tiles + i] = m.per_token;
  __syncthreads();
  rank_choices(m, l, tile, rows);
  __syncthreads();
  if (tiles == 1 || last_to_finish(counters, tiles)) list_choices(m, l, tiles);
}

}  // namespace draftline::cuda
