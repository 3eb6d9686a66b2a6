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
  const double x = resident / (f.l2_share * d.l2), hot = resident.value > 0 ? 1 / (1 + (x * x) * (x * x)) : 0;
  const double speed = (1 - hot) / f.bandwidth_share + hot / f.l2_speed;
  return f.fixed + speed * (moved / d.bandwidth);
}

// Every head of every sequence is one CTA, which walks over the chunks of its rows.
Seconds chunk_time(const ChunkFit& f, const Device& d, const DeltaRule& k) {
  const double heads = static_cast<double>(k.sequences) * k.value_heads;
  const double full = std::max(heads / d.multiprocessors, 1.0);
  const double waves = full * std::pow(std::ceil(full) / full, f.wave_softness);
  const double chunks = std::ceil(static_cast<double>(k.widest) / kChunkRows);
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

Seconds gpu_time(const Device& d, const CausalConvolution& k) { return delta_net_time(*d.gpu().delta_net, d, k); }
Seconds gpu_time(const Device& d, const DeltaRule& k) { return delta_net_time(*d.gpu().delta_net, d, k); }

}  // namespace draftline
