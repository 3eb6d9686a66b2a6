// SPDX-License-Identifier: Apache-2.0
// The time of the CPU interpreter's ops (docs/explanation/kernel_model.md, "The CPU"). All values are stored in 32
// bits, independent of the declared format.
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
Bytes cpu_cache_bytes(const Attention&, Span);  // of keys and values as stored
// `distance`: the reuse distance of the cache lines that the op accessed a step ago.
Seconds cpu_time(const CpuModel&, const Copy&, const ReuseDistance& distance = {});
// The bytes of the cache lines to which appended keys and values are written. Each column of a panel's keys has one
// line; sixteen columns of a value share a line.
Bytes cpu_lines_appended(int sequences, int rows, int kv_heads, int head_dim, int value_dim);
Seconds cpu_time(const CpuModel&, const ExpertMlp&);
// Priced as elementwise work.
Seconds cpu_time(const CpuModel&, const CausalConvolution&);
Seconds cpu_time(const CpuModel&, const DeltaRule&);
Seconds cpu_time(const CpuModel&, const SelectiveScan&);
Seconds cpu_time(const CpuModel&, const StreamMix&);
// The rate of moving the bytes that an engine adds to an op.
BytesPerSecond copy_bandwidth(const CpuModel&);

}  // namespace draftline
