// SPDX-License-Identifier: Apache-2.0
// Ops whose time is not known from the op alone. That of attention depends on the context. On a CPU, that of an op that
// reads weights or old lines of a KV cache depends on how long the step takes, as co-runners fill the last-level cache
// meanwhile.
#pragma once
#include <variant>

#include "model/devices/attention_library.h"
#include "model/devices/device.h"
#include "model/engines/engine.h"
#include "model/work.h"

namespace draftline {

// Prompts that were read between the step before and this one: how long that took, and the share of this step's
// sequences that waited meanwhile. Co-runners fill a CPU's last-level cache in that time.
struct PromptsBetween {
  Seconds time;
  double waiting = 1;
};

// The whole step, as far as the time of an op on a CPU depends on it: how long it takes, how many bytes of weights and
// of KV caches it accesses, and the prompts that were read before it.
struct StepOnCpu {
  Seconds time{};
  Bytes weights{}, caches{};
  PromptsBetween prompts{};
};

// How long ago an op's data were accessed: the bytes of weights that were accessed since then. The data are the op's
// weights, or the entries of its layer's KV cache. `before`: they were last accessed in the step before.
struct LastAccess {
  Bytes weights;
  bool before = false;
  bool operator==(const LastAccess&) const = default;
};

// What an engine's kernels of attention add to it.
struct AttentionCost {
  double launches, cache_traffic, bytes_per_pair;
  Bytes extra_bytes(const Attention& k, const Span& s) const {
    return cache_traffic * k.keys_read(s.keys) + Bytes{bytes_per_pair * k.heads * s.pairs};
  }
  bool operator==(const AttentionCost&) const = default;
};

// On a GPU attention alone varies.
struct VaryingOnGpu {
  Attention kernel;
  AttentionChoice choice;
  AttentionCost cost;
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
  LastAccess last_access;  // of a GEMM's weights, of the KV cache of the others
  Seconds time(const Device&, const Span&, const StepOnCpu&) const;
  Bytes cache_bytes(const Span&) const;  // of keys and values that attention accesses
  const Attention* attention() const {   // null: another kernel
    const auto* attention = std::get_if<AttentionOnCpu>(&op);
    return attention != nullptr ? &attention->kernel : nullptr;
  }
  bool operator==(const VaryingOnCpu&) const = default;
};

using VaryingOp = std::variant<VaryingOnGpu, VaryingOnCpu>;

// `span`: the pairs and keys of an attention.
inline Seconds time_of(const Device& d, const VaryingOp& op, const Span& span, const StepOnCpu& step) {
  return std::visit([&](const auto& o) { return o.time(d, span, step); }, op);
}

// The time to write weights of fewer bits out in 16 and read them again, for an engine that does so before it
// multiplies. `copying`: the device's rate.
inline Seconds dequantising(const Gemm& k, double weight_traffic, BytesPerSecond copying) {
  if (weight_traffic <= 1) return {};
  return (weight_traffic - 1) * weight_bytes(k.weights, 1.0 * k.count * k.in * k.out) / copying;
}

}  // namespace draftline
