// SPDX-License-Identifier: Apache-2.0
// Ops whose time is not known from the op alone. That of attention depends on the context. On a CPU, that of an op that
// reads weights or old lines of a KV cache depends on how long the step takes, as co-runners fill the last-level cache
// meanwhile.
#pragma once
#include <cmath>
#include <variant>

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

// How long ago an op's data were accessed, on a CPU: the bytes of weights that were accessed since then. The data are
// the op's weights, or the entries of its layer's KV cache. `before`: they were last accessed in the step before.
struct LastAccess {
  Bytes weights;
  bool before = false;
  bool operator==(const LastAccess&) const = default;
};

struct VaryingOp {
  std::variant<Attention, Gemm, Copy> kernel;
  LastAccess last_access;                        // of a GEMM's weights, of the KV cache of the others
  double launches = 1;                           // OpCost: of an engine
  double weight_traffic = 1;                     // of a GEMM
  double cache_traffic = 0, bytes_per_pair = 0;  // of attention
  AttentionChoice attention{};                   // on a GPU: whose kernel it is
  bool operator==(const VaryingOp&) const = default;
};

// A step on a CPU: how long it takes, how many bytes it accesses, and the prompts that were read before it. A GPU needs
// none of it.
struct StepOnCpu {
  Seconds time{};
  Bytes weights{}, caches{};
  PromptsBetween prompts{};
};

// The device time of an op that varies. `span`: the pairs and keys of an attention.
Seconds time_of(const Device&, const VaryingOp&, Span span, const StepOnCpu&);

// The time to write weights of fewer bits out in 16 and read them again, for an engine that does so before it
// multiplies.
Seconds dequantising(const Device&, const Gemm&, double weight_traffic);

// The time of a step on a CPU, where `time` gives it as a function of itself: the longer a step takes, the more of the
// LLC co-runners have filled meanwhile. On a GPU `time` is asked once.
template <class Time>
Seconds fixed_point(const Device& d, Time time) {
  constexpr int kMost = 100;
  constexpr double kClose = 1e-10;
  Seconds t = time(Seconds{});
  if (d.cpu() == nullptr) return t;
  for (int i = 0; i < kMost; ++i) {
    const Seconds next = time(t);
    if (std::abs((next - t).value) <= kClose * next.value) return next;
    t = next;
  }
  return t;
}

}  // namespace draftline
