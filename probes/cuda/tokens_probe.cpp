// SPDX-License-Identifier: Apache-2.0
// Choosing and drawing tokens of rows of logits.
#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "probes/cuda/op_runner.h"
#include "probes/cuda/ops.h"

namespace draftline {

void probe_argmax(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int rows = p.at("rows"), columns = p.at("columns");
  cuda::OpRunner d(t.stream);
  d.with.multiprocessors = t.facts.multiprocessors;
  Argmax op{.x = {.rows = rows, .cols = columns}, .y = {}};
  const std::size_t bytes = d.scratch_bytes<bf16>(op);
  if (!fits(2.0 * rows * columns + static_cast<double>(bytes), p)) return;
  const Matrix<bf16> x(rows, columns);
  const Matrix<int> y(rows, 1);
  t.fill(x, 5);
  const Buffer scratch = t.zeros(bytes);
  d.with.scratch = {scratch.data(), scratch.bytes()};
  op = {d(x), d(y)};
  const auto run = [&](int) { d.run<bf16>(op); };
  run(0);
  t.stream.wait();
  const auto values = x.row(rows - 1);
  if (to_int64(y.row(rows - 1)[0]) != std::ranges::max_element(values) - values.begin()) {
    p.skipped = kDiffers;
    return;
  }
  t.time_kernels(p, time_budget, 1, run);
}

void probe_top_k(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int rows = p.at("rows"), columns = p.at("columns"), k = p.at("k");
  if (k > columns) {
    p.skipped = "more tokens are asked for than there are";
    return;
  }
  cuda::OpRunner d(t.stream);
  d.with.multiprocessors = t.facts.multiprocessors;
  TopK op{.logits = {.rows = rows, .cols = columns}, .ids = Tensor{.rows = rows, .cols = k}, .log_probs = {}};
  const std::size_t bytes = d.scratch_bytes<bf16>(op);
  if (!fits(2.0 * rows * columns + 8.0 * rows * k + static_cast<double>(bytes), p)) return;
  const Matrix<bf16> x(rows, columns);
  const Matrix<int> ids(rows, k);
  const Matrix<float> log_probs(rows, k);
  t.fill(x, 5);
  const Buffer scratch = t.zeros(bytes);
  d.with.scratch = {scratch.data(), scratch.bytes()};
  op = {d(x), d(ids), d(log_probs)};
  const auto run = [&](int) { d.run<bf16>(op); };
  run(0);
  t.stream.wait();
  const auto values = x.row(rows - 1), chosen = ids.row(rows - 1), logs = log_probs.row(rows - 1);
  std::vector<int> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  const auto value = [&](int id) { return values[at(id)]; };
  std::partial_sort(order.begin(), order.begin() + k, order.end(),
                    [&](int a, int b) { return value(a) > value(b) || (value(a) == value(b) && a < b); });
  double sum = 0;
  for (const double v : values) sum += std::exp(v);
  for (std::size_t i = 0; i < chosen.size(); ++i)
    if (to_int(chosen[i]) != order[i] || !close(logs[i], value(order[i]) - std::log(sum), std::log(sum))) {
      p.skipped = kDiffers;
      return;
    }
  t.time_kernels(p, time_budget, 1, run);
}

void probe_sample(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  const int rows = p.at("rows"), columns = p.at("columns");
  const Sampling sampling{1, 0, p.at("percent", 100) / 100.0};
  if (!fits(6.0 * rows * columns, p)) return;
  const Matrix<bf16> x(rows, columns);
  const Matrix<float> q(rows, columns);
  const Matrix<int> tokens(rows, 1);
  t.fill(x, 5);
  std::vector<int> ids(at(rows));
  std::iota(ids.begin(), ids.end(), 0);
  const auto d_ids = uploaded(ids, 1);
  cuda::OpRunner d(t.stream);
  d.with.seed = 3;
  const Sample op{d(x), {d(d_ids), d(d_ids), d(d_ids)}, sampling, 0, d(tokens), d(q)};
  const auto run = [&](int) { d.run<bf16>(op); };
  run(0);
  t.stream.wait();
  const auto row = x.row(rows - 1), ours = q.row(rows - 1);
  const std::vector<float> logits(row.begin(), row.end());
  std::vector<double> expected(logits.size());
  warp(logits, sampling, expected);
  const double most = *std::ranges::max_element(expected);
  int apart = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) apart += !close(ours[i], expected[i], most);
  // A token at the edge of the nucleus may be in or out, as sums are rounded in another order.
  const int border = sampling.top_p < 1 ? 1 : 0;
  const double token = tokens.row(rows - 1)[0];
  if (apart > border || !(token >= 0 && token < columns) || ours[at(to_int(token))] <= 0) {
    p.skipped = kDiffers;
    return;
  }
  t.time_kernels(p, time_budget, 1, run);
}

}  // namespace draftline
