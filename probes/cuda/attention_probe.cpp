// SPDX-License-Identifier: Apache-2.0
// Attention over a blocked cache: decode, prefill, and verification under a chain or a tree.
#include <cmath>

#include "core/int_indexed.h"
#include "decoder/cuda/attention/attention.h"
#include "probes/cuda/attention_data.h"
#include "probes/cuda/ops.h"

namespace draftline {

// Attends over the caches of several layers in turn, which are too large for L2, as in a step whose weights evict them.
void probe_attention(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context"), heads = p.at("heads"),
            kv_heads = p.at("kv_heads"), dim = p.at("head_dim"), tree = p.at("tree");
  const int capacity = cuda::ceil_div(context + rows, cuda::kBlockTokens) * cuda::kBlockTokens;
  const double layer_bytes = 4.0 * sequences * capacity * kv_heads * dim;
  const int layers = p.at("copies", 1);
  const cuda::AttendShape shape{.sequences = sequences,
                                .widest = rows,
                                .heads = heads,
                                .kv_heads = kv_heads,
                                .head_dim = dim,
                                .value_dim = dim,
                                .capacity = capacity,
                                .sms = t.facts.multiprocessors};
  if (layer_bytes * layers > 1e12 ||
      !fits(layer_bytes * layers + 4.0 * sequences * rows * heads * dim + to_double(cuda::attend_scratch<bf16>(shape)),
            p))
    return;
  constexpr std::uint64_t kCache = 2'000'000'011;
  const auto layer_values = at(to_int64(layer_bytes / sizeof(bf16)));
  Buffer data(layer_values * at(layers) * sizeof(bf16));
  cuda::fill_noise(reinterpret_cast<bf16*>(data.data()), to_int64(layer_values) * layers, kCache, t.stream);
  const BlockedPass blocked{sequences, rows, context};
  const int words = cuda::ceil_div(rows, 32);
  const auto mask = tree_words(sequences, rows, words);
  const auto d_mask = uploaded(mask, words);
  cuda::OpRunner d(t.stream);
  Pass pass = blocked.pass(d);
  if (tree != 0) pass.tree_mask = d(d_mask);
  const Matrix<bf16> q(sequences * rows, heads * dim), y(sequences * rows, heads * dim);
  t.fill(q, 5);
  const Buffer scratch = t.zeros(cuda::attend_scratch<bf16>(shape));
  d.with.scratch = {scratch.data(), scratch.bytes()};
  d.with.multiprocessors = t.facts.multiprocessors;
  const Cache cache = d.cache({.kv_heads = kv_heads, .head_dim = dim, .value_dim = dim}, blocked.memory(data));
  Attend attend{d(q), d.pass(pass), cache, 0, 1 / std::sqrt(static_cast<float>(dim)), {}, d(y)};
  const auto run = [&](int layer) {
    attend.layer = layer;
    d.run<bf16>(attend);
  };
  run(0);
  t.stream.wait();

  // The last head of the last row of the last sequence is verified.
  const int row = sequences * rows - 1, head = heads - 1, kv = head / (heads / kv_heads);
  const auto value = [&](int key, int which, int column) {
    const std::size_t place = (product(2 * blocked.block_of(key) + which, kv_heads) + at(kv)) * cuda::kBlockTokens +
                              at(key % cuda::kBlockTokens);
    return noise_at(kCache + place * at(dim) + at(column));
  };
  const std::uint64_t q_at = 5 + product(row, heads * dim) + product(head, dim);
  const auto score = [&](int key) {
    const int tail = key - context;
    const bool seen =
        tail < 0 || tree == 0 || (static_cast<unsigned>(mask[at(row * words + tail / 32)]) >> (tail % 32) & 1U) != 0;
    double dot = 0;
    for (int c = 0; seen && c < dim; ++c) dot += noise_at(q_at + at(c)) * value(key, 0, c);
    return seen ? dot / std::sqrt(dim) : -INFINITY;
  };
  if (!are_close(y.row(row), head * dim,
                 attended(context + rows, dim, score, [&](int key, int c) { return value(key, 1, c); }))) {
    p.skipped = kDiffers;
    return;
  }
  t.time_kernels(p, time_budget, layers, run);
}

}  // namespace draftline
