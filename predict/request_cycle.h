// SPDX-License-Identifier: Apache-2.0
// What requests see of a batch that stays full: each request is followed at once by the next, as in a closed loop. Its
// prompt is computed in the steps in which the others decode (chunked prefill), or in steps of prompts while the others
// wait. Figures are means in the steady state, with equal lengths and with arrivals spread evenly; queues are the
// simulator's (docs/explanation/prediction.md). Parts of data-parallel attention have prompts independently of each
// other: a step is as long as one with a prompt if any of them has one, and the experts' rows are those of all parts.
#pragma once
#include <compare>
#include <functional>

#include "predict/chunk_prices.h"

namespace draftline {

struct LoopedRequests {
  int batch_size, prompt_tokens;  // tokens of a prompt that are computed
  double rows;                    // verified per sequence and step, mean
  double decode_steps;            // of a request, mean, at least 1 (model/acceptance/first_passage)
  int max_num_batched_tokens;     // token budget of a step
  bool prompts_apart = false;     // prompts have steps of their own
  int cached_tokens = 0;          // of a prompt before those that are computed: these attend to them
  int parts = 1;                  // of data-parallel attention, that step together: each has such a batch
  auto operator<=>(const LoopedRequests&) const = default;
};

// How a request's tokens, and those of the others that are replaced meanwhile, are spread over steps; means.
struct RequestSteps {
  double decode_steps;  // in which the request decodes
  double own_steps;     // that compute its prompt, or that it waits for before
  double prompt_steps;  // that compute prompts, from its arrival to its last token
  double plain_steps;   // that compute none, and in which the whole batch decodes
  double chunk;         // tokens of prompts in a step that computes prompts
  double decoding;      // sequences that decode in such a step
};
RequestSteps steps_of_request(const LoopedRequests&);

// A decode step: mean over the output, with the host time of the tokens emitted. `slack`: device time that the host
// leaves idle, which prompts use first. `host_slack`: host time that the device leaves idle, in which the kernels of a
// step with prompts that is no graph are issued first. `rows`: of all its sequences; null: it verifies none.
struct DecodeStep {
  Seconds time, slack, host_slack = {};
  const VerifiedRows* rows = nullptr;
};
struct RequestCycle {
  Seconds ttft, e2e;  // from the arrival to the first token, and to the last
};
// `decode`: the step of so many sequences, at least 1. `chunks`: of the same method.
RequestCycle request_cycle(const LoopedRequests&, const std::function<DecodeStep(int sequences)>& decode, ChunkPrices&);

}  // namespace draftline
