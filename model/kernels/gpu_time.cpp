// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/gpu_time.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/gpu_expert_time.h"
#include "model/kernels/kernel_time.h"
#include "model/kernels/operand_fits.h"

namespace draftline {

// How much of something is still in L2 when so much else has been accessed, of which there is so much room.
static double kept(double accessed, double room) {
  const double x = std::max(accessed, 0.0) / room;
  return 1 / (1 + (x * x) * (x * x));
}

Seconds gpu_time(const Device& d, const Copy& k) {
  const CopyFit& f = d.gpu().copy;
  const auto& own = f.of[k.op];
  const Bytes bytes = k.read + k.written;
  const double in_l2 = own && f.l2_share > 0 ? kept(bytes.value, f.l2_share * d.l2.value) : 0;
  const double from_memory = own ? std::min(f.bandwidth_share, own->l2_speed) : f.bandwidth_share;  // no faster than L2
  const Seconds memory = (1 - in_l2) * (bytes / (from_memory * d.bandwidth)),
                l2 = in_l2 > 0 ? in_l2 * (bytes / (own->l2_speed * d.bandwidth)) : Seconds{};
  return (own ? own->fixed : f.fixed) + std::max(memory + l2, k.flops / matrix_rate(d, DType::bf16, DType::bf16));
}

double l2_share_left(const Device& d, const Gemm& k, Bytes bytes_between) {
  return kept(bytes_between.value, gemm_fit(d, operands_of(k)).fit.l2_share * d.l2.value);
}

Seconds launch_part(const Device& d, const Gemm& k) { return gemm_fit(d, operands_of(k)).fit.fixed; }
Seconds launch_part(const Device& d, const Copy& k) {
  const CopyFit& f = d.gpu().copy;
  return f.of[k.op] ? f.of[k.op]->fixed : f.fixed;
}
Seconds launch_part(const Device& d, const ExpertMlp& k) {
  const Seconds router = launch_part(d, router_of(k));
  if (expert_fit(d, operands_of(k)).fit != nullptr) return router;
  return router + 2.0 * gemm_fit(d, operands_of(k)).fit.fixed;
}
Seconds launch_part(const Device& d, const CausalConvolution& k) {
  if (const auto& fit = d.gpu().state_space; k.state_space && fit)
    return k.prompts ? fit->prompt_convolution.fixed : fit->convolution.fixed;
  const auto& fit = d.gpu().delta_net;
  if (!fit) return d.gpu().copy.fixed;
  return (k.prompts ? fit->prompt_convolution : fit->convolution).fixed;
}
Seconds launch_part(const Device& d, const DeltaRule& k) {
  const auto& fit = d.gpu().delta_net;
  if (!fit) return d.gpu().copy.fixed;
  return k.prompts ? fit->prompt_rule.fixed : fit->rule.fixed;
}
Seconds launch_part(const Device& d, const SelectiveScan& k) {
  const auto& fit = d.gpu().delta_net;
  if (!fit) return d.gpu().copy.fixed;
  return k.prompts ? fit->prompt_rule.fixed : fit->rule.fixed;
}
Seconds launch_part(const Device&, const AttentionChoice& choice) {
  return std::min(choice.fit->decode.fixed, choice.fit->prefill.fixed);
}

// At a clock c (1: full) a kernel takes t / c and its energy is c E, so it stays within the limit up to
// c = sqrt(room t / E). Kernels that wait for memory alone are below the limit.
Seconds at_power_limit(const Device& d, const Work& w, DType operands, Seconds t) {
  const auto& power = d.gpu().power;
  if (!power) return t;
  const double joules = power->joules_per_flop * w.flops.value * bits_of(operands) / bits_of(DType::bf16) +
                        power->joules_per_byte * w.bytes().value;
  const Seconds at_limit{joules / (*d.power_watts - power->idle_watts)};
  return at_limit > t ? Seconds{std::sqrt(at_limit.value * t.value)} : t;
}

Seconds launch_time(const Device& d) { return d.gpu().copy.fixed; }

BytesPerSecond copy_bandwidth(const Device& d) { return d.gpu().copy.bandwidth_share * d.bandwidth; }

}  // namespace draftline
