// SPDX-License-Identifier: Apache-2.0
// Which experts a row chooses, by one warp, from the router's logits: by softmax over all, or by the sigmoid of each
// with a bias that only the choice sees and from the best groups alone (DeepSeek-V3, 2024, section 2.1.2).
#pragma once
#include "decoder/cuda/experts/experts.h"
#include "decoder/cuda/sampling/order.cuh"

namespace draftline::cuda {

template <class T>
struct RowChoice {
  const ExpertShape& m;
  const float* logit;  // [experts]
  const T* bias;       // [experts] of the choice, or null
  float top;           // the largest logit

  // The score of an expert; by softmax, before it is divided by the sum over all experts.
  __device__ float score(int e) const { return m.sigmoid ? 1 / (1 + expf(-logit[e])) : expf(logit[e] - top); }
  // What an expert is chosen by. Scores rise with logits, which don't saturate.
  __device__ float rank(int e) const { return bias != nullptr ? score(e) + to_float(bias[e]) : logit[e]; }

  // The best expert of [begin, end) that is worse than `before`, among those of the groups in `open`.
  __device__ Ranked best(int begin, int end, Ranked before, unsigned open) const {
    const int size = m.experts / m.groups;
    Ranked mine = 0;
    for (int e = begin + lane_of(); e < end; e += 32) {
      if ((open >> e / size & 1U) == 0) continue;
      if (const Ranked r = ranked(rank(e), e); r < before) mine = Largest{}(mine, r);
    }
    return warp_reduce(mine, Largest{});
  }

  // Bits of the groups from which experts are chosen. A group is as good as its best expert, or where a bias has a say
  // as its best two together.
  __device__ unsigned open_groups() const {
    if (m.groups == m.groups_per_token) return kWarp;
    const int size = m.experts / m.groups;
    float worth = 0;  // of the group of this lane
    for (int g = 0; g < m.groups; ++g) {
      const Ranked first = best(g * size, (g + 1) * size, ~Ranked{0}, kWarp);
      float both = logit_of(first);
      if (bias != nullptr && size > 1) both += logit_of(best(g * size, (g + 1) * size, first, kWarp));
      if (lane_of() == g) worth = both;
    }
    unsigned open = 0;
    for (int i = 0; i < m.groups_per_token; ++i) {
      const bool left = lane_of() < m.groups && (open >> lane_of() & 1U) == 0;
      open |= 1U << id_of(warp_reduce(left ? ranked(worth, lane_of()) : Ranked{0}, Largest{}));
    }
    return open;
  }
};

// Writes the row's experts, best first (of equal ones the first), and their weights: per_token of each.
template <class T>
__device__ void choose_experts(const ExpertShape& m, const float* logit, const ExpertPointers<T>& w, int* expert,
                               float* share) {
  const int lane = lane_of();
  float top = -INFINITY;
  for (int e = lane; e < m.experts; e += 32) top = fmaxf(top, logit[e]);
  const RowChoice<T> row{m, logit, w.choice_bias, warp_reduce(top, Largest{})};
  const unsigned open = row.open_groups();
  Ranked before = ~Ranked{0};
  float kept = 0;
  for (int j = 0; j < m.per_token; ++j) {
    before = row.best(0, m.experts, before, open);
    const int e = id_of(before);
    const float score = row.score(e);
    kept += score;
    if (lane == j % 32) expert[j] = e, share[j] = score;
  }
  float whole = kept;
  if (!m.normalise) {
    float sum = 0;
    if (!m.sigmoid)
      for (int e = lane; e < m.experts; e += 32) sum += row.score(e);
    whole = m.sigmoid ? 1 : warp_reduce(sum, Plus{});
  }
  for (int j = lane; j < m.per_token; j += 32)
    share[j] *= m.scale / whole * (w.expert_scale != nullptr ? to_float(w.expert_scale[expert[j]]) : 1.0F);
}

}  // namespace draftline::cuda
