// SPDX-License-Identifier: Apache-2.0
// The times of requests in a batch that stays full: a new request replaces each finished request at once (closed loop).
// Its prompt is computed in the steps in which the other requests decode (chunked prefill), or in separate steps while
// they wait. Figures are means in the steady state, with equal lengths and evenly spread arrivals; only the simulator
// models queues (docs/explanation/prediction.md). Replicas of data-parallel attention have prompts independently: if
// any replica has a prompt, the step lasts as long as a step with a prompt, and the experts compute the rows of all
// replicas.
#pragma once
#include <compare>
#include <functional>

#include "predict/chunk_prices.h"

namespace draftline {

struct LoopedRequests {
  int batch_size, prompt_tokens;  // prompt_tokens: those that are computed
  double rows;                    // verified per sequence and step, mean
  double decode_steps;            // of a request, mean, at least 1 (model/acceptance/first_passage)
  int max_num_batched_tokens;     // token budget of a step
  bool prompts_apart = false;     // prompts have separate steps
  int cached_tokens = 0;          // of a prompt, before the computed tokens, which attend to them
  int parts = 1;                  // replicas of data-parallel attention, which step together; each has such a batch
  auto operator<=>(const LoopedRequests&) const = default;
};

// The spread of the tokens of a request, and of the requests that start meanwhile, over steps; means.
struct RequestSteps {
  double decode_steps;  // in which the request decodes
  double own_steps;     // that compute its prompt, or for which it waits before
  double prompt_steps;  // that compute prompts, from its arrival to its last token
  double plain_steps;   // that compute none, and in which the whole batch decodes
  double chunk;         // tokens of prompts in a step that computes prompts
  double decoding;      // sequences that decode in such a step
};
RequestSteps steps_of_request(const LoopedRequests&);

// A decode step: mean over the output, with the host time of the emitted tokens. `slack`: time for which the device
// waits for the host; prompts use it first. `host_slack`: time for which the host waits for the device; the launches of
// a step with prompts that is not a graph use it first. `rows`: of all its sequences; null: it verifies none.
struct DecodeStep {
  Seconds time, slack, host_slack = {};
  const VerifiedRows* rows = nullptr;
};
struct RequestCycle {
  Seconds ttft, e2e;  // from the arrival to the first token, and to the last
};
// `decode`: returns the step of `sequences` sequences, at least 1. `chunks`: of the same method.
RequestCycle request_cycle(const LoopedRequests&, const std::function<DecodeStep(int sequences)>& decode, ChunkPrices&);

}  // namespace draftline
