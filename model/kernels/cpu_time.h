// SPDX-License-Identifier: Apache-2.0
// How long the CPU interpreter's ops take (docs/explanation/kernel_model.md, "The CPU"). Everything is held in 32 bits,
// whatever its declared format.
#pragma once
#include <limits>

#include "model/devices/cpu_model.h"

namespace draftline {

inline constexpr int kCpuPanelColumns = 16, kCpuRowGroup = 4;

inline constexpr ReuseDistance kFromMemory{Bytes{std::numeric_limits<double>::infinity()}, {}};

// `distance`: the reuse distance of the weights.
Seconds cpu_time(const CpuModel&, const Gemm&, const ReuseDistance& distance = kFromMemory);
// `distance`: the reuse distance of the keys and values of earlier steps.
Seconds cpu_time(const CpuModel&, const Attention&, Span, const ReuseDistance& distance = kFromMemory);
Bytes cpu_cache_bytes(const Attention&, Span);  // of keys and values, as they are held
// `distance`: the reuse distance of the cache lines that the op accessed a step ago.
Seconds cpu_time(const CpuModel&, const Copy&, const ReuseDistance& distance = {});
// The bytes of the cache lines to which appended keys and values are written. Each column of a key has a line of its
// own, which the keys of a panel share; sixteen columns of a value share a line.
Bytes cpu_lines_appended(int sequences, int rows, int kv_heads, int head_dim, int value_dim);
Seconds cpu_time(const CpuModel&, const ExpertMlp&);
// As elementwise work.
Seconds cpu_time(const CpuModel&, const CausalConvolution&);
Seconds cpu_time(const CpuModel&, const DeltaRule&);
// The rate at which the bytes are moved that an engine adds to an op.
BytesPerSecond copy_bandwidth(const CpuModel&);

}  // namespace draftline
