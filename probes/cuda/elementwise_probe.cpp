// SPDX-License-Identifier: Apache-2.0
// Elementwise ops, and keys and values into the cache.
#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "probes/cuda/op_runner.h"
#include "probes/cuda/ops.h"

namespace draftline {

void probe_elementwise(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int rows = p.at("rows"), columns = p.at("columns");
  if (!fits(10.0 * rows * columns, p)) return;
  const Matrix<bf16> x(rows, p.op == "silu_mul" ? 2 * columns : columns), other(rows, columns), w(1, columns),
      y(rows, columns);
  t.fill(x, 5);
  t.fill(other, 1'000'000'007);
  t.fill(w, 9);
  t.stream.wait();  // a norm reads its scale before it waits for the kernel before it
  constexpr float kEpsilon = 1e-5F;
  cuda::OpRunner d(t.stream);
  const Add add{d(x), d(other), d(y)};
  const SiluMul silu_mul{d(x), d(y)};
  const RmsNorm rms_norm{d(x), d.weight(w), columns, kEpsilon, d(y)};
  const auto run = [&](int) {
    if (p.op == "add") d.run<bf16>(add);
    else if (p.op == "silu_mul") d.run<bf16>(silu_mul);
    else d.run<bf16>(rms_norm);
  };
  run(0);
  t.stream.wait();
  const auto a = x.row(rows - 1), b = other.row(rows - 1), norm = w.row(0), ours = y.row(rows - 1);
  double squares = 0;
  for (std::size_t i = 0; i < norm.size(); ++i) squares += a[i] * a[i];
  for (std::size_t i = 0; i < norm.size(); ++i) {
    const double expected = p.op == "add"        ? a[i] + b[i]
                            : p.op == "silu_mul" ? a[i] / (1 + std::exp(-a[i])) * a[i + norm.size()]
                                                 : a[i] / std::sqrt(squares / columns + kEpsilon) * norm[i];
    if (!close(ours[i], expected, 2)) {
      p.skipped = kDiffers;
      return;
    }
  }
  t.time_kernels(p, time_budget, 1, run);
}

void probe_rope_append(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  constexpr int kContext = 500;
  constexpr double kTheta = 10000;
  const int rows = p.at("rows"), heads = p.at("heads"), kv_heads = p.at("kv_heads"), dim = p.at("head_dim"),
            half = dim / 2, blocks = cuda::ceil_div(kContext + rows, cuda::kBlockTokens);
  if (!fits(4.0 * (kContext + 2.0 * rows) * kv_heads * dim + 4.0 * rows * heads * dim, p)) return;
  const Matrix<bf16> q(rows, heads * dim), k(rows, kv_heads * dim), v(rows, kv_heads * dim), y(rows, heads * dim),
      entries(blocks * 2 * kv_heads * cuda::kBlockTokens, dim);
  t.fill(q, 1);
  t.fill(k, 1'000'000'007);
  t.fill(v, 2'000'000'011);
  std::vector<float> frequencies;
  for (int i = 0; i < half; ++i) frequencies.push_back(static_cast<float>(std::pow(kTheta, -2.0 * i / dim)));
  const Matrix<float> d_frequencies(1, std::max(half, 1));
  must(cudaMemcpy(d_frequencies.data(), frequencies.data(), frequencies.size() * sizeof(float), cudaMemcpyHostToDevice),
       "copying");
  std::vector<int> table(at(blocks));
  std::iota(table.begin(), table.end(), 0);
  const auto d_table = uploaded(table, 1), zero = uploaded({0}, 1), lengths = uploaded({kContext}, 1),
             cu_seqlens = uploaded({0, rows}, 1);
  cuda::OpRunner d(t.stream);
  const PassRef pass = d.pass({.rows = {.cu_seqlens = d(cu_seqlens), .total = rows, .widest = rows},
                               .slots = {.kv_slots = d(zero), .lengths = d(lengths), .ids = d(zero)}});
  const Cache cache = d.cache({.kv_heads = kv_heads, .head_dim = dim, .value_dim = dim},
                              {entries.data(), d_table.data(), blocks, blocks});
  const Rope rope = d.rope({.columns = 2 * half}, d_frequencies.data());
  const RopeAppend append{d(q), d(k), d(v), rope, pass, cache, 0, d(y)};
  const auto run = [&](int) { d.run<bf16>(append); };
  run(0);
  t.stream.wait();
  const auto from = q.row(rows - 1), ours = y.row(rows - 1);
  const std::size_t begin = at((heads - 1) * dim), far = at(half);
  for (std::size_t i = 0; i < far; ++i) {
    const double angle = (kContext + rows - 1) * double{frequencies[i]};
    if (!close(ours[begin + i], from[begin + i] * std::cos(angle) - from[begin + i + far] * std::sin(angle), 2)) {
      p.skipped = kDiffers;
      return;
    }
  }
  t.time_kernels(p, time_budget, 1, run);
}

}  // namespace draftline
