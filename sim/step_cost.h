// SPDX-License-Identifier: Apache-2.0
// What a serving step costs, as the event loop asks for it: a decode step is linear in the batch's total context within
// a cell, so that many steps of an unchanged batch are one sum.
#pragma once
#include <cstdint>
#include <span>

#include "core/clock.h"

namespace draftline {

// A part of a prompt that a step computes: `tokens` of them behind `context` tokens that are cached.
struct Chunk {
  int tokens = 0, context = 0;
};

class StepCost {
 public:
  virtual ~StepCost() = default;

  // Time of one decode step while the total context of its sequences is in [from, to).
  struct Line {
    std::int64_t from = 0, to = 0;
    Ticks start = 0, per_token = 0;  // at `from`, and per token of context beyond it
    Ticks host = 0;                  // of it, what the device waits for
    Ticks slack = 0;                 // of `host`, what more device work would hide
    Ticks at(std::int64_t context) const { return start + per_token * (context - from); }
  };
  // Of `sequences` that verify `drafts` drafts each; 0 sequences: the host's part of a step that only computes prompts.
  virtual Line decode(int sequences, int drafts, std::int64_t context) = 0;

  // What more a decode step takes after prompts that were read in `prompts` while all but `fresh` of its sequences
  // waited.
  virtual Ticks after_prompts(int /*sequences*/, int /*drafts*/, std::int64_t /*context*/, Ticks /*prompts*/,
                              int /*fresh*/) {
    return 0;
  }

  // Device time that chunks add to a step of so many sequences and drafts.
  virtual Ticks prefill(int sequences, int drafts, std::span<const Chunk>) = 0;

  // Wall time spent here on prices that were not known yet.
  virtual Seconds pricing_time() const { return {}; }

  // Serial host time per emitted token.
  virtual Ticks token() const { return 0; }
};

}  // namespace draftline
