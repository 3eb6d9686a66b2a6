// SPDX-License-Identifier: Apache-2.0
// The device memory that serving needs: weights by precision, the draft's weights, the key-value cache with the
// additional slots for speculation, activations and workspace. All figures are for one rank: pass shard(shape,
// parallelism).
#pragma once
#include <algorithm>
#include <vector>

#include "core/quantity.h"
#include "model/devices/device.h"
#include "model/transformers/dtype.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// Usual quantisers keep embedding, LM head, norms and biases in 16 bits.
Bytes weight_memory(const TransformerShape&, DType linear);

// Keys and values, or latents, of one token in all layers.
double cache_elements_per_token(const TransformerShape&);

// The part of a sequence's keys and values that stays in the cache, in tokens of all layers. Layers with a sliding
// window free entries to which no later token attends, as vLLM's hybrid KV cache manager does
// (vllm/v1/core/single_type_kv_cache_manager, remove_skipped_blocks). Layers with chunked attention keep the whole
// text, as in vLLM's default (VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE).
struct KeptTokens {
  struct Layers {
    int window;
    double share;  // share of the bytes of a token
    bool operator==(const Layers&) const = default;
  };
  std::vector<Layers> windows;
  bool all_windowed = false;  // each layer of the target has a window; the drafter's layers do not count
  double states = 0;          // additional tokens' worth of a sequence's recurrent states, independent of its length
  bool operator==(const KeptTokens&) const = default;
  bool all_alike() const { return windows.empty() && states == 0; }  // equal bytes for every token and nothing else
  double unwindowed_share() const {  // share of a token's bytes in layers without a window
    double share = 1;
    for (const Layers& w : windows) share -= w.share;
    return share;
  }
  double operator()(double tokens) const {
    double kept = tokens + states;
    for (const Layers& w : windows) kept -= w.share * std::max(0.0, tokens - w.window);
    return kept;
  }
};

enum class CacheLayout {
  paged,         // blocks of `block_size` tokens; a sequence's last block is partly empty
  contiguous,    // exactly the live tokens
  concatenated,  // grown by copying: the old and the new cache of all layers exist at once
  preallocated   // `capacity` tokens per sequence from the start
};

struct CachePlan {
  int sequences = 1;
  int tokens = 0;     // committed tokens of each sequence
  int lookahead = 0;  // further slots that a step may fill: its verified rows, draft_length + 1 for a chain
  CacheLayout layout = CacheLayout::paged;
  int block_size = 16;
  int capacity = 0;
};
double cached_tokens(const CachePlan&);  // allocated slots of all sequences

struct MemoryPlan {
  DType weights = DType::bf16;
  DType cache = DType::bf16;
  CachePlan slots;
  double draft_parameters = 0;  // without the target's; 0 for a method that drafts with the target
  DType draft_weights = DType::bf16;
  double draft_cache_elements_per_token = 0;  // the draft caches the same tokens
  Bytes activations, workspace;               // peak of a step; library handles and buffers
};

struct MemoryFootprint {
  Bytes weights, draft_weights, cache, draft_cache, activations, workspace;
  constexpr Bytes total() const { return weights + draft_weights + cache + draft_cache + activations + workspace; }
  constexpr bool operator==(const MemoryFootprint&) const = default;
};

MemoryFootprint memory_footprint(const TransformerShape& target, const MemoryPlan&);

// The default share of a device's memory that an engine uses: vLLM's gpu_memory_utilization.
inline constexpr double kGpuMemoryUtilization = 0.9;
bool fits(const MemoryFootprint&, const Device&, double usable = 1);

}  // namespace draftline
