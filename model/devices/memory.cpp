// SPDX-License-Identifier: Apache-2.0
#include "model/devices/memory.h"

#include "core/errors.h"
#include "model/work.h"

namespace draftline {
namespace {

DType kept_format(DType linear) { return bits_of(linear) < 16 ? DType::bf16 : linear; }

}  // namespace

Bytes weight_memory(const TransformerShape& s, DType format) {
  const double tables = (s.tied_embeddings ? 1 : 2) * head_parameters(s);
  const double linear = matrix_parameters(s),
               small = parameters(s) - tables - linear;  // small: norms, biases
  const DType kept = kept_format(format);
  return weight_bytes(format, linear) + weight_bytes(kept, tables) + bytes_of(kept, small);
}

double cache_elements_per_token(const TransformerShape& s) {
  double sum = 0;
  for (int i = 0; i < s.layers(); ++i) sum += cached_elements(s.layer(i));
  return sum;
}

double cached_tokens(const CachePlan& plan) {
  check(plan.block_size > 0, "a cache block holds at least one token");
  const double live = 1.0 * plan.tokens + plan.lookahead;
  switch (plan.layout) {
    case CacheLayout::paged: {
      const auto slots = std::int64_t{plan.tokens} + plan.lookahead;
      const auto blocks = (slots + plan.block_size - 1) / plan.block_size;
      return 1.0 * plan.sequences * static_cast<double>(blocks * plan.block_size);
    }
    case CacheLayout::contiguous: return plan.sequences * live;
    case CacheLayout::concatenated: return plan.sequences * 2.0 * live;
    case CacheLayout::preallocated: return 1.0 * plan.sequences * plan.capacity;
  }
  return 0;
}

MemoryFootprint memory_footprint(const TransformerShape& target, const MemoryPlan& plan) {
  const double tokens = cached_tokens(plan.slots);
  return {.weights = weight_memory(target, plan.weights),
          .draft_weights = weight_bytes(plan.draft_weights, plan.draft_parameters),
          .cache = bytes_of(plan.cache, tokens * cache_elements_per_token(target)),
          .draft_cache = bytes_of(plan.cache, tokens * plan.draft_cache_elements_per_token),
          .activations = plan.activations,
          .workspace = plan.workspace};
}

bool fits(const MemoryFootprint& footprint, const Device& device, double usable) {
  return footprint.total() <= usable * device.memory;
}

}  // namespace draftline
