// SPDX-License-Identifier: Apache-2.0
// Recording of acceptance traces (trace/trace, docs/explanation/traces.md) for any method. First the target's own text
// is generated, or given. Then the drafter drafts at every position, many at a time (trace/position_batch); wherever it
// chooses its best token it continues with the target's token instead, whose rank is recorded. Methods need no code for
// this.
#pragma once
#include <functional>
#include <memory>

#include "methods/decoder.h"
#include "trace/trace.h"

namespace draftline {

struct Tracing {
  // Builds a decoder of a method, on a backend that runs segments at their end. It may throw InputErrors if the
  // parameters or the machine's memory do not suffice.
  std::function<std::unique_ptr<Decoder>(const MethodSpec&)> make;
  MethodSpec method;
  // Sequences decoded together, output tokens per prompt, and levels of ranks to record if the drafter can make more
  // than the method's own.
  int slots = 1, new_tokens = 128, depth = 8;
  int positions_at_once = 64;                   // positions of each text per pass; 0: one step per position
  int spare = 0;                                // cache entries of the decoders of `make` beyond prompt and new tokens
  std::vector<std::vector<int>> continuations;  // known output of the target for each prompt, possibly incomplete
  std::vector<int> end_of_text;                 // token ids that end an output
  std::function<void(std::size_t)> progress;    // receives the number of finished prompts
};

// Records a trace of the prompts, [prompts][tokens], and sets the header's method, reasons and depths. Ranks are
// recorded if the drafts are the best tokens of a chain; lengths if the tree grows with the text or the drafts come
// from elsewhere; steps if the drafts depend on the path, or the target keeps recurrent states. InputErrors if a given
// continuation is not the target's, or is given where steps are recorded, which decode the text themselves.
std::vector<TracedPrompt> record_trace(const Tracing&, const std::vector<std::vector<int>>& prompts, TraceHeader&);

// The plan that replays a method from ranks; none if it has a tree without a fixed shape.
std::optional<DraftPlan> draft_plan(const Method&, bool tree);

}  // namespace draftline
