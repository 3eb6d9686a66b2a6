// SPDX-License-Identifier: Apache-2.0
// Recording of acceptance traces (trace/trace, docs/explanation/traces.md) for any method. First the target's text is
// generated or taken as given. Then the drafter drafts at every position, many positions at a time
// (trace/position_batch). Wherever it chooses its best token, it continues with the target's token instead, whose rank
// is recorded. Methods need no code for this.
#pragma once
#include <functional>
#include <memory>

#include "methods/decoder.h"
#include "trace/trace.h"

namespace draftline {

struct Tracing {
  // Builds a decoder of a method, on a backend that runs segments at their end. It may throw InputErrors if the
  // parameters are wrong or the machine has too little memory.
  std::function<std::unique_ptr<Decoder>(const MethodSpec&)> make;
  MethodSpec method;
  // Sequences decoded together, output tokens per prompt, and levels of ranks to record if the drafter can draft deeper
  // than the method does.
  int slots = 1, new_tokens = 128, depth = 8;
  int positions_at_once = 64;                   // positions of each text per pass; 0: one step per position
  int spare = 0;                                // cache entries of `make`'s decoders beyond prompt and new tokens
  std::vector<std::vector<int>> continuations;  // known output of the target for each prompt, possibly incomplete
  std::vector<int> end_of_text;                 // token ids that end an output
  std::function<void(std::size_t)> progress;    // receives the number of finished prompts
};

// Records a trace of the prompts, [prompts][tokens], and sets the header's method, reasons and depths. Ranks are
// recorded if the drafts are the best tokens of a chain; lengths if the tree grows with the text or the drafts come
// from elsewhere; steps if the drafts depend on the path, or the target keeps recurrent states. Throws InputErrors if a
// given continuation is not the target's, or if one is given although steps are recorded, which includes decoding the
// text.
std::vector<TracedPrompt> record_trace(const Tracing&, const std::vector<std::vector<int>>& prompts, TraceHeader&);

// The plan that replays a method from ranks; none if it has a tree without a fixed shape.
std::optional<DraftPlan> draft_plan(const Method&, bool tree);

}  // namespace draftline
