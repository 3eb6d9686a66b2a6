// SPDX-License-Identifier: Apache-2.0
// Seconds and bytes as plain doubles inside.
#include "model/kernels/gpu_delta_net_time.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"

namespace draftline {
namespace {

constexpr int kChunkRows = 64;  // of flash-linear-attention and FlashInfer

Seconds stream_time(const StreamFit& f, const Device& d, Bytes moved, Bytes resident) {
  const double x = resident / (f.l2_share * d.l2), hits = resident.value > 0 ? 1 / (1 + (x * x) * (x * x)) : 0;
  const double speed = (1 - hits) / f.bandwidth_share + hits / f.l2_speed;
  return f.fixed + speed * (moved / d.bandwidth);
}

// Every head of every sequence is one CTA, which walks over the chunks of its rows.
Seconds chunk_time(const ChunkFit& f, const Device& d, const DeltaRule& k) {
  const double heads = 1.0 * k.sequences * k.value_heads;
  const double full = std::max(heads / d.multiprocessors, 1.0);
  const double waves = full * std::pow(std::ceil(full) / full, f.wave_softness);
  const double chunks = std::ceil(1.0 * k.widest / kChunkRows);
  const double latency = waves * (f.start.value + chunks * f.chunk.value);
  return f.fixed + Seconds{smooth_max(latency, (work(k).bytes() / (f.bandwidth_share * d.bandwidth)).value, f.blend)};
}

}  // namespace

Seconds delta_net_time(const DeltaNetFit& f, const Device& d, const CausalConvolution& k, Bytes resident) {
  return stream_time(k.prompts ? f.prompt_convolution : f.convolution, d, work(k).bytes(), resident);
}

Seconds delta_net_time(const DeltaNetFit& f, const Device& d, const DeltaRule& k, Bytes resident) {
  return k.prompts ? chunk_time(f.prompt_rule, d, k) : stream_time(f.rule, d, work(k).bytes(), resident);
}

template <class Kernel>
static Seconds by_fit_or_bytes(const Device& d, const Kernel& k) {
  const auto& fit = d.gpu().delta_net;
  return fit ? delta_net_time(*fit, d, k) : gpu_time(d, as_elementwise(work(k)));
}
Seconds gpu_time(const Device& d, const CausalConvolution& k) { return by_fit_or_bytes(d, k); }
Seconds gpu_time(const Device& d, const DeltaRule& k) { return by_fit_or_bytes(d, k); }

}  // namespace draftline
