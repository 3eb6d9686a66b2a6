// SPDX-License-Identifier: Apache-2.0
// Ops whose time depends on more than the op. The time of attention depends on the context. On a CPU, the time of an op
// that reads weights or old lines of a KV cache depends on the step's duration, because other programs fill the
// last-level cache meanwhile.
#pragma once
#include <variant>

#include "model/devices/attention_library.h"
#include "model/devices/device.h"
#include "model/engines/engine.h"
#include "model/work.h"

namespace draftline {

// Prompts computed between the previous step and this one: their time, and the share of this step's sequences that
// waited meanwhile. Other programs fill a CPU's last-level cache in this time.
struct PromptsBetween {
  Seconds time;
  double waiting = 1;
};

// The properties of the whole step on which the time of an op on a CPU depends: its duration, its bytes of weights and
// KV caches, and the prompts computed before it.
struct StepOnCpu {
  Seconds time{};
  Bytes weights{}, caches{};
  PromptsBetween prompts{};
};

// The bytes of weights accessed since the last access to an op's data, which are its weights or the entries of its
// layer's KV cache. `before`: the last access was in the previous step.
struct LastAccess {
  Bytes weights;
  bool before = false;
  bool operator==(const LastAccess&) const = default;
};

// The cost that an engine's attention kernels add.
struct AttentionCost {
  double launches, cache_traffic, bytes_per_pair;
  double pair_work = 0;  // of an engine that attends pair by pair, for each column
  Bytes extra_bytes(const Attention& k, const Span& s) const {
    return cache_traffic * k.keys_read(s.keys) + Bytes{bytes_per_pair * k.heads * s.pairs};
  }
  Flops arithmetic(const Attention& k, const Span& s) const { return {pair_work * k.heads * k.head_dim * s.pairs}; }
  bool operator==(const AttentionCost&) const = default;
};

// On a GPU only attention varies.
struct VaryingOnGpu {
  Attention kernel;
  AttentionChoice choice;
  AttentionCost cost;
  Seconds overlapped;  // the part of its launches that overlaps the preceding kernel
  Seconds time(const Device&, const Span&, const StepOnCpu&) const;
  Bytes cache_bytes(const Span&) const { return {}; }
  const Attention* attention() const { return &kernel; }
  bool operator==(const VaryingOnGpu&) const = default;
};

struct AttentionOnCpu {
  Attention kernel;
  AttentionCost cost;
  bool operator==(const AttentionOnCpu&) const = default;
};
struct GemmOnCpu {
  Gemm kernel;
  double weight_traffic = 1;
  bool operator==(const GemmOnCpu&) const = default;
};
struct VaryingOnCpu {
  std::variant<AttentionOnCpu, GemmOnCpu, Copy> op;
  LastAccess last_access;  // of a GEMM's weights, or of the KV cache for other ops
  Seconds time(const Device&, const Span&, const StepOnCpu&) const;
  Bytes cache_bytes(const Span&) const;  // of attention's keys and values
  const Attention* attention() const {   // null: another kernel
    const auto* attention = std::get_if<AttentionOnCpu>(&op);
    return attention != nullptr ? &attention->kernel : nullptr;
  }
  bool operator==(const VaryingOnCpu&) const = default;
};

using VaryingOp = std::variant<VaryingOnGpu, VaryingOnCpu>;

// `span`: attention's pairs and keys.
inline Seconds time_of(const Device& d, const VaryingOp& op, const Span& span, const StepOnCpu& step) {
  return std::visit([&](const auto& o) { return o.time(d, span, step); }, op);
}

// The time to expand narrow weights to 16 bits in memory and read them again, for engines that do this before
// multiplying. `copying`: the device's rate.
inline Seconds dequantising(const Gemm& k, double weight_traffic, BytesPerSecond copying) {
  if (weight_traffic <= 1) return {};
  return (weight_traffic - 1) * weight_bytes(k.weights, 1.0 * k.count * k.in * k.out) / copying;
}

}  // namespace draftline
