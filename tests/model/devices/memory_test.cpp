// SPDX-License-Identifier: Apache-2.0
#include "model/devices/memory.h"

#include "model/work.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

TransformerShape three_layers() {
  // matrices of a layer: A = 4*16 = 64, F = 96; tables 2 * 40; norms 3 * 8 + 4 = 28
  return uniform_network("three layers", 3, llama_layer(4, {2, 2, 2, 2}, 8), 10);
}

}  // namespace

TEST_CASE("weights weigh what their format says, and quantisers leave tables and norms alone") {
  const auto s = three_layers();
  const double linear = 3 * 160, tables = 80, norms = 28;
  CHECK(weight_memory(s, DType::fp32).value == 4 * (linear + tables + norms));
  CHECK(weight_memory(s, DType::bf16).value == 2 * (linear + tables + norms));
  CHECK(weight_memory(s, DType::fp16) == weight_memory(s, DType::bf16));
  CHECK(weight_memory(s, DType::int8) == weight_bytes(DType::int8, linear) + Bytes{2 * (tables + norms)});
  CHECK(weight_memory(s, DType::int4) == weight_bytes(DType::int4, linear) + Bytes{2 * (tables + norms)});
  auto tied = s;
  tied.tied_embeddings = true;
  CHECK(weight_memory(tied, DType::bf16).value == 2 * (linear + 40 + norms));
}

TEST_CASE("the cache keeps two rows of KV columns per token and layer") {
  CHECK(cache_elements_per_token(three_layers()) == 2 * 3 * 4);
  // Llama-2-7B in 16 bit: 2 * 32 layers * 4096 * 2 bytes = 512 KiB a token
  const auto llama = uniform_network("llama", 32, llama_layer(4096, {32, 32, 128, 128}, 11008), 32000);
  CHECK(bytes_of(DType::fp16, cache_elements_per_token(llama)).value == 512 * 1024);
  // A latent of 512 columns and a key of 64 that all heads share, in 61 layers: DeepSeek-V3
  LayerShape latent;
  latent.attention = LatentHeads{
      .heads = 128, .dims = {.q_rank = 1536, .kv_rank = 512, .nope_dim = 128, .rope_dim = 64, .value_dim = 128}};
  const auto deepseek = uniform_network("deepseek", 61, latent, 129280);
  CHECK(bytes_of(DType::fp16, cache_elements_per_token(deepseek)).value == 61 * 576 * 2);
}

TEST_CASE("the layout of the cache decides how many slots are allocated") {
  CachePlan plan{
      .sequences = 2, .tokens = 30, .lookahead = 0, .layout = CacheLayout::paged, .block_size = 16, .capacity = 100};
  CHECK(cached_tokens(plan) == 2 * 32);
  plan.lookahead = 2;  // still in the second block
  CHECK(cached_tokens(plan) == 2 * 32);
  plan.lookahead = 3;  // one token over: a third block each
  CHECK(cached_tokens(plan) == 2 * 48);
  plan.layout = CacheLayout::contiguous;
  CHECK(cached_tokens(plan) == 2 * 33);
  plan.layout = CacheLayout::concatenated;
  CHECK(cached_tokens(plan) == 2 * 66);
  plan.layout = CacheLayout::preallocated;
  CHECK(cached_tokens(plan) == 200);
}

TEST_CASE("a footprint is the sum of its parts and fits where they fit") {
  MemoryPlan plan;
  plan.slots = {.sequences = 1, .tokens = 16};
  plan.draft_parameters = 10;
  plan.draft_cache_elements_per_token = 4;
  plan.activations = Bytes{7};
  plan.workspace = Bytes{9};
  const auto f = memory_footprint(three_layers(), plan);
  CHECK(f.weights.value == 2 * 588);
  CHECK(f.draft_weights.value == 20);
  CHECK(f.cache.value == 16 * 24 * 2);
  CHECK(f.draft_cache.value == 16 * 4 * 2);
  CHECK(f.total().value == 1176 + 20 + 768 + 128 + 7 + 9);
  Device device;
  device.memory = f.total();
  CHECK(fits(f, device));
  CHECK_FALSE(fits(f, device, 0.999));
  device.memory = Bytes{f.total().value - 1};
  CHECK_FALSE(fits(f, device));
}

TEST_CASE("fewer bits of cache, and a rank's share, take proportionally less") {
  MemoryPlan plan;
  plan.slots = {.sequences = 1, .tokens = 16};
  const auto full = memory_footprint(three_layers(), plan);
  plan.cache = DType::fp8;
  CHECK(memory_footprint(three_layers(), plan).cache == full.cache / 2);
  plan.cache = DType::bf16;
  CHECK(memory_footprint(shard(three_layers(), {.devices = 2}), plan).cache == full.cache / 2);
}
