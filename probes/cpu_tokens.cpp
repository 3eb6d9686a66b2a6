// SPDX-License-Identifier: Apache-2.0
// Times the CPU interpreter's ops that choose tokens from logits: the best, the best k, a draw.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "probes/cpu_bench.h"

namespace draftline {

void probe_argmax(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int rows = p.at("rows"), columns = p.at("columns");
  CpuBench b(1);
  const Tensor x = b.random("x", rows, columns, 5);
  const Tensor kept = b.ops.persistent("best", rows, 1, DType::int32);
  b.ops.store(kept, b.ops.argmax(x));
  b.finish();
  const auto best = b.backend.read(kept);
  const auto values = b.value_of(x);
  const auto last = values.end() - columns;
  if (best.back() != std::max_element(last, values.end()) - last) {
    p.skipped = "its result differs from the reference";
    return;
  }
  b.ops.argmax(x);
  const Tape* tape = b.finish();
  time_into(p, time_budget, reference, [&] { b.backend.finish(*tape); });
}

// The best of each row, best first, and their logarithms of probability.
void probe_top_k(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int rows = p.at("rows"), columns = p.at("columns"), k = p.at("k");
  CpuBench b(1);
  const Tensor x = b.random("x", rows, columns, 5);
  const Tensor ids = b.ops.persistent("best", rows, k, DType::int32);
  const TopK best = b.ops.top_k(x, k);
  b.ops.store(ids, best.ids);
  const auto log_probs = b.value_of(best.log_probs);
  const auto chosen = b.backend.read(ids);
  auto values = b.value_of(x);
  double sum = 0;
  const auto last = values.end() - columns;
  for (auto v = last; v != values.end(); ++v) sum += std::exp(double{*v});
  for (int j = 0; j < k; ++j) {
    const std::size_t place = at((rows - 1) * k + j);
    const auto top = std::max_element(last, values.end());
    if (chosen[place] != top - last || !close(log_probs[place], *top - std::log(sum), std::log(columns))) {
      p.skipped = "its result differs from the reference";
      return;
    }
    *top = -INFINITY;
  }
  b.ops.top_k(x, k);
  const Tape* tape = b.finish();
  time_into(p, time_budget, reference, [&] { b.backend.finish(*tape); });
}

// A draw from each row at temperature 1, all tokens allowed.
void probe_sample(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int rows = p.at("rows"), columns = p.at("columns");
  CpuBench b(rows);
  Ops& ops = b.ops;
  const Tensor x = b.random("x", rows, columns, 5), tokens = ops.persistent("tokens", rows, 1, DType::int32);
  const BatchSlots slots{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                         ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                         ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  std::vector<int> kv_slots(at(rows));
  std::iota(kv_slots.begin(), kv_slots.end(), 0);
  for (const Tensor& t : {slots.kv_slots, slots.lengths, slots.ids}) ops.upload(t, kv_slots);
  b.finish();
  const auto op = [&] { return ops.sample(x, slots, Sampling{1, 0, 1}, 0); };
  const Sample drawn = op();
  ops.store(tokens, drawn.tokens);
  const auto q = b.value_of(drawn.q), values = b.value_of(x);
  const auto chosen = b.backend.read(tokens);
  double sum = 0;
  const auto last = values.end() - columns;
  for (auto v = last; v != values.end(); ++v) sum += std::exp(double{*v});
  bool right = chosen.back() >= 0 && chosen.back() < columns;
  for (int i = 0; i < columns && right; ++i)
    right = close(q[q.size() - at(columns - i)], std::exp(double{last[i]}) / sum, std::exp(1.0) / sum);
  if (!right) {
    p.skipped = "its result differs from the reference";
    return;
  }
  op();
  const Tape* tape = b.finish();
  time_into(p, time_budget, reference, [&] { b.backend.finish(*tape); });
}

}  // namespace draftline
