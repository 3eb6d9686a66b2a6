// SPDX-License-Identifier: Apache-2.0
// What a serving scenario says of its servers: the scheduler's limits, the fleet's shape, and the latencies that are
// promised.
#pragma once
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/quantity.h"

namespace draftline {

// Continuous batching is that of vLLM's V1 engine: a step decodes all running sequences and fills its token budget with
// chunks of prompts, first come, first served. Prefill first (chunked prefill off): prompts get steps of their own
// before any decoding goes on. Fixed (static batching): a batch is filled, then runs until its last sequence is done.
struct SchedulerLimits {
  enum class Batching { continuous, prefill_first, fixed } batching = Batching::continuous;
  int max_num_seqs = 256;             // sequences that run at the same time
  int max_num_batched_tokens = 2048;  // token budget of a step: decoded rows and chunks of prompts
  std::int64_t kv_blocks = 1 << 20;
  int block_size = 16;  // tokens of a KV block; a power of two
  bool whole_prompts =
      true;  // a prompt is admitted only if all of it fits the free blocks, though chunks allocate them
  bool prefix_caching = true;  // of prompts whose prefix blocks are named
  bool swap = false;           // preempted sequences keep their keys and values on the host; else they are recomputed
  double swap_per_token = 0;   // ps, one way
};

// Most sequences of a step in which each verifies so many rows.
inline int batch_limit(const SchedulerLimits& limits, int rows) {
  return std::min(limits.max_num_seqs, std::max(1, limits.max_num_batched_tokens / rows));
}

struct FleetShape {
  int replicas = 1;
  // Pipeline parallelism: a replica spans so many devices, each with its share of the layers, and keeps as many batches
  // in flight. A batch passes all stages at the pace of a whole pass; as each stage serves them in turn, the batches
  // don't slow each other down: they are servers of their own, which share the replica's memory. Uneven batches are not
  // priced.
  int stages = 1;
  enum class Routing { round_robin, least_loaded } routing = Routing::round_robin;
  // Disaggregation: so many more servers compute prompts; `replicas` decode. Keys and values travel between them.
  int prefill_replicas = 0;
  double transfer_fixed = 0, transfer_per_token = 0;  // ps
  int servers() const { return (replicas + prefill_replicas) * stages; }
};

struct LatencyTargets {
  struct Target {
    enum class Of { ttft, tpot, e2e } of = Of::ttft;
    double share = 0.99;  // so many requests must meet it; 0: the mean must
    Seconds limit;
    std::string name;
  };
  std::vector<Target> targets;
};

}  // namespace draftline
