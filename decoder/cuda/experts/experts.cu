// SPDX-License-Identifier: Apache-2.0
#include "decoder/cuda/experts/experts.h"

#include <algorithm>
#include <string>

#include "core/errors.h"
#include "decoder/cuda/experts/expert_tiles.cuh"
#include "decoder/cuda/runtime/on_device.h"

namespace draftline::cuda {

namespace {

using FewRows = ExpertTiles<false>;
using ManyRows = ExpertTiles<true>;

// Whether an expert has more than half of a small group of rows, if the router chooses evenly.
bool many_rows(const ExpertShape& m) {
  return m.rows > FewRows::rows && std::int64_t{m.rows} * m.per_token > std::int64_t{FewRows::rows} / 2 * m.experts;
}

// The arrays in the scratch memory, one after the other. With a null scratch only `bytes` is meaningful.
template <class T>
struct ScratchArrays {
  ExpertLists lists;
  T* wide;
  float* results;
  std::size_t bytes;

  ScratchArrays(const ExpertShape& m, const void* scratch)
      : at_(reinterpret_cast<std::uintptr_t>(scratch) + kCounterBytes) {
    const ExpertPlan plan = plan_experts<T>(m);
    const std::size_t rows = at(m.rows), experts = at(m.experts), choices = rows * at(m.per_token),
                      tiles = at(ceil_div(m.rows, kRouteRows));
    lists.column_tiles = ceil_div(m.hidden, plan.columns);
    lists.group_rows = plan.group_rows;
    allocate(lists.scores, at(route_parts(m.hidden)) * rows * experts);
    allocate(lists.expert, choices);
    allocate(lists.share, choices);
    allocate(lists.rank, choices);
    allocate(lists.begins, tiles * experts);
    allocate(lists.first, experts);
    allocate(lists.list, choices);
    allocate(lists.missing, rows * at(lists.column_tiles));
    allocate(lists.groups, at(plan.most_groups));
    allocate(lists.group_count, 1);
    allocate(wide, choices * at(m.inner));
    allocate(results, choices * at(m.hidden));
    bytes = at_ - reinterpret_cast<std::uintptr_t>(scratch);
  }

 private:
  template <class E>
  void allocate(E*& array, std::size_t count) {
    constexpr std::size_t kAligned = 256;
    array = reinterpret_cast<E*>(at_);
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
  // Every activated expert has one group, and every `group_rows` choices beyond these make at most one more.
  const std::int64_t choices = std::int64_t{m.rows} * m.per_token;
  const std::int64_t activated = std::min<std::int64_t>(m.experts, choices);
  p.most_groups = static_cast<int>(std::min(activated + (choices - activated) / p.group_rows,
                                            std::int64_t{m.experts} * ceil_div(m.rows, p.group_rows)));
  return p;
}

template <class T>
std::size_t expert_scratch(const ExpertShape& m) {
  return ScratchArrays<T>(m, nullptr).bytes;
}

ExpertShape shape_of(const MixtureOfExperts& o) {
  const ExpertChoice& c = o.choice;
  return {.rows = o.x.rows,
          .hidden = o.x.cols,
          .inner = o.w.gate_up.out / 2,
          .experts = c.experts,
          .per_token = c.per_token,
          .normalise = c.normalise || c.score == Experts::Score::softmax_of_chosen,
          .sigmoid = c.score == Experts::Score::sigmoid,
          .groups = c.groups,
          .groups_per_token = c.groups_per_token,
          .scale = single(c.scale),
          .weighs_inputs = c.weighs_inputs,
          .gate = o.gate};
}
template <class T>
int launches(const OnDevice<T>&, const MixtureOfExperts&) {
  return kExpertLaunches;
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>&, const MixtureOfExperts& o) {
  return expert_scratch<T>(shape_of(o));
}
template <class T>
void run(const OnDevice<T>& d, const MixtureOfExperts& o) {
  if (!is_gated(o.gate) || o.w.router.in != o.x.cols)
    throw InputErrors("on CUDA experts without a gate, or of narrower rows than the router's, are not written");
  const ExpertShape m = shape_of(o);
  const View<const T> x = d.in(o.x);
  const ExpertPointers<T> w{.router = d.data(o.w.router),
                            .gate_up = d.data(o.w.gate_up),
                            .down = d.data(o.w.down),
                            .choice_bias = d.data(o.w.choice_bias),
                            .router_bias = d.data(o.w.router_bias),
                            .gate_up_bias = d.data(o.w.gate_up_bias),
                            .down_bias = d.data(o.w.down_bias),
                            .expert_scale = d.data(o.w.expert_scale)};
  const ExpertPlan plan = plan_experts<T>(m);
  const ScratchArrays<T> arrays(m, d.scratch.data);
  const int tiles = ceil_div(m.rows, kRouteRows);
  check(d.scratch.bytes >= arrays.bytes, "experts: their scratch is too small");
  check(m.experts % m.groups == 0 && m.per_token <= m.experts / m.groups * m.groups_per_token,
        "experts: another shape");
  if (m.groups > kMostGroups)
    throw InputErrors("on CUDA experts are in at most " + std::to_string(kMostGroups) + " groups; here are " +
                      std::to_string(m.groups));
  constexpr int kMostTiles = kCounters - 1;  // each tile has a counter, and one more counts tiles
  if (tiles > kMostTiles)
    throw InputErrors("on CUDA a mixture of experts takes at most " + std::to_string(kMostTiles * kRouteRows) +
                      " rows at once; this pass has " + std::to_string(m.rows));
  const auto aligned = [](const void* p) { return reinterpret_cast<std::uintptr_t>(p) % sizeof(uint4) == 0; };
  check(!plan.tensor_cores || (x.stride % 8 == 0 && aligned(x.data) && aligned(w.gate_up) && aligned(w.down)),
        "experts: rows and weights are read 16 bytes at a time");

  launch_overlapping(route_kernel<T>, grid_of(ceil_div(m.experts, 32) * route_parts(m.hidden), tiles),
                     grid_of(kRouteThreads), 0, d.stream, m, d.in(o.routed.value_or(o.x)), w, counters_of(d.scratch),
                     arrays.lists);
  launch_product<T>(plan,
                    GateUp<T>{x, w.gate_up, w.gate_up_bias, m.hidden, m.inner, m.per_token, m.weighs_inputs, m.gate,
                              arrays.lists, arrays.wide},
                    d.stream);
  launch_product<T>(plan,
                    Down<T>{arrays.wide, w.down, w.down_bias, m.inner, m.hidden, m.per_token, m.weighs_inputs,
                            arrays.lists, arrays.results, d.out(o.y)},
                    d.stream);
}

template ExpertPlan plan_experts<float>(const ExpertShape&);
template ExpertPlan plan_experts<bf16>(const ExpertShape&);
template std::size_t expert_scratch<float>(const ExpertShape&);
template std::size_t expert_scratch<bf16>(const ExpertShape&);
FOR_FORMATS(int, launches, MixtureOfExperts);
FOR_FORMATS(std::size_t, scratch_bytes, MixtureOfExperts);
FOR_FORMATS(void, run, MixtureOfExperts);

}  // namespace draftline::cuda
