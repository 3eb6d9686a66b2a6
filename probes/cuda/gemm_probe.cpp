// SPDX-License-Identifier: Apache-2.0
// Probes GEMMs, which rotate through copies of their weights.
#include <cmath>

#include "core/int_indexed.h"
#include "probes/cuda/ops.h"

namespace draftline {

void probe_gemm(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int rows = p.at("rows"), in = p.at("in"), out = p.at("out"), copies = p.at("copies");
  if (!fits(2.0 * in * out * copies + 2.0 * rows * (in + out), p)) return;
  const Matrix<bf16> x(rows, in), y(rows, out);
  Buffer w(product(in, out) * at(copies) * sizeof(bf16));
  auto* weights = reinterpret_cast<bf16*>(w.data());
  constexpr std::uint64_t kWeights = 1'000'000'007;
  t.fill(x, 1);
  cuda::fill_noise(weights, to_int64(product(in, out)) * copies, kWeights, t.stream);
  const cuda::GemmShape shape{rows, in, out, in, out, true, false};
  const auto operands = [&](int copy) {
    return cuda::GemmOperands{x.data(), weights + to_int64(product(in, out)) * copy, nullptr, y.data()};
  };
  t.blas.prepare(shape, operands(0));
  t.blas.run(shape, operands(0));
  t.stream.wait();
  const int r = rows - 1;
  const auto result = y.row(r);
  for (int sample = 0; sample < 32; ++sample) {
    const int c = to_int(std::int64_t{sample} * 2654435761 % out);
    double sum = 0;
    for (int i = 0; i < in; ++i)
      sum += noise_at(1 + product(r, in) + at(i)) * noise_at(kWeights + product(i, out) + at(c));
    if (!close(result[at(c)], sum, std::sqrt(in))) {
      p.skipped = kDiffers;
      return;
    }
  }
  t.time_kernels(p, time_budget, copies, [&](int i) { t.blas.run(shape, operands(i)); });
}

}  // namespace draftline
