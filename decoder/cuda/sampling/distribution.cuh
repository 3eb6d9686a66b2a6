// SPDX-License-Identifier: Apache-2.0
// A row's warped distribution (decoder/sampling's warp()) without a copy of it: a few numbers from which each token's
// weight follows. Weights of fp32 logits are doubles, as on the CPU; of bf16 logits they are floats, 1e-7 off, and
// summed in double: the same weights accept, reject and draw, so that what comes out has that very distribution, 1e-6
// from the exact one. Counter-based random numbers are core/rng's, bit for bit.
#pragma once
#include "decoder/cuda/runtime/philox.cuh"
#include "decoder/cuda/sampling/order.cuh"
#include "decoder/sampling.h"

namespace draftline::cuda {

// The number of threads of a CTA that works on a distribution depends on the length of a row.
inline constexpr int kMostThreads = 512;
inline int threads_for(int columns) { return columns >= 8192 ? kMostThreads : 64; }
__device__ inline int threads() { return threads_x(); }

template <class T>
struct WeightOf {
  using Type = float;
};
template <>
struct WeightOf<float> {
  using Type = double;
};

// A sum of many terms in double, to which up to 16 terms at a time are added in W.
template <class W>
struct Sum {
  double total = 0;
  W part = 0;
  int terms = 0;
  __device__ void add(W v) {
    part += v;
    if (++terms == 16) total += part, part = 0, terms = 0;
  }
  __device__ double value() const { return total + part; }
};

// The sum of weight(i, values of the rows at i...) over [0, n), by the whole block and in a fixed order.
template <class W, class Weight, class... T>
__device__ double block_sum(int n, Weight weight, const T*... rows) {
  Sum<W> mine;
  each_of_rows(
      n, [&](int i, auto... v) { mine.add(weight(i, v...)); }, rows...);
  return block_reduce(mine.value(), Plus{});
}

// Finds the first i in [begin, end) at which the weights from `begin` on add up to more than `target`; if there is
// none, the last i of weight > 0, or -1. One warp runs it. `before` receives the sum of the weights before i.
template <class Weight>
__device__ int warp_locate(int begin, int end, double target, Weight weight, double& before) {
  const int lane = lane_of(), each = ceil_div(end - begin, 32);
  const int from = min(end, begin + lane * each), to = min(end, from + each);
  double mine = 0;
  int last = -1;
  for (int i = from; i < to; ++i) {
    const double w = weight(i);
    if (w > 0) mine += w, last = i;
  }
  double upto = mine;
  for (int by = 1; by < 32; by *= 2) {
    const double left = __shfl_up_sync(kWarp, upto, by);
    if (lane >= by) upto += left;
  }
  const unsigned crossed = __ballot_sync(kWarp, upto > target ? 1 : 0);
  double start = upto - mine;
  int found = last;
  if (crossed != 0 && lane == __ffs(crossed) - 1) {
    double sum = start;
    for (int i = from; i < to; ++i) {
      const double w = weight(i);
      if (!(w > 0)) continue;
      start = sum;
      found = i;
      sum += w;
      if (sum > target) break;
    }
  }
  const int last_of_all = warp_reduce(last, Largest{});
  const unsigned holder = crossed != 0 ? crossed : __ballot_sync(kWarp, last >= 0 && last == last_of_all ? 1 : 0);
  const int source = max(__ffs(holder) - 1, 0);
  before = __shfl_sync(kWarp, start, source);
  return __shfl_sync(kWarp, found, source);
}

// Finds the same index over [0, n), where weight(i, values of the rows at i...) is the weight: first the tile, then the
// index in it. The whole block runs it.
template <class Weight, class... T>
__device__ int block_locate(int n, double target, Weight weight, const T*... rows) {
  constexpr int kMostTiles = 512, kOfWarp = 32 * kEight;
  __shared__ double tile_sums[kMostTiles];
  __shared__ int result;
  const int tile = ceil_div(ceil_div(n, kMostTiles), kOfWarp) * kOfWarp, tiles = ceil_div(n, tile);
  for (int t = warp_of(); t < tiles; t += threads() / 32) {
    double sum = 0;
    for (int first = t * tile + kEight * lane_of(); first < min(n, (t + 1) * tile); first += kOfWarp) {
      const auto add = [&](const auto&... eight) {
#pragma unroll
        for (int j = 0; j < kEight; ++j)
          if (first + j < n) sum += weight(first + j, eight.at(j)...);
      };
      add(Eight<T>(rows, first, n)...);
    }
    sum = warp_reduce(sum, Plus{});
    if (lane_of() == 0) tile_sums[t] = sum;
  }
  __syncthreads();
  if (warp_of() == 0) {
    double before = 0, ignored = 0;
    const auto weight_at = [&](int i) { return weight(i, (rows == nullptr ? 0.0F : to_float(rows[i]))...); };
    const int t = warp_locate(
        0, tiles, target, [](int i) { return tile_sums[i]; }, before);
    const int found = t < 0 ? -1 : warp_locate(t * tile, min(n, (t + 1) * tile), target - before, weight_at, ignored);
    if (lane_of() == 0) result = found;
  }
  __syncthreads();
  const int found = result;
  __syncthreads();
  if (found < 0) __trap();  // no weight is above 0: one was NaN
  return found;
}

template <class T>
struct Distribution {
  using W = typename WeightOf<T>::Type;
  static constexpr int kShift = std::is_same_v<T, float> ? 0 : 16;  // the lower bits of a bf16's order are all equal
  const T* x;
  int n, best;
  bool greedy;
  W top, temperature, per_temperature;  // 1 / temperature
  unsigned cut;                         // logits whose order is below have no weight
  int last_at_cut;                      // of logits at `cut`, ids above this one have no weight
  double sum;
  W norm;  // 1 / sum

