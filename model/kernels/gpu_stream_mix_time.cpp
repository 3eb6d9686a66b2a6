// SPDX-License-Identifier: Apache-2.0
#include "model/kernels/gpu_stream_mix_time.h"

#include "model/kernels/gpu_time.h"
#include "model/kernels/stream_time.h"

namespace draftline {

Seconds stream_mix_time(const ResidualStreamsFit& f, const Device& d, const StreamMix& k, Bytes resident) {
  return stream_time(k.spreads ? f.spread : f.join, d, work(k).bytes(), resident);
}

Seconds gpu_time(const Device& d, const StreamMix& k) {
  const auto& fit = d.gpu().residual_streams;
  return fit ? stream_mix_time(*fit, d, k) : gpu_time(d, as_elementwise(work(k)));
}

Seconds launch_part(const Device& d, const StreamMix& k) {
  const auto& fit = d.gpu().residual_streams;
  if (!fit) return d.gpu().copy.fixed;
  return k.spreads ? fit->spread.fixed : fit->join.fixed;
}

}  // namespace draftline
