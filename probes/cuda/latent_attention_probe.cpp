// SPDX-License-Identifier: Apache-2.0
// Attention over a cache of latents, which all heads share: a token's key is its latent and the rotated columns behind
// it, and its value is the latent.
#include <cmath>

#include "core/int_indexed.h"
#include "decoder/cuda/attention/attention.h"
#include "probes/cuda/attention_data.h"
#include "probes/cuda/ops.h"

namespace draftline {

void probe_latent_attention(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  constexpr std::uint64_t kQueries = 5, kRotated = 1'000'003, kCache = 2'000'000'011;
  const int sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context"), heads = p.at("heads"),
            rank = p.at("rank"), rope = p.at("rope"), layers = p.at("copies"), dim = rank + rope;
  const int capacity = cuda::ceil_div(context + rows, cuda::kBlockTokens) * cuda::kBlockTokens;
  const std::size_t layer_values = product(sequences, capacity) * at(dim);
  const cuda::LatentShape shape{.sequences = sequences,
                                .widest = rows,
                                .heads = heads,
                                .rank = rank,
                                .rope = rope,
                                .capacity = capacity,
                                .sms = t.facts.multiprocessors,
                                .shared = t.facts.shared};
  const std::size_t scratch_bytes = cuda::latent_scratch<bf16>(shape);
  if (!fits(2.0 * to_double(layer_values) * layers + 2.0 * sequences * rows * heads * (rank + dim) +
                to_double(scratch_bytes),
            p))
    return;
  const Buffer data(layer_values * at(layers) * sizeof(bf16)), scratch = t.zeros(scratch_bytes);
  auto* cached = reinterpret_cast<bf16*>(data.data());
  cuda::fill_noise(cached, to_int64(layer_values) * layers, kCache, t.stream);
  const BlockedPass blocked{sequences, rows, context};
  const Matrix<bf16> q(sequences * rows, heads * rank), q_rope(sequences * rows, heads * rope),
      y(sequences * rows, heads * rank);
  t.fill(q, kQueries);
  t.fill(q_rope, kRotated);
  const float scale = 1 / std::sqrt(static_cast<float>(dim));
  cuda::OpRunner d(t.stream);
  d.with.scratch = {scratch.data(), scratch.bytes()};
  d.with.multiprocessors = t.facts.multiprocessors;
  d.with.shared = t.facts.shared;
  const Cache cache = d.cache({.kv_heads = 1, .head_dim = dim, .latent = rank}, blocked.memory(data));
  LatentAttend attend{d(q), d(q_rope), scale, {}, d.pass(blocked.pass(d)), cache, 0, d(y)};
  const auto run = [&](int layer) {
    attend.layer = layer;
    d.run<bf16>(attend);
  };
  run(0);
  t.stream.wait();

  // The last head of the last row of the last sequence is verified.
  const int row = sequences * rows - 1, head = heads - 1;
  const auto value = [&](int key, int column) {
    return noise_at(kCache + product(blocked.block_of(key) * cuda::kBlockTokens + key % cuda::kBlockTokens, dim) +
                    at(column));
  };
  std::vector<double> query;
  for (int c = 0; c < rank; ++c)
    query.push_back(noise_at(kQueries + product(row, heads * rank) + product(head, rank) + at(c)));
  for (int c = 0; c < rope; ++c)
    query.push_back(noise_at(kRotated + product(row, heads * rope) + product(head, rope) + at(c)));
  const auto score = [&](int key) {
    double dot = 0;
    for (int c = 0; c < dim; ++c) dot += query[at(c)] * value(key, c);
    return dot * scale;
  };
  if (!are_close(y.row(row), head * rank, attended(context + rows, rank, score, value))) {
    p.skipped = kDiffers;
    return;
  }
  t.time_kernels(p, time_budget, layers, run);
}

}  // namespace draftline
