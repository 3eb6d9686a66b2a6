// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/gpu_time.h"

#include <algorithm>

#include "model/kernels/kernel_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

Seconds gpu_time(const Device& d, const Copy& k) {
  const CopyFit& f = d.gpu().copy;
  const Seconds memory = (k.read + k.written) / (f.bandwidth_share * d.bandwidth);
  return f.fixed + std::max(memory, k.flops / matrix_rate(d, DType::bf16, DType::bf16));
}

double l2_share_left(const Device& d, const Gemm& k, Bytes distance) {
  const double x = std::max(distance.value, 0.0) / (gemm_fit(d, operands_of(k)).fit.l2_share * d.l2.value);
  return 1 / (1 + (x * x) * (x * x));
}

}  // namespace draftline
