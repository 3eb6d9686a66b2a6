// SPDX-License-Identifier: Apache-2.0
// The interface through which the simulator obtains step times. A decode step's time is piecewise linear in the total
// context of its batch, so that the times of many steps of an unchanged batch can be summed in closed form.
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>

#include "core/clock.h"
#include "predict/chunk_prices.h"

namespace draftline {

// The batch of one decode step. No sequences: the step only computes prompts.
struct DecodeBatch {
  int sequences = 0, drafts = 0;  // drafts: of each sequence
  std::int64_t context = 0;       // tokens in the KV cache, all sequences together
};

// The load of one rank of a server with data-parallel attention in a step.
struct StepLoad {
  int sequences = 0, drafts = 0, prompt_tokens = 0;  // drafts: of each sequence
  bool operator==(const StepLoad&) const = default;
};

class StepCost {
 public:
  virtual ~StepCost() = default;

  // The time of one decode step while the total context of its sequences is in [from, to).
  struct Line {
    std::int64_t from = 0, to = 0;   // tokens
    Ticks start = 0, per_token = 0;  // time at `from`; time per token of context beyond it
    Ticks host = 0;                  // the part of `start` that is exposed host time
    Ticks slack = 0;                 // the part of `host` that additional device work would hide
    Ticks host_slack = 0;            // the part of `start` that additional host work would hide
    Ticks drafting = 0;              // the part of `start` in which the drafter's passes run
    Ticks at(std::int64_t context) const { return start + per_token * (context - from); }
    // The additional step time for additional device time, which may be negative, and additional host time.
    Ticks longer(Ticks device, Ticks more_host = 0) const {
      const Ticks by_device = device > 0 ? std::max<Ticks>(0, device - slack) : device;
      return more_host > 0 ? std::max(by_device, more_host - host_slack) : by_device;
    }
  };
  // The price of a decode step. Without sequences: the host time of a graph that only computes prompts. Throws
  // InputErrors if a step takes hours.
  virtual Line decode(const DecodeBatch&) = 0;

  // The additional time of a decode step after steps that only computed prompts, which evict data from the CPU's
  // caches. `prompts`: their total time. `fresh`: the number of sequences of the batch that were prefilled meanwhile.
  virtual Ticks after_prompts(const DecodeBatch&, Ticks /*prompts*/, int /*fresh*/) { return 0; }

  // The time that prompt chunks add to a step: device time, and host time if the step has too many rows for a graph.
  struct Prompts {
    Ticks device = 0, host = 0;
  };
  virtual Prompts prefill(const DecodeBatch&, std::span<const Chunk>) = 0;

  // Data-parallel attention: the part of a step's time for the experts and their exchange if each rank of a server has
  // this load. The times above assume equal loads of all ranks.
  virtual Ticks shared_time(const StepLoad&) { return 0; }

  // The wall time that this machine spent on computing step times.
  virtual Seconds pricing_time() const { return {}; }

  // Serial host time per emitted token, in addition to the above.
  virtual Ticks token() const { return 0; }
};

}  // namespace draftline
