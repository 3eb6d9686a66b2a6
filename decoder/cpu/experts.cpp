// SPDX-License-Identifier: Apache-2.0
// A mixture of experts: a reference implementation, not a fast one. Each row visits its experts by itself.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/int_indexed.h"
#include "decoder/cpu/activations.h"
#include "decoder/cpu/backend.h"

namespace draftline {

namespace {

// The experts of one row, best first, and their weights.
class Router {
 public:
  Router(const ExpertChoice& choice, const float* choice_bias)
      : c_(choice), bias_(choice_bias), score_(count()), rank_(count()), order_(count()) {}

  // `logit`: of every expert.
  void choose(const std::vector<float>& logit) {
    const double top = *std::max_element(logit.begin(), logit.end());
    double sum = 0;
    for (std::size_t e = 0; e < logit.size(); ++e) {
      score_[e] = c_.score == Experts::Score::sigmoid ? 1 / (1 + std::exp(-double{logit[e]}))
                                                      : std::exp(double{logit[e]} - top);
      sum += score_[e];
      rank_[e] = score_[e] + (bias_ != nullptr ? bias_[e] : 0.0);
    }
    std::iota(order_.begin(), order_.end(), 0);
    drop_groups();
    take_best(c_.per_token);
    double kept = 0;
    for (int j = 0; j < c_.per_token; ++j) kept += score_[at(order_[at(j)])];
    const bool of_all = c_.score == Experts::Score::softmax && !c_.normalise, raw = c_.score == Experts::Score::sigmoid;
    whole_ = of_all ? sum : raw && !c_.normalise ? 1 : kept;
  }
  int expert(int j) const { return order_[at(j)]; }
  float share(int j) const { return single(c_.scale * (score_[at(expert(j))] / whole_)); }

 private:
  std::size_t count() const { return at(c_.experts); }
  bool better(double a, double b, int first, int second) const { return a != b ? a > b : first < second; }
  void take_best(int n) {
    std::partial_sort(order_.begin(), order_.begin() + n, order_.end(),
                      [this](int a, int b) { return better(rank_[at(a)], rank_[at(b)], a, b); });
  }
  // A group is as good as its best expert, or where a bias has a say as its best two together (DeepSeek-V3).
  double worth(int group) const {
    const auto size = count() / at(c_.groups);
    double first = -INFINITY, second = -INFINITY;
    for (std::size_t e = size * at(group), end = e + size; e < end; ++e) {
      if (rank_[e] > first) second = std::exchange(first, rank_[e]);
      else second = std::max(second, rank_[e]);
    }
    return bias_ != nullptr && size > 1 ? first + second : first;
  }
  void drop_groups() {
    if (c_.groups == c_.groups_per_token) return;
    std::vector<double> worths;
    std::vector<int> groups(at(c_.groups));
    std::iota(groups.begin(), groups.end(), 0);
    for (const int g : groups) worths.push_back(worth(g));
    std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) { return worths[at(a)] > worths[at(b)]; });
    const int size = c_.experts / c_.groups;
    for (std::size_t g = at(c_.groups_per_token); g < groups.size(); ++g)
      std::fill_n(rank_.begin() + groups[g] * size, size, -INFINITY);
  }

  const ExpertChoice& c_;
  const float* bias_;
  std::vector<double> score_, rank_;
  std::vector<int> order_;
  double whole_ = 1;
};

float gated(float gate, float up, MlpKind kind) {
  if (kind == MlpKind::squared_relu) return gate > 0 ? gate * gate : 0;
  if (kind == MlpKind::gated_gelu) return gelu_by_tanh(gate) * up;
  if (kind != MlpKind::clamped_swiglu) return silu(gate) * up;
  const float g = std::min(gate, kClampedSwiglu.limit), u = std::clamp(up, -kClampedSwiglu.limit, kClampedSwiglu.limit);
  return g / (1 + std::exp(-kClampedSwiglu.slope * g)) * (u + 1);
}

}  // namespace

void CpuBackend::run(const MixtureOfExperts& o) {
  const ExpertWeights& w = o.w;
  const float *x = in(o.x), *routed = o.routed ? in(*o.routed) : x, *router = weight(w.router, false),
              *gate_up = weight(w.gate_up, false), *down = weight(w.down, false);
  const auto bias = [&](const std::optional<Weight>& b) { return b ? weight(*b, false) : nullptr; };
  const float *expert_scale = bias(w.expert_scale), *router_bias = bias(w.router_bias),
              *gate_up_bias = bias(w.gate_up_bias), *down_bias = bias(w.down_bias);
  float* y = out(o.y);
  const int hidden = o.x.cols, routed_columns = w.router.in, experts = o.choice.experts;
  const int wide_columns = w.gate_up.out, inner = wide_columns / (is_gated(o.gate) ? 2 : 1);
  const int up_from = wide_columns - inner;  // the gate's own columns if there is no gate
  Router chosen(o.choice, bias(w.choice_bias));
  std::vector<float> logit(at(experts)), wide(at(inner)), input(at(hidden));
  std::vector<bool> touched(logit.size());
  const double expert = 1.0 * hidden * (wide_columns + inner);
  counts_.read += 1.0 * routed_columns * experts * bits_of(w.router.dtype) / 8;
  for (int r = 0; r < o.x.rows; ++r) {
    const float *row = x + std::ptrdiff_t{r} * o.x.stride,
                *seen = routed + std::ptrdiff_t{r} * o.routed.value_or(o.x).stride;
    float* to = y + std::ptrdiff_t{r} * o.y.stride;
    for (int e = 0; e < experts; ++e) {
      float s = 0;
      for (int i = 0; i < routed_columns; ++i) s += seen[i] * router[i * experts + e];
      logit[at(e)] = s + (router_bias != nullptr ? router_bias[e] : 0.0F);
    }
    counts_.flops += 2.0 * routed_columns * experts;
    chosen.choose(logit);
    std::fill_n(to, hidden, 0.0F);
    for (int j = 0; j < o.choice.per_token; ++j) {
      const int e = chosen.expert(j);
      const float share = chosen.share(j) * (expert_scale != nullptr ? expert_scale[e] : 1),
                  of_input = o.choice.weighs_inputs ? share : 1, of_output = o.choice.weighs_inputs ? 1 : share;
      if (!touched[at(e)]) counts_.read += expert * bits_of(w.gate_up.dtype) / 8;
      touched[at(e)] = true;
      counts_.flops += 2 * expert;
      for (int i = 0; i < hidden; ++i) input[at(i)] = of_input * row[i];
      const float* up = gate_up + std::ptrdiff_t{e} * hidden * wide_columns;
      const float* back = down + std::ptrdiff_t{e} * inner * hidden;
      for (int f = 0; f < inner; ++f) {
        float g = 0, u = 0;
        for (int i = 0; i < hidden; ++i) {
          g += input[at(i)] * up[i * wide_columns + f];
          u += input[at(i)] * up[i * wide_columns + up_from + f];
        }
        if (gate_up_bias != nullptr) {
          g += gate_up_bias[e * wide_columns + f];
          u += gate_up_bias[e * wide_columns + up_from + f];
        }
        wide[at(f)] = gated(g, u, o.gate);
      }
      for (int i = 0; i < hidden; ++i) {
        float s = 0;
        for (int f = 0; f < inner; ++f) s += wide[at(f)] * back[f * hidden + i];
        if (down_bias != nullptr) s += down_bias[e * hidden + i];
        to[i] += of_output * s;
      }
    }
  }
}

}  // namespace draftline