  __device__ static unsigned order(float v) { return order_of(v) >> kShift; }
  // Whether token i, whose logit is v, is kept.
  __device__ bool kept(int i, float v) const {
    const unsigned o = order(v);
    return o > cut || (o == cut && i <= last_at_cut);
  }
  __device__ W weight(int i, float v) const {
    if (greedy) return i == best ? W(1) : W(0);
    if (!kept(i, v)) return W(0);
    if constexpr (std::is_same_v<W, double>) return exp((static_cast<W>(v) - top) / temperature);
    else return expf((v - top) * per_temperature);
  }
  __device__ W probability(int i, float v) const {
    if constexpr (std::is_same_v<W, double>) return weight(i, v) / sum;
    else return weight(i, v) * norm;
  }
  __device__ W probability(int i) const { return probability(i, to_float(x[i])); }

  // The whole block runs this.
  __device__ Distribution(const T* logits, int count, const Sampling& s)
      : x(logits),
        n(count),
        greedy(s.temperature == 0),
        temperature(static_cast<W>(s.temperature)),
        per_temperature(W(1) / temperature),
        cut(0),
        last_at_cut(0x7fffffff),
        sum(1),
        norm(1) {
    Ranked first = 0;
    each_of_rows(
        n, [&](int i, float v) { first = Largest{}(first, ranked(v, i)); }, x);
    first = block_reduce(first, Largest{});
    best = id_of(first);
    top = static_cast<W>(logit_of(first));
    if (greedy) return;
    if (s.top_k > 0 && s.top_k < n) keep_top_k(s.top_k);
    sum = sum_of([this](int i, float v) { return weight(i, v); });
    if (s.top_p < 1) {
      keep_top_p(s.top_p * sum);
      sum = sum_of([this](int i, float v) { return weight(i, v); });
    }
    norm = static_cast<W>(1 / sum);
  }

  // The sum of f(i, v) over the tokens, by the whole block.
  template <class F>
  __device__ double sum_of(F f) const {
    return block_sum<W>(n, f, x);
  }

 private:
  // The largest order for which `enough(order)` holds. It holds at 0, and if it fails for an order, then for all larger
  // ones.
  template <class Enough>
  __device__ unsigned last_enough(Enough enough) const {
    unsigned low = 0;
    std::uint64_t high = std::uint64_t{order(to_float(x[best]))} + 1;
    while (high - low > 1) {
      const auto middle = static_cast<unsigned>(low + (high - low) / 2);
      if (enough(middle)) low = middle;
      else high = middle;
    }
    return low;
  }
  __device__ int count_from(unsigned least) const {
    int mine = 0;
    each_of_rows(
        n, [&](int, float v) { mine += order(v) >= least ? 1 : 0; }, x);
    return block_reduce(mine, Plus{});
  }
  __device__ void keep_top_k(int k) {  // drops what is below the k-th; what is equal to it stays
    cut = last_enough([&](unsigned o) { return count_from(o) >= k; });
  }
  // Drops tokens before which weights add up to `limit` or more; of equal weights the lowest ids come first.
  __device__ void keep_top_p(double limit) {
    const unsigned low = last_enough([&](unsigned o) {
      return sum_of([&](int i, float v) { return order(v) >= o ? weight(i, v) : W(0); }) >= limit;
    });
    const double before = sum_of([&](int i, float v) { return order(v) > low ? weight(i, v) : W(0); });
    const auto at = [&](int i, float v) { return order(v) == low && kept(i, v) ? 1.0 : 0.0; };
    const double equals = block_sum<double>(n, at, x);
    const double one = sum_of([&](int i, float v) { return order(v) == low ? weight(i, v) : W(0); }) / equals;
    const double stay = ceil((limit - before) / one);
    last_at_cut = stay < equals ? block_locate(n, fmax(stay, 1.0) - 0.5, at, x) : last_at_cut;
    cut = low;
  }
};

}  // namespace draftline::cuda
