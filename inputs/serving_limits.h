// SPDX-License-Identifier: Apache-2.0
// The parameters of a serving scenario's servers: scheduler limits, shape of the fleet, and latency targets
// (docs/explanation/simulator.md).
#pragma once
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "inputs/workload_trace.h"
#include "model/devices/memory.h"

namespace draftline {

// `continuous` is the batching of vLLM's V1 engine: a step decodes all running sequences and fills its token budget
// with prompt chunks, first come, first served. `prefill_first` (chunked prefill off): waiting prompts are computed in
// separate steps before decoding continues. `static_batching`: a batch is filled and then runs until its last sequence
// is finished.
enum class Batching { continuous, prefill_first, static_batching };

// The part of a cached prefix that is found again: whole units of tokens, without the last ones.
struct PrefixReuse {
  int unit = 1, dropped = 0;  // tokens; units
  int of(int cached) const { return std::max(0, cached / unit - dropped) * unit; }
  bool operator==(const PrefixReuse&) const = default;
};

// How long prompts wait beside running sequences: until a step would have so many tokens, or so many steps have passed.
struct PromptWait {
  int steps = 0;           // 0: they do not wait
  double token_share = 0;  // of max_num_batched_tokens
  bool operator==(const PromptWait&) const = default;
};

// Limits of a server's scheduler.
struct SchedulerLimits {
  Batching batching = Batching::continuous;
  int max_num_seqs = 256;             // maximum batch size
  int max_num_batched_tokens = 2048;  // token budget of a step: verified rows and prompt chunks
  std::int64_t kv_blocks = 1 << 20;   // size of the KV pool
  int block_size = 16;                // tokens of a KV block; a power of two
  int receive_interval = 1;           // decode steps after which the scheduler receives the requests that arrived
  PromptWait prompt_wait = {};
  int attention_dp_timeout = 0;           // steps that prompts wait for those of other ranks at most; 0: they do not
  bool whole_prompts = true;              // admit a prompt only if it fits the free blocks entirely
  bool prefix_caching = true;             // applies to prompts whose prefix blocks have hashes
  int prefix_block = kPrefixBlockTokens;  // tokens of a prefix block, a power of two, from the workload
  std::optional<PrefixReuse> prefix_reuse = PrefixReuse{};  // none: the engine finds no prefixes of the network
  bool swap = false;       // swap preempted sequences to the host; otherwise they are recomputed
  Seconds swap_per_token;  // one way
  KeptTokens kept = {};    // tokens of a sequence that stay in the cache

  bool operator==(const SchedulerLimits&) const = default;

  // Whether prompts share prefixes: not if all layers of the target have windows. Only whole KV blocks are shared.
  bool shares_prefixes() const {
    return prefix_caching && prefix_reuse && !kept.all_windowed && block_size <= prefix_block;
  }
  // KV blocks that hold a sequence of this many tokens.
  std::int64_t blocks_for(std::int64_t tokens) const {
    if (!kept.all_alike()) tokens = static_cast<std::int64_t>(std::ceil(kept(static_cast<double>(tokens))));
    return (tokens + block_size - 1) >> std::countr_zero(static_cast<unsigned>(block_size));
  }
};

// The largest number of sequences in a step if each verifies `rows` rows; at least 1.
inline int batch_limit(const SchedulerLimits& limits, int rows) {
  return std::min(limits.max_num_seqs, std::max(1, limits.max_num_batched_tokens / rows));
}

struct FleetShape {
  int replicas = 1;
  // Pipeline stages of a replica, each with its share of the layers. A replica has as many batches in flight as stages.
  // A batch takes the time of a whole pass through all stages. Batches do not slow each other down, because they occupy
  // different stages. Each batch is therefore simulated as a separate server with its share of the replica's memory.
  // The cost of batches of unequal size is not modelled.
  int stages = 1;
  enum class Routing { round_robin, least_loaded } routing = Routing::round_robin;
  // Data-parallel attention: ranks of each server, each with a scheduler, a queue and a KV pool. All ranks step
  // together.
  int parts = 1;
  Routing between_parts = Routing::least_loaded;
  // Disaggregation: the number of additional replicas that compute prompts; the other `replicas` decode; 0: none. Keys
  // and values are transferred between them.
  int prefill_replicas = 0, prefill_parts = 1;  // prefill_parts: ranks of each, as `parts`
  Seconds transfer_fixed, transfer_per_token;
  Seconds front_end;  // of each request, before its first token; no server waits for it
  int servers() const { return (replicas + prefill_replicas) * stages; }
  // Schedulers have numbers from 0, server by server; those of the servers that decode come first.
  int decode_schedulers() const { return replicas * stages * parts; }
  int schedulers() const { return decode_schedulers() + prefill_replicas * stages * prefill_parts; }
  int server_of(int scheduler) const {
    if (scheduler < decode_schedulers()) return scheduler / parts;
    return replicas * stages + (scheduler - decode_schedulers()) / prefill_parts;
  }

  bool operator==(const FleetShape&) const = default;
};

struct LatencyTargets {
  struct Target {
    enum class Of { ttft, tpot, e2e } of = Of::ttft;
    double share = 0.99;  // the limited percentile as a share; 0: the mean is limited
    Seconds limit;
    std::string name;  // key of the scenario, "ttft_p99"
  };
  std::vector<Target> targets;
};

}  // namespace draftline
