// SPDX-License-Identifier: Apache-2.0
// A layer of experts: the router's product and choice, and two grouped GEMMs. Weights are rotated past L2. What noise
// chooses is nearly even.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "decoder/cuda/experts/experts.h"
#include "probes/cuda/op_runner.h"
#include "probes/cuda/ops.h"

namespace draftline {

namespace {

constexpr std::uint64_t kInputs = 3, kRouter = 1'000'003, kGateUp = 1'000'000'007, kDown = 3'000'000'019;

// One row of the layer's result in double.
class ReferenceRow {
 public:
  ReferenceRow(const cuda::ExpertShape& s, int row) : s_(s) {
    for (int i = 0; i < s.hidden; ++i) x_.push_back(noise_at(kInputs + product(row, s.hidden) + at(i)));
    choose();
    for (const int expert : chosen_) inner_.push_back(gated(expert));
  }
  double column(int c) const {
    double sum = 0;
    for (std::size_t e = 0; e < chosen_.size(); ++e) {
      double of_expert = 0;
      const std::uint64_t from = kDown + product(chosen_[e], s_.inner) * at(s_.hidden);
      for (int i = 0; i < s_.inner; ++i) of_expert += inner_[e][at(i)] * noise_at(from + product(i, s_.hidden) + at(c));
      sum += weights_[e] * of_expert;
    }
    return sum;
  }

 private:
  void choose() {
    std::vector<double> scores(at(s_.experts));
    for (int e = 0; e < s_.experts; ++e)
      for (int i = 0; i < s_.hidden; ++i)
        scores[at(e)] += x_[at(i)] * noise_at(kRouter + product(i, s_.experts) + at(e));
    std::vector<int> order(scores.size());
    std::iota(order.begin(), order.end(), 0);
    const auto score = [&](int e) { return scores[at(e)]; };
    std::partial_sort(order.begin(), order.begin() + s_.per_token, order.end(),
                      [&](int a, int b) { return score(a) > score(b); });
    chosen_.assign(order.begin(), order.begin() + s_.per_token);
    double sum = 0;
    for (const int e : chosen_) sum += std::exp(score(e) - score(chosen_[0]));
    for (const int e : chosen_) weights_.push_back(std::exp(score(e) - score(chosen_[0])) / sum);
  }
  std::vector<double> gated(int expert) const {
    std::vector<double> sums(2 * at(s_.inner));
    for (int i = 0; i < s_.hidden; ++i) {
      const std::uint64_t from = kGateUp + (product(expert, s_.hidden) + at(i)) * sums.size();
      for (std::size_t c = 0; c < sums.size(); ++c) sums[c] += x_[at(i)] * noise_at(from + c);
    }
    std::vector<double> all(at(s_.inner));
    for (std::size_t c = 0; c < all.size(); ++c) all[c] = sums[c] / (1 + std::exp(-sums[c])) * sums[all.size() + c];
    return all;
  }

  const cuda::ExpertShape& s_;
  std::vector<double> x_, weights_;
  std::vector<int> chosen_;
  std::vector<std::vector<double>> inner_;
};

}  // namespace

void probe_experts(CudaTimer& t, MeasuredPoint& p, Seconds time_budget) {
  constexpr int kColumns = 8;  // that are verified
  const cuda::ExpertShape s{.rows = p.at("rows"),
                            .hidden = p.at("hidden"),
                            .inner = p.at("intermediate"),
                            .experts = p.at("experts"),
                            .per_token = p.at("per_token"),
                            .normalise = true};
  if (s.per_token > s.experts) {
    p.skipped = "more experts are asked for than there are";
    return;
  }
  const int copies = p.at("copies");
  const std::size_t router_size = product(s.hidden, s.experts),
                    up_size = 2 * product(s.hidden, s.inner) * at(s.experts), down_size = up_size / 2,
                    size = router_size + up_size + down_size;
  const std::size_t scratch_bytes = cuda::expert_scratch<bf16>(s);
  if (!fits(2.0 * to_double(size) * copies + 4.0 * s.rows * s.hidden + to_double(scratch_bytes), p)) return;
  const Matrix<bf16> x(s.rows, s.hidden), y(s.rows, s.hidden);
  const Buffer weights(size * at(copies) * sizeof(bf16)), scratch = t.zeros(scratch_bytes);
  t.fill(x, kInputs);
  const auto of_copy = [&](int copy) { return reinterpret_cast<bf16*>(weights.data()) + size * at(copy); };
  for (int copy = 0; copy < copies; ++copy) {
    bf16* to = of_copy(copy);
    for (const auto& [values, from] : {std::pair{router_size, kRouter}, {up_size, kGateUp}, {down_size, kDown}}) {
      cuda::fill_noise(to, to_int64(values), from, t.stream);
      to += values;
    }
  }
  cuda::OpRunner d(t.stream);
  d.with.scratch = {scratch.data(), scratch.bytes()};
  std::vector<MixtureOfExperts> ops;
  for (int copy = 0; copy < copies; ++copy) {
    bf16* from = of_copy(copy);
    const auto weight = [&](int in, int out) {
      const View<bf16> w{from, in, out, out};
      from += product(in, out);
      return d.weight(w);
    };
    MixtureOfExperts& op = ops.emplace_back();
    op.x = d(x);
    op.y = d(y);
    op.w.router = weight(s.hidden, s.experts);
    op.w.gate_up = weight(s.experts * s.hidden, 2 * s.inner);
    op.w.down = weight(s.experts * s.inner, s.hidden);
    op.choice = {.experts = s.experts, .per_token = s.per_token};
  }
  const auto run = [&](int copy) { d.run<bf16>(ops[at(copy)]); };
  run(0);
  t.stream.wait();
  const int row = s.rows - 1;
  const ReferenceRow reference(s, row);
  const auto ours = y.row(row);
  double most = 0;
  std::vector<double> expected;
  for (int i = 0; i < kColumns; ++i) expected.push_back(reference.column(i * (s.hidden / kColumns)));
  for (const double v : expected) most = std::max(most, std::abs(v));
  for (int i = 0; i < kColumns; ++i)
    if (!close(ours[at(i * (s.hidden / kColumns))], expected[at(i)], 2 * most)) {
      p.skipped = kDiffers;
      return;
    }
  t.time_kernels(p, time_budget, copies, run);
}

}  // namespace draftline
