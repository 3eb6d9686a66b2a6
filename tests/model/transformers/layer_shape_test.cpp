// SPDX-License-Identifier: Apache-2.0
// A layer by itself, and networks whose layers differ in more ways than a published one does.
#include "model/transformers/layer_shape.h"

#include "model/devices/memory.h"
#include "model/transformers/transformer_shape.h"
#include "tests/catch.h"

using namespace draftline;

TEST_CASE("layers of one network may have heads, widths and attention of their own") {
  // hidden 8. A = 2 * 8 * (heads + KV heads) * dim; F = 3 * 8 * columns.
  const LayerShape wide = llama_layer(8, {4, 2, 4, 4}, 16), narrow = llama_layer(8, {2, 1, 4, 4}, 4);
  LayerShape recurrent = wide, alone = narrow;
  recurrent.attention = DeltaNet{1, 2, 2, 3, 4};
  alone.mlp = NoMlp{};
  TransformerShape s = uniform_network("mixed", 2, wide, 10);
  for (const LayerShape& layer : {narrow, recurrent, alone, narrow}) s.add_layer(layer);
  CHECK(s.layers() == 6);
  CHECK(s.kinds.size() == 4);
  CHECK(s.layer(5) == narrow);
  const double a = 2 * 8 * 6 * 4, f = 3 * 8 * 16, b = 2 * 8 * 3 * 4, g = 3 * 8 * 4;
  // q and k of 2 columns each, v, z and the output of 6, two numbers of each of 2 heads
  const double d = 8 * (2 * 2 + 6 + 6 + 2 * 2 + 6);
  CHECK(matrix_parameters(s) == 2 * (a + f) + 2 * (b + g) + (d + f) + b);
  CHECK(cache_elements_per_token(s) == 2 * 16 + 3 * 8);
  const TransformerShape half = shard(s, {.devices = 1});
  CHECK(half == s);
  CHECK_THROWS_WITH(shard(s, {.devices = 4}), "tensor_parallel 4 does not divide the 2 heads of mixed");
}

TEST_CASE("a layer's share has its heads, its columns and its experts divided, and nothing else") {
  LayerShape layer = llama_layer(8, {4, 2, 4, 4}, 15);
  std::get<HeadAttention>(layer.attention).sinks = true;
  LayerShape half = shard(layer, {.devices = 2});
  CHECK(half.heads()->heads == AttentionHeads{2, 1, 4, 4});
  CHECK(half.dense_mlp()->intermediate == 8);  // rounded up
  half.attention = layer.attention;
  half.mlp = layer.mlp;
  CHECK(half == layer);
  layer.mlp = Experts{8, 2, 6, true, 4};
  CHECK(shard(layer, {.devices = 2}).experts()->intermediate == 3);
  const LayerShape whole_experts = shard(layer, {.devices = 2, .expert_parallel = true});
  CHECK((whole_experts.experts()->intermediate == 6 && whole_experts.experts()->stored() == 4));
  CHECK(whole_experts.experts()->shared == 2);
}
