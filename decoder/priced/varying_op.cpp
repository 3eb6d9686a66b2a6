// SPDX-License-Identifier: Apache-2.0
#include "decoder/priced/varying_op.h"

#include "model/kernels/cpu_time.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

namespace {

// The reuse distance of an op's weights. Co-runners had as large a share of the step's time as was accessed of its
// weights. A prompt accesses each weight too: on average half of its time, and half of the step's, lie between.
ReuseDistance distance_of_weights(const CpuModel& cpu, const LastAccess& last, const StepOnCpu& s) {
  if (!std::isfinite(last.weights.value) || s.weights.value <= 0) return {last.weights, {}};
  const Seconds time =
      last.before && s.prompts.time.value > 0 ? 0.5 * (s.prompts.time + s.time) : (last.weights / s.weights) * s.time;
  return {last.weights, cpu.co_runner_traffic * time};
}

// The reuse distance of entries of a KV cache. As large a share of the step's caches was accessed as of its weights. A
// prompt accesses no entries of the sequences that wait.
ReuseDistance distance_of_entries(const CpuModel* cpu, const LastAccess& last, const StepOnCpu& s) {
  if (cpu == nullptr) return {};
  const double share = s.weights.value > 0 ? last.weights / s.weights : 1;
  const Seconds time = share * s.time + (last.before ? s.prompts.waiting * s.prompts.time : Seconds{});
  return {share * (s.weights + s.caches), cpu->co_runner_traffic * time};
}

// What lies beside the kernel: bytes that an engine adds to attention, or a GEMM's dequantised weights.
struct Time {
  const Device& device;
  const VaryingOp& op;
  const Span& span;
  const StepOnCpu& step;

  Seconds more_launches() const { return (op.launches - 1) * launch_time(device); }
  Seconds operator()(const Attention& k) const {
    const Bytes cache = k.keys_read(span.keys);
    const Bytes more = op.cache_traffic * cache + Bytes{op.bytes_per_pair * k.heads * span.pairs};
    return kernel_time(device, k, span, distance_of_entries(device.cpu(), op.last_access, step), op.attention) +
           more_launches() + more / copy_bandwidth(device);
  }
  Seconds operator()(const Gemm& k) const {
    const CpuModel& cpu = *device.cpu();
    return cpu_time(cpu, k, distance_of_weights(cpu, op.last_access, step)) +
           dequantising(device, k, op.weight_traffic) + more_launches();
  }
  Seconds operator()(const Copy& k) const {
    return kernel_time(device, k, distance_of_entries(device.cpu(), op.last_access, step)) + more_launches();
  }
};

}  // namespace

Seconds time_of(const Device& d, const VaryingOp& op, Span span, const StepOnCpu& step) {
  return std::visit(Time{d, op, span, step}, op.kernel);
}

Seconds dequantising(const Device& d, const Gemm& k, double weight_traffic) {
  if (weight_traffic <= 1) return {};
  return (weight_traffic - 1) * weight_bytes(k.weights, static_cast<double>(k.count) * k.in * k.out) /
         copy_bandwidth(d);
}

}  // namespace draftline
