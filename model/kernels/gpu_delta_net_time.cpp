// SPDX-License-Identifier: Apache-2.0
// Seconds, bytes and FLOP as plain doubles inside.
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

// A prompt's scan is five kernels over chunks side by side (mamba_ssm's and vLLM's ssd_combined): sums of the steps,
// the state of each chunk, the states passed from chunk to chunk, C B^T within chunks, and the results. Each chunk's
// state is written and read twice in 32 bits; the inputs are read twice.
constexpr int kScanKernels = 5;
Work chunked_work(const SelectiveScan& k) {
  const double rows = k.rows, columns = k.columns();
  const double chunks = k.sequences * std::ceil(1.0 * k.rows / std::max(1, k.sequences) / k.chunk);
  const Bytes states = bytes_of(DType::fp32, chunks * columns * k.state_dim),
              scores = bytes_of(DType::fp32, rows * k.chunk * k.groups);
  Work all = work(k);
  all.flops += Flops{2 * rows * k.chunk * (1.0 * k.groups * k.state_dim + columns)};
  all.read += 2.0 * states + scores + bytes_of(k.activations, rows * columns);
  all.written += 2.0 * states + scores;
  return all;
}

Seconds scan_time(const ChunkFit& f, const Device& d, const SelectiveScan& k) {
  const Work all = chunked_work(k);
  const double rate = d.gpu().gemm.peak_share * matrix_rate(d, DType::bf16, DType::bf16).value;
  const double memory = (all.bytes() / (f.bandwidth_share * d.bandwidth)).value;
  return kScanKernels * f.fixed + Seconds{smooth_max(all.flops.value / rate, memory, f.blend)};
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
// No table has a scan. A step reads and writes states as a delta rule's does; a prompt's chunks do not wait for each
// other as a delta rule's do, so that bytes and FLOP bound it.
Seconds gpu_time(const Device& d, const SelectiveScan& k) {
  const auto& fit = d.gpu().delta_net;
  if (!fit) return gpu_time(d, as_elementwise(k.prompts ? chunked_work(k) : work(k)));
  return k.prompts ? scan_time(fit->prompt_rule, d, k) : stream_time(fit->rule, d, work(k).bytes(), {});
}

}  // namespace draftline
