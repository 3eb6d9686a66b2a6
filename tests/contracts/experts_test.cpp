// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: what is declared is the expectation of what the CPU's loops touch, over many batches of random
// rows, and verification of more rows loads more experts.
#include <cmath>
#include <numeric>

#include "decoder/cpu/backend.h"
#include "decoder/op_work.h"
#include "decoder/ops.h"
#include "decoder/random_weights.h"
#include "decoder/transformer.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;

namespace {

// Distinct random rows through one mixture of experts: what is declared, and what the loops count.
struct Layer {
  Work declared;
  CpuBackend::Counts counted;
};
Layer run(int rows, std::uint64_t seed) {
  constexpr int kHidden = 256, kInner = 16;
  const Experts experts{8, 2, kInner, true};
  WeightStore store(DType::fp32);
  RandomWeights random(seed);
  CpuBackend backend(store, random);
  Ops ops(backend, DType::fp32, 1);
  Layer layer;
  ops.on_segment = [&](const SegmentRun& s) {
    for (const Op& op : s.tape->ops) layer.declared += work(kernel_of(op, *s.tape), Span{});
  };
  const Weight table = store.table("embedding", 64, kHidden), router = store.table("router", kHidden, 8),
               gate_up = store.matrix("gate_up", 8 * kHidden, 2 * kInner),
               down = store.matrix("down", 8 * kInner, kHidden);
  std::vector<int> ids(static_cast<std::size_t>(rows));
  std::iota(ids.begin(), ids.end(), 0);
  const Tensor y = ops.mixture_of_experts(ops.embed(table, ops.input("ids", ids)), {router, gate_up, down}, experts);
  ops.store(ops.persistent("y", rows, kHidden, DType::fp32), y);
  ops.flush();
  layer.counted = backend.counts();
  return layer;
}

}  // namespace

TEST_CASE("declared work of experts is the mean of what the CPU's loops touch", "[contract]") {
  // FLOP do not depend on the routing, bytes do: the declared number of experts is that of rows that choose
  // independently and evenly. A random router is nearly even (its experts' norms differ by a few percent), so the
  // tolerance is 1 %.
  for (const int rows : {1, 3, 9, 40}) {
    double declared = 0, squares = 0, counted = 0;
    constexpr int kSeeds = 100;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const Layer layer = run(rows, static_cast<std::uint64_t>(seed));
      CHECK(layer.declared.flops.value == layer.counted.flops);
      declared += layer.declared.bytes().value / kSeeds;
      const double mine = layer.counted.read + layer.counted.written;
      counted += mine / kSeeds;
      squares += mine * mine / kSeeds;
    }
    const double error = std::sqrt(std::max(0.0, squares - counted * counted) / (kSeeds - 1));
    INFO(rows << " rows: declared " << declared << ", counted " << counted << " +- " << error);
    CHECK(std::abs(declared - counted) <= 3 * error + 0.01 * declared);
  }
}

TEST_CASE("more rows touch more experts, up to all of them", "[contract]") {
  double before = 0;
  for (const int rows : {1, 2, 4, 8, 64}) {
    const double touched = experts_touched({rows, 256, 16, 8, 2, DType::bf16, DType::bf16});
    CHECK(touched > before);
    before = touched;
  }
  CHECK(experts_touched({1, 256, 16, 8, 2, DType::bf16, DType::bf16}) == Approx(2));
  CHECK(before == Approx(8).epsilon(1e-6));
}

TEST_CASE("experts that every token passes are added to the chosen ones, and first layers may have none",
          "[contract]") {
  const Experts experts{4, 2, 24, false, 48};
  LayerShape layer = llama_layer(32, {2, 2, 16, 16}, 40);
  TransformerShape s = uniform_network("tiny", 1, layer, 20);
  layer.mlp = experts;
  s.add_layer(layer);
  WeightStore store(DType::fp32);
  RandomWeights random(5);
  CpuBackend backend(store, random);
  Ops ops(backend, DType::fp32, 1);
  const Transformer target(s, store, ops, 16);
  CHECK_FALSE(target.layers[0].experts);
  CHECK(target.layers[0].gate_up.out == 2 * 40);
  const LayerWeights& w = target.layers[1];
  REQUIRE(w.experts);
  REQUIRE(w.shared_gate_up);

  const Tensor y = ops.embed(target.embedding, ops.input("ids", std::vector<int>{3, 7, 11}));
  const auto kept = [&](const char* name, Tensor t) {
    const Tensor kept = ops.persistent(name, t.rows, t.cols, DType::fp32);
    ops.store(kept, t);
    return kept;
  };
  const Tensor chosen = kept("chosen", ops.mixture_of_experts(y, *w.experts, experts));
  const Tensor shared = kept("shared", ops.linear(ops.silu_mul(ops.linear(y, *w.shared_gate_up)), *w.shared_down));
  const Tensor whole = kept("whole", mlp(ops, y, w));
  ops.flush();
  const auto a = backend.read_floats(chosen), b = backend.read_floats(shared), c = backend.read_floats(whole);
  for (std::size_t i = 0; i < c.size(); ++i) {
    CHECK(b[i] != 0);
    CHECK(c[i] == a[i] + b[i]);
  }
}

TEST_CASE("the module of multi-token prediction is of the target's last layer's kind, and counts as memory",
          "[contract]") {
  using namespace draftline::test;
  // Beside a layer of the target: 2d -> d, and norms of the token, of the state and before the head. d = 32.
  const auto stored = [](Network network) {
    Rig rig({"mtp_sequential", R"(,"draft_length":1)"}, Rig::Kind::priced, 1, network);
    return (rig.decoder.weights.bytes() - rig.decoder.target_bytes).value / 4 - 2 * 32 * 32 - 3 * 32;
  };
  const TransformerShape s = tiny_shape(Network::deepseek);
  const LatentAttention& l = s.latent()->dims;
  const double norms = 2 * 32 + l.q_rank + l.kv_rank, choice_bias = 6;
  CHECK(stored(Network::deepseek) == layer_parameters(s.layer(5)) + norms + choice_bias);
  CHECK(stored(Network::mixture) == layer_parameters(tiny_layer(Network::mixture, 5)) + 2 * 32);
  CHECK(stored(Network::qwen3) ==
        layer_parameters(tiny_layer(Network::qwen3, 5)) + 2 * 32);  // plain: without head norms
}
