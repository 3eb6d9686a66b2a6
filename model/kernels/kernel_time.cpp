// SPDX-License-Identifier: Apache-2.0
// What the kernels of GPUs and CPUs share, and which form a device has.
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

Seconds roofline_time(const Device& d, const Work& w, DType t) {
  return std::max(w.flops / matrix_rate(d, t, t), w.bytes() / d.bandwidth);
}

// ---- a GPU's form, or a CPU's

Seconds kernel_time(const Device& d, const Gemm& k, double hot) {
  if (const CpuModel* cpu = d.cpu()) return cpu_time(*cpu, k, {Bytes{INFINITY}, {}});
  return gpu_time(d, k, hot);
}

Seconds kernel_time(const Device& d, const Attention& k, Span s, const ReuseDistance& distance,
                    AttentionChoice choice) {
  if (const CpuModel* cpu = d.cpu()) return cpu_time(*cpu, k, s, distance);
  if (choice.fit == nullptr) choice = attention_choice(d.gpu().attention, {}, k.cache, form_of(k));
  return gpu_time(d, choice, k, s, CacheState::cold);
}

Seconds kernel_time(const Device& d, const Copy& k, const ReuseDistance& distance) {
  if (const CpuModel* cpu = d.cpu()) return cpu_time(*cpu, k, distance);
  return gpu_time(d, k);
}

Seconds kernel_time(const Device& d, const ExpertMlp& k) {
  if (const CpuModel* cpu = d.cpu()) return cpu_time(*cpu, k);
  return gpu_time(d, k);
}

template <class Kernel>
static Seconds time_of_state_kernel(const Device& d, const Kernel& k) {
  if (d.cpu() == nullptr && d.gpu().delta_net) return gpu_time(d, k);
  const Work w = work(k);
  return kernel_time(d, Copy{.read = w.read, .written = w.written, .flops = w.flops});
}
Seconds kernel_time(const Device& d, const CausalConvolution& k) { return time_of_state_kernel(d, k); }
Seconds kernel_time(const Device& d, const DeltaRule& k) { return time_of_state_kernel(d, k); }

Seconds launch_time(const Device& d) { return d.cpu() != nullptr ? Seconds{} : d.gpu().copy.fixed; }

BytesPerSecond copy_bandwidth(const Device& d) {
  if (const CpuModel* cpu = d.cpu()) return Bytes{1} / cpu->elements.byte;
  return d.gpu().copy.bandwidth_share * d.bandwidth;
}

}  // namespace draftline
