// SPDX-License-Identifier: Apache-2.0
// Recording of acceptance traces (trace/trace), for every method of the table alike. The target's own text is made
// first, or given; then the drafter drafts at every position, many of them at once (trace/position_batch), and
// wherever it chooses its best token it is given the target's instead, whose rank is noted. Nothing in a method knows
// of it.
#pragma once
#include <functional>
#include <memory>

#include "methods/decoder.h"
#include "trace/trace.h"

namespace draftline {

struct Tracing {
  // Builds a decoder of the method, on a backend that runs segments at their end; InputErrors of parameters that don't
  // fit, or of a machine too small, may come out of it.
  std::function<std::unique_ptr<Decoder>(const MethodSpec&)> make;
  MethodSpec method;  // whose acceptance is traced
  int slots = 1, new_tokens = 128, depth = 8;
  int positions_at_once = 64;  // of each text; the decoders that `make` builds have room for them. 0: a step for each
  int spare = 0;               // cache entries of those decoders beyond prompt and new tokens
  std::vector<std::vector<int>> continuations;  // what the target says to each prompt, as far as it is known
  std::vector<int> end_of_text;
  std::function<void(std::size_t)> progress;
};

// Fills in the header's method, reasons and depths. Ranks for drafts that are the best tokens of a chain; for a tree
// that grows, or drafts that come from elsewhere, the tokens that a step at each position emits; where even those
// depend on the path, the steps of a live run.
std::vector<TracedPrompt> record_trace(const Tracing&, const std::vector<std::vector<int>>& prompts, TraceHeader&);

// The plan that replays a method from ranks; none: its shape depends on more than ranks.
std::optional<DraftPlan> draft_plan(const Method&, bool tree);

}  // namespace draftline
