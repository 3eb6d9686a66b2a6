// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/experts/experts.h"

#include <algorithm>
#include <string>

#include "core/errors.h"
#include "decoder/cuda/experts/expert_tiles.cuh"

namespace draftline::cuda {

namespace {

using FewRows = ExpertTiles<false>;
using ManyRows = ExpertTiles<true>;

bool many_rows(const ExpertShape& m) {  // of an expert, if rows choose evenly: more than half of a small group
  return m.rows > FewRows::rows && std::int64_t{m.rows} * m.per_token > std::int64_t{FewRows::rows} / 2 * m.experts;
}

// Workspace, piece by piece; from address 0 on only its size is meant.
template <class T>
struct Pieces {
  ExpertLists lists;
  T* wide;
  float* results;
  std::size_t bytes;

  Pieces(const ExpertShape& m, const void* scratch) : at_(reinterpret_cast<std::uintptr_t>(scratch) + kCounterBytes) {
    const auto n = [](int count) { return static_cast<std::size_t>(count); };
    const ExpertPlan plan = plan_experts<T>(m);
    const std::size_t rows = n(m.rows), experts = n(m.experts), choices = rows * n(m.per_token),
                      tiles = n(ceil_div(m.rows, kRouteRows));
    lists.column_tiles = ceil_div(m.hidden, plan.columns);
    lists.group_rows = plan.group_rows;
    take(lists.scores, n(route_parts(m.hidden)) * rows * experts);
    take(lists.expert, choices);
    take(lists.share, choices);
    take(lists.rank, choices);
    take(lists.begins, tiles * experts);
    take(lists.first, experts);
    take(lists.list, choices);
    take(lists.missing, rows * n(lists.column_tiles));
    take(lists.groups, n(plan.most_groups));
    take(lists.group_count, 1);
    take(wide, choices * n(m.inner));
    take(results, choices * n(m.hidden));
    bytes = static_cast<std::size_t>(at_ - reinterpret_cast<std::uintptr_t>(scratch));
  }

 private:
  template <class E>
  void take(E*& piece, std::size_t count) {
    constexpr std::size_t kAligned = 256;
    piece = reinterpret_cast<E*>(at_);
    at_ += (count * sizeof(E) + kAligned - 1) / kAligned * kAligned;
  }
  std::uintptr_t at_;
};

template <class T, class P>
void launch_product(const ExpertPlan& plan, const P& p, cudaStream_t s) {
  const dim3 grid = grid_of(plan.most_groups, ceil_div(p.out, plan.columns / (plan.tensor_cores ? P::matrices : 1)));
  if constexpr (std::is_same_v<T, bf16>) {
    if (plan.tensor_cores && plan.group_rows == FewRows::rows)
      return launch_overlapping(expert_tiles_kernel<FewRows, P>, grid, grid_of(FewRows::threads), FewRows::shared, s,
                                p);
    if (plan.tensor_cores)
      return launch_overlapping(expert_tiles_kernel<ManyRows, P>, grid, grid_of(ManyRows::threads), ManyRows::shared, s,
                                p);
  }
  launch_overlapping(expert_rows_kernel<T, P>, grid, grid_of(kPlainThreads), 0, s, p);
}

}  // namespace

template <class T>
ExpertPlan plan_experts(const ExpertShape& m) {
  ExpertPlan p{};
  p.tensor_cores = std::is_same_v<T, bf16> && m.hidden % 8 == 0 && m.inner % 8 == 0;  // copies of 16 bytes
  const bool many = p.tensor_cores && many_rows(m);
  p.group_rows = !p.tensor_cores ? kPlainRows : many ? ManyRows::rows : FewRows::rows;
  p.columns = !p.tensor_cores ? kPlainThreads : many ? ManyRows::columns : FewRows::columns;
  // Of as many experts as can be met each has one, and every `group_rows` choices beyond these make at most one more.
  const std::int64_t choices = std::int64_t{m.rows} * m.per_token, met = std::min<std::int64_t>(m.experts, choices);
  p.most_groups = static_cast<int>(
      std::min(met + (choices - met) / p.group_rows, std::int64_t{m.experts} * ceil_div(m.rows, p.group_rows)));
  return p;
}

template <class T>
std::size_t expert_scratch(const ExpertShape& m) {
  return Pieces<T>(m, nullptr).bytes;
}

template <class T>
void mixture_of_experts(const ExpertShape& m, View<const T> x, const T* router, const T* gate_up, const T* down,
                        const Scratch& scratch, View<T> y, cudaStream_t s) {
  const ExpertPlan plan = plan_experts<T>(m);
  const Pieces<T> pieces(m, scratch.data);
  const int tiles = ceil_div(m.rows, kRouteRows);
  check(scratch.bytes >= pieces.bytes, "experts: their scratch is too small");
  check(m.per_token <= m.experts, "experts: another shape");
  constexpr int kMostTiles = kCounters - 1;  // each has a counter, behind one for all
  if (tiles > kMostTiles)
    throw InputErrors("on CUDA a mixture of experts takes at most " + std::to_string(kMostTiles * kRouteRows) +
                      " rows at once; this pass has " + std::to_string(m.rows));
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(uint4) == 0; };
  check(!plan.tensor_cores || (x.stride % 8 == 0 && aligned(x.data) && aligned(gate_up) && aligned(down)),
        "experts: rows and weights are read 16 bytes at a time");

  launch_overlapping(route_kernel<T>, grid_of(ceil_div(m.experts, 32) * route_parts(m.hidden), tiles),
                     grid_of(kRouteThreads), 0, s, m, x, router, counters_of(scratch), pieces.lists);
  launch_product<T>(plan, GateUp<T>{x, gate_up, m.hidden, m.inner, m.per_token, pieces.lists, pieces.wide}, s);
  launch_product<T>(plan, Down<T>{pieces.wide, down, m.inner, m.hidden, m.per_token, pieces.lists, pieces.results, y},
                    s);
}

template ExpertPlan plan_experts<float>(const ExpertShape&);
template ExpertPlan plan_experts<bf16>(const ExpertShape&);
template std::size_t expert_scratch<float>(const ExpertShape&);
template std::size_t expert_scratch<bf16>(const ExpertShape&);
template void mixture_of_experts(const ExpertShape&, View<const float>, const float*, const float*, const float*,
                                 const Scratch&, View<float>, cudaStream_t);
template void mixture_of_experts(const ExpertShape&, View<const bf16>, const bf16*, const bf16*, const bf16*,
                                 const Scratch&, View<bf16>, cudaStream_t);

}  // namespace draftline::cuda
