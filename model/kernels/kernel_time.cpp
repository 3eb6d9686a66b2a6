// SPDX-License-Identifier: Apache-2.0
// What the kernels of all devices share, and the choice of the form by the kind of device.
#include "model/kernels/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/cpu_time.h"
#include "model/kernels/gpu_time.h"

namespace draftline {

double smooth_max(double x, double y, double p) {
  const double most = std::max(x, y), least = std::min(x, y);
  if (least <= 0) return std::max(most, 0.0);
  const double share = std::pow(least / most, p);
  return share < 1e-17 ? most : most * std::pow(1 + share, 1 / p);
}

FlopsPerSecond matrix_rate(const Device& d, DType weights, DType activations) {
  const DType wider = bits_of(weights) >= bits_of(activations) ? weights : activations;
  const FlopsPerSecond rate = d.peak_of(wider);
  if (rate.value > 0) return rate;
  return d.peak_of(DType::bf16).value > 0 ? d.peak_of(DType::bf16) : d.peak_of(DType::fp16);
}

Precision served_precision(Precision p, const Device& d) {
  for (LinearFormat* f : {&p.attention, &p.mlp, &p.experts, &p.lm_head, &p.draft})
    if (f->inputs && d.peak_of(*f->inputs).value <= 0) f->inputs.reset();
  return p;
}

// By the form of the device's kind.
template <class... Kernel>
static Seconds time_of(const Device& d, const Kernel&... k) {
  return d.cpu() != nullptr ? cpu_time(*d.cpu(), k...) : gpu_time(d, k...);
}

Seconds kernel_time(const Device& d, const Gemm& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const Attention& k, Span s) { return time_of(d, k, s); }
Seconds kernel_time(const Device& d, const Copy& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const ExpertMlp& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const CausalConvolution& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const DeltaRule& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const SelectiveScan& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const StreamMix& k) { return time_of(d, k); }

}  // namespace draftline
