// SPDX-License-Identifier: Apache-2.0
// Seconds, bytes and FLOP as plain doubles inside.
#include "model/kernels/gpu_delta_net_time.h"

#include <algorithm>
#include <cmath>

#include "model/kernels/gpu_time.h"
#include "model/kernels/kernel_time.h"
#include "model/kernels/stream_time.h"

namespace draftline {
namespace {

constexpr int kRuleRows = 64;          // of a chunk, in flash-linear-attention and FlashInfer
constexpr int kConvolutionRows = 512;  // of a chunk, in Mamba's CUDA kernel

// Each CTA walks over its chunks.
struct Walk {
  double ctas, chunks;
  Bytes moved;  // of all CTAs
};
Seconds chunk_time(const ChunkFit& f, const Device& d, const Walk& walk) {
  const double full = std::max(walk.ctas / d.multiprocessors, 1.0);
  const double waves = full * std::pow(std::ceil(full) / full, f.wave_softness);
  const double latency = waves * (f.start.value + walk.chunks * f.chunk.value);
  return f.fixed + Seconds{smooth_max(latency, (walk.moved / (f.bandwidth_share * d.bandwidth)).value, f.blend)};
}

// Of each head of each sequence, and of each column of each sequence.
Walk walk_of(const DeltaRule& k) {
  return {1.0 * k.sequences * k.value_heads, std::ceil(1.0 * k.widest / kRuleRows), work(k).bytes()};
}
Walk walk_of(const CausalConvolution& k) {
  const double chunks = 1.0 * k.rows / std::max(1, k.sequences) / kConvolutionRows;
  // Beyond one chunk a CTA has twice the threads and takes two at a time (TensorRT-LLM: causalConv1d.cu).
  return {1.0 * k.sequences * k.columns, chunks <= 1 ? 1 : 2 * std::ceil(chunks / 2), work(k).bytes()};
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
  return k.prompts ? chunk_time(f.prompt_rule, d, walk_of(k)) : stream_time(f.rule, d, work(k).bytes(), resident);
}

Seconds state_space_time(const StateSpaceFit& f, const Device& d, const CausalConvolution& k, Bytes resident) {
  if (k.prompts) return chunk_time(f.prompt_convolution, d, walk_of(k));
  return stream_time(f.convolution, d, work(k).bytes(), resident);
}

template <class Kernel>
static Seconds by_fit_or_bytes(const Device& d, const Kernel& k) {
  const auto& fit = d.gpu().delta_net;
  return fit ? delta_net_time(*fit, d, k) : gpu_time(d, as_elementwise(work(k)));
}
Seconds gpu_time(const Device& d, const CausalConvolution& k) {
  const auto& fit = d.gpu().state_space;
  return k.state_space && fit ? state_space_time(*fit, d, k) : by_fit_or_bytes(d, k);
}
Seconds gpu_time(const Device& d, const DeltaRule& k) { return by_fit_or_bytes(d, k); }
// No table has a scan. A step reads and writes states as a delta rule's does; a prompt's chunks do not wait for each
// other as a delta rule's do, so that bytes and FLOP bound it.
Seconds gpu_time(const Device& d, const SelectiveScan& k) {
  const auto& fit = d.gpu().delta_net;
  if (!fit) return gpu_time(d, as_elementwise(k.prompts ? chunked_work(k) : work(k)));
  return k.prompts ? scan_time(fit->prompt_rule, d, k) : stream_time(fit->rule, d, work(k).bytes(), {});
}

}  // namespace draftline
