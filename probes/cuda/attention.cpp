// SPDX-License-Identifier: Apache-2.0
// Attention over a blocked cache: decode, prefill, and verification under a chain or a tree.
#include <cmath>
#include <numeric>

#include "decoder/cuda/attention/attention.h"
#include "probes/cuda/ops.h"

namespace draftline {

// Attends over the caches of several layers in turn, which are too large for L2, as in a step whose weights evict them.
void probe_attention(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context"), heads = p.at("heads"),
            kv_heads = p.at("kv_heads"), dim = p.at("head_dim"), tree = p.at("tree");
  const int per_kv_slot = cuda::ceil_div(context + rows, cuda::kBlockTokens), blocks = sequences * per_kv_slot;
  const double layer_bytes = 4.0 * blocks * cuda::kBlockTokens * kv_heads * dim;
  const int layers = p.at("copies", 1);
  const cuda::AttendShape shape{.sequences = sequences,
                                .widest = rows,
                                .heads = heads,
                                .kv_heads = kv_heads,
                                .head_dim = dim,
                                .value_dim = dim,
                                .capacity = per_kv_slot * cuda::kBlockTokens,
                                .sms = t.facts.multiprocessors};
  if (layer_bytes * layers > 1e12 || !fits(layer_bytes * layers + 4.0 * sequences * rows * heads * dim +
                                               static_cast<double>(cuda::attend_scratch<bf16>(shape)),
                                           p))
    return;
  constexpr std::uint64_t kCache = 2'000'000'011;
  const auto layer_values = static_cast<std::size_t>(layer_bytes / sizeof(bf16));
  Buffer data(layer_values * static_cast<std::size_t>(layers) * sizeof(bf16));
  cuda::fill_noise(reinterpret_cast<bf16*>(data.data()), static_cast<std::int64_t>(layer_values) * layers, kCache,
                   t.stream);
  std::vector<int> table(static_cast<std::size_t>(blocks)), kv_slots(static_cast<std::size_t>(sequences)), cu_seqlens;
  for (int i = 0; i < blocks; ++i)  // blocks of a sequence lie apart from each other
    table[static_cast<std::size_t>(i)] = i % sequences * per_kv_slot + i / sequences;
  std::iota(kv_slots.begin(), kv_slots.end(), 0);
  for (int b = 0; b <= sequences; ++b) cu_seqlens.push_back(b * rows);
  const int words = cuda::ceil_div(rows, 32);
  const auto mask = tree_words(sequences, rows, words);
  const auto d_table = uploaded(table, 1), d_kv_slots = uploaded(kv_slots, 1), d_cu_seqlens = uploaded(cu_seqlens, 1),
             d_lengths = uploaded(std::vector<int>(kv_slots.size(), context), 1), d_mask = uploaded(mask, words);
  const cuda::CacheView<bf16> cache{
      reinterpret_cast<bf16*>(data.data()), d_table.data(), per_kv_slot, blocks, kv_heads, dim, dim};
  cuda::PassView pass{.cu_seqlens = d_cu_seqlens.read(),
                      .slots = {.kv_slots = d_kv_slots.read(), .lengths = d_lengths.read(), .ids = d_kv_slots.read()},
                      .sequences = sequences,
                      .total = sequences * rows,
                      .widest = rows};
  if (tree != 0) pass.tree_mask = d_mask.read();
  const Matrix<bf16> q(sequences * rows, heads * dim), y(sequences * rows, heads * dim);
  t.fill(q, 5);
  const Buffer scratch = t.zeros(cuda::attend_scratch<bf16>(shape));
  const cuda::Scores scores{.scale = 1 / std::sqrt(static_cast<float>(dim))};
  const auto run = [&](int layer) {
    cuda::attend<bf16>(q.read(), pass, cache, layer, scores, t.facts.multiprocessors, {scratch.data(), scratch.bytes()},
                       y.view(), t.stream);
  };
  run(0);
  t.stream.wait();

  // Computes the last head of the last row of the last sequence in double.
  const int row = sequences * rows - 1, head = heads - 1, kv = head / (heads / kv_heads);
  const auto value = [&](int key, int which, int column) {
    const int block = table[static_cast<std::size_t>((sequences - 1) * per_kv_slot + key / cuda::kBlockTokens)];
    const std::size_t at =
        ((static_cast<std::size_t>(block) * 2 + static_cast<std::size_t>(which)) * static_cast<std::size_t>(kv_heads) +
         static_cast<std::size_t>(kv)) *
            cuda::kBlockTokens +
        static_cast<std::size_t>(key % cuda::kBlockTokens);
    return noise_at(kCache + at * static_cast<std::size_t>(dim) + static_cast<std::size_t>(column));
  };
  const std::uint64_t q_at = 5 + product(row, heads * dim) + product(head, dim);
  std::vector<double> score, result(static_cast<std::size_t>(dim), 0.0);
  double top = -INFINITY, sum = 0;
  for (int key = 0; key < context + rows; ++key) {
    const int tail = key - context;
    const bool seen =
        tail < 0 || tree == 0 ||
        (static_cast<unsigned>(mask[static_cast<std::size_t>(row * words + tail / 32)]) >> (tail % 32) & 1U) != 0;
    double dot = 0;
    for (int c = 0; seen && c < dim; ++c) dot += noise_at(q_at + static_cast<std::uint64_t>(c)) * value(key, 0, c);
    score.push_back(seen ? dot / std::sqrt(dim) : -INFINITY);
    top = std::max(top, score.back());
  }
  for (double& s : score) sum += s = std::exp(s - top);
  for (int key = 0; key < context + rows; ++key) {
    const double weight = score[static_cast<std::size_t>(key)] / sum;
    for (int c = 0; weight > 0 && c < dim; ++c) result[static_cast<std::size_t>(c)] += weight * value(key, 1, c);
  }
  const auto ours = y.row(row);
  double size = 0;
  for (const double v : result) size = std::max(size, std::abs(v));
  for (int c = 0; c < dim; ++c)
    if (!close(ours[static_cast<std::size_t>(head * dim + c)], result[static_cast<std::size_t>(c)], size)) {
      p.skipped = kDiffers;
      return;
    }
  t.time_kernels(p, time_budget, layers, run);
}

}  // namespace draftline
