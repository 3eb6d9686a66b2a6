// SPDX-License-Identifier: Apache-2.0
// What lies in a device's memory while a model serves: weights by precision, the draft's weights, key-value cache with
// the slots that speculation needs ahead, activations, workspace. All is for one rank: pass shard(shape, parallelism).
#pragma once
#include <algorithm>
#include <vector>

#include "core/quantity.h"
#include "model/devices/device.h"
#include "model/transformers/dtype.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// The usual quantisers leave embedding, LM head, norms and biases in 16 bit.
Bytes weight_memory(const TransformerShape&, DType linear);

// Keys and values, or latents, of one token in all layers.
double cache_elements_per_token(const TransformerShape&);

// What a sequence keeps of its keys and values, in tokens of all layers: layers with a sliding window give back what no
// later token attends to, as vLLM's hybrid KV cache manager does (vllm/v1/core/single_type_kv_cache_manager,
// remove_skipped_blocks). Layers of chunks keep the whole text, as vLLM does by default
// (VLLM_ALLOW_CHUNKED_LOCAL_ATTN_WITH_HYBRID_KV_CACHE).
struct KeptTokens {
  struct Layers {
    int window;
    double share;  // of the bytes of a token
    bool operator==(const Layers&) const = default;
  };
  std::vector<Layers> windows;
  bool all_windowed = false;  // each layer of the target is, whatever a drafter's are
  double states = 0;          // what a sequence's recurrent states take besides, whatever its length
  bool operator==(const KeptTokens&) const = default;
  bool all_alike() const { return windows.empty() && states == 0; }  // as much for every token, and nothing besides
  double unwindowed_share() const {  // of a token's bytes: what stays however long the text grows
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
  paged,         // blocks of `block_size` tokens, the last of a sequence partly empty
  contiguous,    // exactly the live tokens
  concatenated,  // grown by copying: the old and the new cache of all layers live at once
  preallocated   // `capacity` tokens a sequence from the start
};

struct CachePlan {
  int sequences = 1;
  int tokens = 0;     // committed, of each sequence
  int lookahead = 0;  // slots beyond them that a step may fill: the rows it verifies, draft_length + 1 for a chain
  CacheLayout layout = CacheLayout::paged;
  int block_size = 16;
  int capacity = 0;
};
double cached_tokens(const CachePlan&);  // slots that are allocated, over all sequences

struct MemoryPlan {
  DType weights = DType::bf16;
  DType cache = DType::bf16;
  CachePlan slots;
  double draft_parameters = 0;  // besides the target's; 0 for a method that drafts with the target itself
  DType draft_weights = DType::bf16;
  double draft_cache_elements_per_token = 0;  // the draft sees the same tokens
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
