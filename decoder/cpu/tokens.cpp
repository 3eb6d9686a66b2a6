// SPDX-License-Identifier: Apache-2.0
// Ops that choose tokens from logits, and dynamic trees.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>

#include "core/int_indexed.h"
#include "decoder/cpu/backend.h"
#include "decoder/sampling.h"

namespace draftline {

static void check_finite(float logit) {
  check(std::bit_cast<std::uint32_t>(logit) != ~std::uint32_t{}, "a logit was read before it was written");
  if (!std::isfinite(logit)) refuse_overflow();
}

void CpuBackend::run(const Argmax& o) {
  const float* x = in(o.x);
  int* y = out_ids(o.y);
  for (int r = 0; r < o.x.rows; ++r) {
    const float* logits = x + std::ptrdiff_t{r} * o.x.stride;
    check_finite(logits[0]);
    y[r] = steps(logits, std::max_element(logits, logits + o.x.cols));
    check_finite(logits[y[r]]);
  }
}

void CpuBackend::run(const TopK& o) {
  const float* x = in(o.logits);
  int* id = out_ids(o.ids);
  float* log_prob = out(o.log_probs);
  const int k = o.ids.cols;
  std::vector<int> order(at(o.logits.cols));
  for (int r = 0; r < o.logits.rows; ++r) {
    const float* logits = x + std::ptrdiff_t{r} * o.logits.stride;
    check_finite(logits[0]);
    std::iota(order.begin(), order.end(), 0);
    std::partial_sort(order.begin(), order.begin() + k, order.end(),
                      [&](int a, int b) { return logits[a] != logits[b] ? logits[a] > logits[b] : a < b; });
    const float top = logits[order[0]];
    check_finite(top);
    float sum = 0;
    for (int i = 0; i < o.logits.cols; ++i) sum += std::exp(logits[i] - top);
    for (int j = 0; j < k; ++j) {
      id[r * k + j] = order[at(j)];
      log_prob[r * k + j] = logits[order[at(j)]] - top - std::log(sum);
    }
  }
}

void CpuBackend::run(const MapIds& o) {
  const int* id = ids(o.ids);
  const float* offsets = weight(o.offsets, false);  // int32 in a checkpoint; exact in fp32 below 2^24
  int* y = out_ids(o.y);
  for (int r = 0; r < o.ids.rows; ++r)
    for (int c = 0; c < o.ids.cols; ++c) {
      const int from = id[r * o.ids.stride + c];
      y[r * o.y.stride + c] = from + static_cast<int>(offsets[from]);
      counts_.read += bytes_of(DType::int32, 1).value;
    }
}

void CpuBackend::run(const ClipTopK& o) {
  const float* x = in(o.log_probs);
  float* y = out(o.y);
  const int k = o.log_probs.cols;
  for (int r = 0; r < o.log_probs.rows; ++r) {
    float before = 0;  // the probability of likelier tokens
    for (int j = 0; j < k; ++j) {
      const float p = std::exp(x[r * k + j]), first = std::exp(x[r * k]);
      const bool keep = before < o.top_p && p >= o.least_share * first;
      y[r * k + j] = keep ? x[r * k + j] : -INFINITY;
      before += p;
    }
  }
}

void CpuBackend::run(const ExpandTree& o) {
  const int *id = ids(o.ids), *node = ids(o.node), *tree_mask = ids(o.tree_mask);
  const float *log_prob = in(o.log_probs), *score = in(o.score);
  int *tokens = out_ids(o.tokens), *parents = out_ids(o.parents), *row = out_ids(o.row), *token = out_ids(o.token);
  int *next_node = out_ids(o.next_node), *next_tree_mask = out_ids(o.next_tree_mask);
  float *scores = out(o.scores), *next_score = out(o.next_score);
  const int k = o.ids.cols, n = o.width * k, words = o.tree_mask.cols, sequences = o.ids.rows / o.width;
  std::vector<int> order(at(n));
  for (int b = 0; b < sequences; ++b) {
    for (int c = 0; c < n; ++c) {
      const int r = b * o.width + c / k;
      tokens[b * n + c] = id[r * k + c % k];
      scores[b * n + c] = score[r] + log_prob[r * k + c % k];
      parents[b * n + c] = node[r];
    }
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int x, int y) { return scores[b * n + x] > scores[b * n + y]; });
    for (int j = 0; j < o.keep; ++j) {
      const int c = order[at(j)], from = b * o.width + c / k, to = b * o.keep + j, own = o.tail + j;
      row[to] = from;
      token[to] = tokens[b * n + c];
      next_score[to] = scores[b * n + c];
      next_node[to] = o.first_node + c;
      for (int w = 0; w < words; ++w)
        next_tree_mask[to * words + w] = tree_mask[from * words + w] | (own / 32 == w ? (1U << (own % 32)) : 0);
    }
  }
}

