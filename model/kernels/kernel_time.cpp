// SPDX-License-Identifier: Apache-2.0
// What the kernels of all devices share, and the choice of the form by the kind of device.
#include "model/kernels/kernel_time.h"

#include <algorithm>
#include <cmath>
#include <variant>

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

Seconds roofline_time(const Device& d, const Work& w, DType t) {
  return std::max(w.flops / matrix_rate(d, t, t), w.bytes() / d.bandwidth);
}

namespace {

// A kernel's time by the form of each kind of device.
struct TimeByKind {
  const Device& device;
  template <class... Work>
  Seconds operator()(const GpuModel&, const Work&... k) const {
    return gpu_time(device, k...);
  }
  template <class... Work>
  Seconds operator()(const CpuModel& cpu, const Work&... k) const {
    return cpu_time(cpu, k...);
  }
};

template <class... Work>
Seconds time_of(const Device& d, const Work&... k) {
  return std::visit([&](const auto& model) { return TimeByKind{d}(model, k...); }, d.model);
}

}  // namespace

Seconds kernel_time(const Device& d, const Gemm& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const Attention& k, Span s) { return time_of(d, k, s); }
Seconds kernel_time(const Device& d, const Copy& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const ExpertMlp& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const CausalConvolution& k) { return time_of(d, k); }
Seconds kernel_time(const Device& d, const DeltaRule& k) { return time_of(d, k); }

}  // namespace draftline
