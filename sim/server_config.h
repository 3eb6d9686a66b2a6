// SPDX-License-Identifier: Apache-2.0
// What a server is configured with: how it batches, how large its KV pool is, and how its sequences draft.
#pragma once
#include <cstdint>
#include <vector>

#include "sim/draft_outcomes.h"
#include "sim/draft_policy.h"

namespace draftline {

// Continuous batching is that of vLLM's V1 engine: a step decodes all running sequences and fills its token budget with
// chunks of prompts, first come, first served. Prefill first (chunked prefill off): prompts get steps of their own before
// any decoding goes on. Fixed (static batching): a batch is filled, then runs until its last sequence is done.
struct SchedulerLimits {
  enum class Batching { continuous, prefill_first, fixed } batching = Batching::continuous;
  int max_batch_size = 256, max_batched_tokens = 2048;
  std::int64_t kv_blocks = 1 << 20;
  int block_size = 16;  // tokens of a KV block; a power of two
  bool whole_prompts =
      true;  // a prompt is admitted only if all of it fits the free blocks, though chunks allocate them
  bool prefix_caching = true;  // of prompts whose prefix blocks are named
  bool swap = false;           // preempted sequences keep their keys and values on the host; else they are recomputed
  double swap_per_token = 0;   // ps, one way
};

// How the sequences of a server draft. Without outcomes they do not.
struct Drafting {
  const DraftOutcomes* outcomes = nullptr;
  int draft_length = 0;      // the most that a step drafts
  std::vector<int> lengths;  // those that a policy may choose among, rising; all have a price
  int rows = 1;              // verified rows of a sequence: with a tree more than draft_length + 1
  DraftPolicy policy;
  std::uint64_t seed = 0;
};

}  // namespace draftline