void CpuBackend::run(const SelectTree& o) {
  struct Candidate {
    int token, parent;
    float score;
  };
  const int *root = ids(o.root), words = o.tree_mask.cols;
  int *y = out_ids(o.y), *parent = out_ids(o.parent), *tree_mask = out_ids(o.tree_mask);
  std::vector<const int*> tokens, parents;
  std::vector<const float*> scores;
  for (std::size_t l = 0; l < o.tokens.size(); ++l) {
    tokens.push_back(ids(o.tokens[l]));
    parents.push_back(ids(o.parents[l]));
    scores.push_back(in(o.scores[l]));
  }
  for (int b = 0; b < o.root.rows; ++b) {
    std::vector<Candidate> pool;  // in order of creation: parents first
    for (std::size_t l = 0; l < o.tokens.size(); ++l)
      for (int c = 0, n = o.tokens[l].cols; c < n; ++c)
        pool.push_back({tokens[l][b * n + c], parents[l][b * n + c], scores[l][b * n + c]});
    std::vector<std::size_t> best(pool.size());
    std::iota(best.begin(), best.end(), 0);
    std::stable_sort(best.begin(), best.end(),
                     [&](std::size_t a, std::size_t c) { return pool[a].score > pool[c].score; });
    if (o.by_level) {
      const auto level_of = [&](std::size_t candidate) {
        std::size_t level = 0, end = at(o.tokens[0].cols);
        while (candidate >= end) end += at(o.tokens[++level].cols);
        return level;
      };
      std::erase_if(best, [&](std::size_t c) { return std::isinf(pool[c].score); });
      std::stable_sort(best.begin(), best.end(),
                       [&](std::size_t a, std::size_t c) { return level_of(a) < level_of(c); });
    }
    best.resize(std::min(best.size(), at(o.size - 1)));
    std::sort(best.begin(), best.end());
    for (int i = 0; i < o.size; ++i) {
      const int to = b * o.size + i;
      int local = -1;
      y[to] = root[b];
      const bool padding = i > count(best);
      if (i > 0 && !padding) {
        const Candidate& c = pool[best[at(i - 1)]];
        y[to] = c.token;
        // A parent's score is never below its child's, so it was selected too.
        local = c.parent < 0 ? 0 : 1 + steps(best.begin(), std::lower_bound(best.begin(), best.end(), at(c.parent)));
      }
      parent[to] = padding ? -2 : local;
      for (int w = 0; w < words; ++w)
        tree_mask[to * words + w] =
            (local >= 0 ? tree_mask[(b * o.size + local) * words + w] : 0) | (i / 32 == w ? (1U << (i % 32)) : 0);
    }
  }
}

void CpuBackend::run(const FollowPath& o) {
  const int *last = ids(o.last), *from = ids(o.cu_seqlens), *to = ids(o.to);
  int *y = out_ids(o.y), *newest = out_ids(o.newest);
  const int sequences = o.last.rows;
  for (int b = 0; b < sequences; ++b) {
    const int items = last[b] - from[b] + 1;
    for (int i = 0; i < to[b + 1] - to[b]; ++i)
      y[to[b] + i] = i < items           ? from[b] + i
                     : i < items + o.own ? o.items + b * o.own + i - items
                                         : o.items + sequences * o.own;
    newest[b] = to[b] + items + o.own - 1;
  }
}

void CpuBackend::run(const WalkCandidates& o) {
  const int* id = ids(o.ids);
  const float *log_prob = in(o.log_probs), *gate = in(o.gate), *root = in(o.root), *before = in(o.before),
              *after = in(o.after);
  int* y = out_ids(o.y);
  const int k = o.ids.cols, slots = o.ids.rows / o.root.rows;
  for (int b = 0; b < o.root.rows; ++b) {
    const float* from = root + b * o.root.stride;
    for (int i = b * slots; i < (b + 1) * slots; ++i) {
      int best = 0;
      float most = 0;
      for (int c = 0; c < k; ++c) {
        const float* to = after + (i * k + c) * o.after.stride;
        float score = 0;
        for (int j = 0; j < o.gate.cols; ++j) score += from[j] * gate[i * o.gate.stride + j] * to[j];
        score += log_prob[i * k + c];
        if (c == 0 || score > most) best = c, most = score;
      }
      y[i] = id[i * k + best];
      from = before + (i * k + best) * o.before.stride;
    }
  }
}

}  // namespace draftline
