// SPDX-License-Identifier: Apache-2.0
// Sparse attention: an indexer's scores, its choice, and attention to what it chose, row by row. Entries of a panel are
// scored in lanes of their own, each column by column.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "decoder/cpu/attention_math.h"
#include "decoder/cpu/backend.h"
#include "decoder/rope.h"

namespace draftline {

void CpuBackend::run(const IndexAppend& o) {
  const float *q = in(o.q), *k = in(o.k);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const auto& frequency = frequencies(o.rope);
  const int d = o.k.cols;
  std::vector<float> key(at(d));
  Turn turn;
  for (int b = 0, r = 0; b < p.pass.rows.sequences(); ++b) {
    for (int i = 0; i < p.cu_seqlens[b + 1] - p.cu_seqlens[b]; ++i, ++r) {
      turn.to(p.lengths[b] + p.visible_tail(r, i) - 1, frequency, attention_factor(o.rope));
      for (int h = 0; h < o.q.cols; h += d) rotate(q + r * o.q.stride + h, turn, d, y + r * o.y.stride + h);
      rotate(k + r * o.k.stride, turn, d, key.data());
      held(o.cache).store_index(o.layer, p.kv_slots[b], p.lengths[b] + p.pass.tail + i, key.data());
      counts_.written += o.cache.indexer->key_bytes().value;
    }
  }
}

// The products of a query with a panel's keys.
WIDEST_VECTORS static void multiply(const float* query, const PanelLine* key, int columns, PanelLine& to) {
  Vector sum = {};
  for (int c = 0; c < columns; ++c) sum += query[c] * *reinterpret_cast<const Vector*>(key + c);
  *reinterpret_cast<Vector*>(&to) = sum;
}

// The sums over heads of w relu(q k) of a panel's entries.
static PanelLine index_scores(const float* q, const float* weights, int heads, int dim, const PanelLine* key) {
  PanelLine sum = {}, product;
  for (int h = 0; h < heads; ++h) {
    multiply(q + std::ptrdiff_t{h} * dim, key, dim, product);
    for (int lane = 0; lane < kPanel; ++lane) sum.column[lane] += weights[h] * std::max(product.column[lane], 0.0F);
  }
  return sum;
}

void CpuBackend::run(const SelectTokens& o) {
  const float *q = in(o.q), *weights = in(o.weights);
  const PassView p = view(o.pass);
  int* chosen = out_ids(o.y);
  const CpuCache& cache = held(o.cache);
  const int heads = o.weights.cols, d = o.cache.indexer->head_dim, most = o.y.cols;
  const bool causal = p.pass.causal && p.tree_mask == nullptr;
  std::vector<float> score;
  std::vector<int> seen;
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, length = p.lengths[b],
              before = length + p.pass.tail;
    if (n == 0) continue;
    cache.check_entry(p.kv_slots[b], before + n - 1);
    counts_.read += (before + n) * o.cache.indexer->key_bytes().value;
    for (int i = 0; i < n; ++i) {
      const int r = first + i, keys = causal ? before + i + 1 : before + n;
      seen.clear();
      for (int key = 0; key < keys; ++key)
        if (key < length || p.visible(r, key - length)) seen.push_back(key);
      score.resize(at(panels_for(keys)) * kPanel);
      for (int key = 0; key < keys; key += kPanel) {
        const PanelLine panel = index_scores(q + r * o.q.stride, weights + r * o.weights.stride, heads, d,
                                             cache.index_panel(o.layer, p.kv_slots[b], key));
        for (int lane = 0; lane < kPanel; ++lane) score[at(key + lane)] = panel.column[lane];
      }
      counts_.flops += 2.0 * heads * d * keys;
      counts_.read += 4.0 * keys;
      counts_.written += 4.0 * keys;
      const auto best = seen.begin() + std::min<std::ptrdiff_t>(most, std::ssize(seen));
      std::nth_element(seen.begin(), best, seen.end(), [&](int a, int c) {
        const float x = score[at(a)], z = score[at(c)];
        return x != z ? x > z : a < c;
      });
      std::sort(seen.begin(), best);
      int* to = chosen + std::ptrdiff_t{r} * o.y.stride;
      std::fill(std::copy(seen.begin(), best, to), to + most, -1);
    }
  }
}

void CpuBackend::attend_to_tokens(const LatentAttend& o) {
  const float *q = in(o.q), *q_rope = in(o.q_rope);
  const int* tokens = ids(*o.tokens);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const CpuCache& cache = held(o.cache);
  const int rank = o.cache.latent, rope = o.cache.head_dim - rank, heads = o.q.cols / rank;
  const bool causal = p.pass.causal && p.tree_mask == nullptr;
  std::vector<float> query(at(o.cache.head_dim)), score;
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, before = p.lengths[b] + p.pass.tail;
    double pairs = 0;  // what a kernel reads that masks, not what the mask leaves
    for (int i = 0; i < n; ++i) {
      const int r = first + i;
      const int* own = tokens + std::ptrdiff_t{r} * o.tokens->stride;
      const auto chosen = at(std::find(own, own + o.tokens->cols, -1) - own);
      pairs += std::min(o.tokens->cols, causal ? before + i + 1 : before + n);
      score.resize(chosen);
      for (int h = 0; h < heads; ++h) {
        std::copy_n(q + r * o.q.stride + h * rank, rank, query.data());
        std::copy_n(q_rope + r * o.q_rope.stride + h * rope, rope, query.data() + rank);
        PanelLine panel;
        int last = -1;  // the panel that it has the products of
        for (std::size_t j = 0; j < chosen; ++j) {
          if (own[j] / kPanel != last)
            multiply(query.data(), cache.latent_panel(o.layer, p.kv_slots[b], own[j]), o.cache.head_dim, panel);
          last = own[j] / kPanel;
          score[j] = o.scale * panel.column[own[j] % kPanel];
        }
        softmax(score);
        float* to = y + r * o.y.stride + h * rank;
        std::fill_n(to, rank, 0.0F);
        for (std::size_t j = 0; j < chosen; ++j) cache.add_latent(o.layer, p.kv_slots[b], own[j], score[j], to);
      }
    }
    counts_.flops += 2.0 * heads * (o.cache.head_dim + rank) * pairs;
    const Bytes latent = bytes_of(o.cache.dtype, o.cache.columns());
    counts_.read += std::min(pairs, 1.0 * (n == 0 ? 0 : before + n)) * latent.value;
  }
}

}  // namespace draftline
