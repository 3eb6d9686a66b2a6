// SPDX-License-Identifier: Apache-2.0
// The decision at one node of a tree (Decide of decoder/verify): the child that is accepted, or the token that follows
// instead. What rejections leave of the target's distribution is not stored; it is computed from the norms of each
// rejection.
#pragma once
#include "decoder/cuda/sampling/distribution.cuh"

namespace draftline::cuda {

inline constexpr int kMostSiblings = 256;

struct Decision {
  bool accepted = false;  // whether a child was accepted; otherwise the walk ends
  int token = 0;          // the token of the accepted child, or the bonus token
};

// The rejections at a node, in shared memory: tokens, the distributions from which they were drawn, and norms.
struct Rejected {
  int token[kMostSiblings];
  const float* q[kMostSiblings];
  double q_norm[kMostSiblings], p_norm[kMostSiblings];  // 1 / sum
};

// Called by the whole block; all threads return the same decision. `drafted(i)`: the distribution from which child i
// was drawn.
template <class T, class Drafted, class Uniform>
__device__ Decision decide(const Distribution<T>& p, AcceptRule rule, int children, const int* tokens, Drafted drafted,
                           Rejected& rejected, Uniform uniform) {
  using W = typename Distribution<T>::W;
  int steps = 0, trial = 0;
  const bool independent = rule == AcceptRule::independent, point_mass = rule == AcceptRule::point_mass;
  const bool recursive = independent || rule == AcceptRule::without_replacement;
  const auto was_rejected = [&](int token, int before) {
    for (int j = 0; j < before; ++j)
      if (rejected.token[j] == token) return true;
    return false;
  };
  // Weight of a token in the distribution of the draft at step j, and in what the rejections before step j left of p.
  struct Token {
    int id;
    float logit;
    int step;  // the one whose weight of this token is at hand
    float q;
  };
  const auto drafted_weight = [&](const Token& t, int j) -> W {
    if (!independent && was_rejected(t.id, j)) return W(0);
    return static_cast<W>(j == t.step ? t.q : rejected.q[j][t.id]) * static_cast<W>(rejected.q_norm[j]);
  };
  const auto target_weight = [&](const Token& t, int before) -> W {
    if (point_mass) {
      if (was_rejected(t.id, before)) return W(0);
      return p.probability(t.id, t.logit) * static_cast<W>(before > 0 ? rejected.p_norm[before - 1] : 1.0);
    }
    W v = p.probability(t.id, t.logit);
    for (int j = 0; j < before; ++j) {
      const W left = v - drafted_weight(t, j);
      v = left > W(0) ? left * static_cast<W>(rejected.p_norm[j]) : W(0);
    }
    return v;
  };

  for (int i = 0; i < children && rule != AcceptRule::target_draw; ++i) {
    const Decision yes{.accepted = true, .token = tokens[i]};
    const Token child{tokens[i], to_float(p.x[tokens[i]]), -1, 0};
    double accepted = 0;  // the probability of acceptance
    if (recursive) {
      const float* q = drafted(independent ? i : 0);
      const double sum = block_sum<double>(
          p.n, [&](int t, float w) -> double { return !independent && was_rejected(t, steps) ? 0.0 : w; }, q);
      if (threadIdx.x == 0) {
        rejected.token[steps] = tokens[i];
        rejected.q[steps] = q;
        rejected.q_norm[steps] = sum > 0 ? 1 / sum : 0;
      }
      __syncthreads();
      const W have = drafted_weight(child, steps);
      if (!(have > W(0))) continue;  // it repeats its sibling, as nothing was left to draw
      accepted = 1.0 * target_weight(child, steps) / have;
    } else {
      accepted = target_weight(child, steps);
      if (threadIdx.x == 0) rejected.token[steps] = tokens[i];
      __syncthreads();
    }
    if (uniform(trial++) < fmin(1.0, accepted)) return yes;
    const auto left_of = [&](int id, float logit, float q) -> W {
      if (point_mass) return was_rejected(id, steps + 1) ? W(0) : p.probability(id, logit);
      const Token t{id, logit, steps, q};
      const W v = target_weight(t, steps) - drafted_weight(t, steps);
      return v > W(0) ? v : W(0);
    };
    const float* q_now = recursive ? rejected.q[steps] : nullptr;
    const double left = block_sum<W>(p.n, left_of, p.x, q_now);
    if (!(left > 0)) return yes;  // p equals q but for rounding, and equal distributions never reject
    if (threadIdx.x == 0) rejected.p_norm[steps] = 1 / left;
    ++steps;
    __syncthreads();
  }

  const float* last = recursive && steps > 0 ? rejected.q[steps - 1] : nullptr;
  const auto left_of = [&](int id, float logit, float q) { return target_weight({id, logit, steps - 1, q}, steps); };
  const double sum = block_sum<W>(p.n, left_of, p.x, last);
  const int token = block_locate(p.n, uniform(trial) * sum, left_of, p.x, last);
  if (rule == AcceptRule::target_draw)
    for (int i = 0; i < children; ++i)
      if (tokens[i] == token) return {.accepted = true, .token = token};
  return {.accepted = false, .token = token};
}

}  // namespace draftline::cuda
