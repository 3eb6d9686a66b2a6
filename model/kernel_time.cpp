// SPDX-License-Identifier: Apache-2.0
// What the kernels share, and the short ones; GEMMs are in gemm_time.cpp, attention in attention_time.cpp.
#include "model/kernel_time.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "model/attention_time.h"

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

double l2_share_left(const Device& d, Bytes distance) {
  const double x = std::max(distance.value, 0.0) / (d.fits.gemm.l2_share * d.l2.value);
  return 1 / (1 + (x * x) * (x * x));
}

Seconds roofline_time(const Device& d, const Work& w, DType t) {
  return std::max(w.flops / matrix_rate(d, t, t), w.bytes() / d.bandwidth);
}

Seconds kernel_time(const Device& d, const Attention& k, Span s, const ReuseDistance& distance) {
  return d.cpu ? cpu_time(*d.cpu, k, s, distance) : attention_time(d, k, s, CacheState::cold);
}

Seconds kernel_time(const Device& d, const Copy& k, const ReuseDistance& distance) {
  if (d.cpu) return cpu_time(*d.cpu, k, distance);
  const CopyFit& f = d.fits.copy;
  const Seconds memory = (k.read + k.written) / (f.bandwidth_share * d.bandwidth);
  return f.fixed + std::max(memory, k.flops / matrix_rate(d, DType::bf16, DType::bf16));
}

Seconds kernel_time(const Device& d, const AllReduce& k) {
  if (k.ranks <= 1) return {};
  // The table of the nearest number of ranks that is not smaller; its points are sorted by message.
  const auto& table = d.all_reduce;
  const auto first = std::find_if(table.begin(), table.end(), [&](const auto& p) { return p.ranks >= k.ranks; });
  if (first == table.end())
    throw InputErrors(d.name + ": no all-reduce of " + std::to_string(k.ranks) +
                      " devices is known; give \"all_reduce\" in its file");
  const auto last = std::find_if(first, table.end(), [&](const auto& p) { return p.ranks != first->ranks; });
  const auto above = std::lower_bound(first, last, k.message, [](const auto& p, Bytes m) { return p.message < m; });
  if (above == first) return first->time;
  const auto below = above - 1;
  if (above == last) return (k.message / below->message) * below->time;
  const double share = std::log(k.message / below->message) / std::log(above->message / below->message);
  return Seconds{below->time.value * std::pow(above->time / below->time, share)};
}

}  // namespace draftline
