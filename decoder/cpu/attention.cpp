// SPDX-License-Identifier: Apache-2.0
// Rotary embedding and attention. Four query rows that share a head's keys and values (heads of a group, rows of a
// chain or tree) read them together. Products are added column by column, and weighted values position by position.
#include <algorithm>
#include <cmath>
#include <span>

#include "core/int_indexed.h"
#include "decoder/cpu/attention_math.h"
#include "decoder/cpu/backend.h"
#include "decoder/rope.h"

namespace draftline {

const std::vector<float>& CpuBackend::frequencies(const Rope& rope) {
  const auto known =
      std::find_if(frequencies_.begin(), frequencies_.end(), [&](const auto& f) { return f.first == rope; });
  if (known != frequencies_.end()) return known->second;
  return frequencies_.emplace_back(rope, rope_frequencies(rope)).second;
}

void CpuBackend::run(const RopeAppend& o) {
  const float *q = in(o.q), *k = in(o.k), *v = in(o.v);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const auto& frequency = frequencies(o.rope);
  const int d = o.cache.head_dim, kv_columns = o.cache.kv_heads * d;
  std::vector<float> rotated(at(kv_columns));
  Turn turn;
  for (int b = 0, r = 0; b < p.pass.rows.sequences(); ++b) {
    for (int i = 0; i < p.cu_seqlens[b + 1] - p.cu_seqlens[b]; ++i, ++r) {
      const int position = p.lengths[b] + p.visible_tail(r, i) - 1;
      turn.to(position, frequency, attention_factor(o.rope));
      for (int h = 0; h < o.q.cols; h += d) rotate(q + r * o.q.stride + h, turn, d, y + r * o.y.stride + h);
      if (o.rope.growth) {
        const float growth = query_growth(*o.rope.growth, position);
        for (int c = 0; c < o.q.cols; ++c) y[r * o.y.stride + c] *= growth;
      }
      if (o.k.cols == 0) continue;
      for (int h = 0; h < kv_columns; h += d) rotate(k + r * o.k.stride + h, turn, d, rotated.data() + h);
      held(o.cache).store(o.layer, p.kv_slots[b], o.cache.window.held(p.lengths[b]) + p.pass.tail + i, rotated.data(),
                          v + r * o.v.stride);
      counts_.written += o.cache.row_bytes().value;
    }
  }
}

void CpuBackend::run(const LatentAppend& o) {
  const float *q = read_only(o.q), *latent = in(o.latent), *shared_key = in(o.shared_key);
  const PassView p = view(o.pass);
  float *y = out(o.q_rope), *turned = out(o.k_rope);
  const auto& frequency = frequencies(o.rope);
  const int rope = o.dims.rope_dim, d = o.dims.nope_dim + rope, heads = o.q_rope.cols / rope;
  counts_.read += o.q_rope.bytes().value;  // of a query its rotated columns alone
  std::vector<float> key(at(o.cache.head_dim));
  Turn turn;
  for (int b = 0, r = 0; b < p.pass.rows.sequences(); ++b) {
    for (int i = 0; i < p.cu_seqlens[b + 1] - p.cu_seqlens[b]; ++i, ++r) {
      turn.to(p.lengths[b] + p.visible_tail(r, i) - 1, frequency, attention_factor(o.rope));
      for (int h = 0; h < heads; ++h)
        rotate(q + r * o.q.stride + h * d + o.dims.nope_dim, turn, rope, y + r * o.q_rope.stride + h * rope);
      float* own = turned + r * o.k_rope.stride;
      rotate(shared_key + r * o.shared_key.stride, turn, rope, own);
      const float* c = latent + r * o.latent.stride;
      std::copy_n(c, o.cache.latent, key.data());
      std::copy_n(own, rope, key.data() + o.cache.latent);
      held(o.cache).store(o.layer, p.kv_slots[b], o.cache.window.held(p.lengths[b]) + p.pass.tail + i, key.data(), c);
      counts_.written += bytes_of(o.cache.dtype, o.cache.columns()).value;
    }
  }
}

namespace {

constexpr int kRowsAtOnce = 4;

// Sums for R query rows and C panels or blocks at once, R x C of them in registers: as an addition waits for the one
// before it, four must run side by side. Always inlined, so that each clone of scores_of and sums_of has its own.
struct Panels {
  const PanelLine* line;  // the first line of the first panel
  int lines;              // of a panel
  std::ptrdiff_t stride;  // from one panel to the next
};

// Rows of factors or of sums, and from one to the next.
template <class T>
struct PanelRows {
  T* data;
  std::ptrdiff_t stride;
  T* row(int r) const { return data + r * stride; }
};

// Adds factor[r][i] x line i over the lines of each panel, in order; the sums of row r go to its places in `to`, one
// for each panel.
template <int R, int C>
__attribute__((always_inline)) inline void add_lines(const PanelRows<const float>& factor, const Panels& p, int first,
                                                     float times, const PanelRows<PanelLine>& to) {
  Vector acc[C][R] = {};
  const PanelLine* at = p.line + first * p.stride;
  for (int i = 0; i < p.lines; ++i)
    for (int c = 0; c < C; ++c) {
      const Vector line = *reinterpret_cast<const Vector*>(at + c * p.stride + i);
      for (int r = 0; r < R; ++r) acc[c][r] += factor.row(r)[i] * line;
    }
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) *reinterpret_cast<Vector*>(to.row(r) + first + c) = acc[c][r] * times;
}

WIDEST_VECTORS void add_panels(int rows, const PanelRows<const float>& factor, const Panels& p, int panels, float times,
                               const PanelRows<PanelLine>& to) {
  const int at_once = rows == 1 ? 4 : rows == 2 ? 2 : 1;
  for (int first = 0; first < panels; first += at_once) {
    const int left = std::min(at_once, panels - first);
    switch (rows * 10 + left) {
      case 11: add_lines<1, 1>(factor, p, first, times, to); break;
      case 12: add_lines<1, 2>(factor, p, first, times, to); break;
      case 13: add_lines<1, 3>(factor, p, first, times, to); break;
      case 14: add_lines<1, 4>(factor, p, first, times, to); break;
      case 21: add_lines<2, 1>(factor, p, first, times, to); break;
      case 22: add_lines<2, 2>(factor, p, first, times, to); break;
      case 31: add_lines<3, 1>(factor, p, first, times, to); break;
      default: add_lines<4, 1>(factor, p, first, times, to); break;
    }
  }
}

// Buffers for a few query rows while they read a head's keys and values.
struct Scratch {
  std::vector<float> queries;
  std::vector<PanelLine> scores, sums;
  void grow(int dim, int keys) {
    const auto at_least = [](auto& v, int n) {
      if (v.size() < at(n)) v.resize(at(n));
    };
    at_least(queries, kRowsAtOnce * dim);
    at_least(scores, kRowsAtOnce * panels_for(keys));
    at_least(sums, kRowsAtOnce * panels_for(dim));
  }
};
float* floats(std::vector<PanelLine>& lines) { return reinterpret_cast<float*>(lines.data()); }

}  // namespace

// The entries of a tail that a row attends to are its ancestors in the order of the text, so that the k-th of them
// stands at length + k.
void CpuBackend::PassView::hide(std::span<float> score, int base, int first, int row, int length) const {
  const int end = base + count(score), hidden = tree_mask != nullptr ? std::min(first, length) : first;
  for (int key = base; key < hidden; ++key) score[at(key - base)] = -INFINITY;
  if (tree_mask == nullptr) return;
  for (int key = length, seen = 0; key < end; ++key)
    if (!visible(row, key - length) || length + seen++ < first) score[at(key - base)] = -INFINITY;
}

template <class O, class Query, class Result>
void CpuBackend::attend(const O& o, int heads, float scale, const float* sinks, Query query, Result result) {
  const PassView p = view(o.pass);
  const CpuCache& cache = held(o.cache);
  const Window window = o.cache.window;
  const int d = o.cache.head_dim, values_d = o.cache.value_dim;
  const int group = heads / o.cache.kv_heads, blocks = panels_for(values_d);
  Scratch s;
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int n = p.cu_seqlens[b + 1] - p.cu_seqlens[b], length = window.held(p.lengths[b]),
              before = length + p.pass.tail;
    if (n == 0) continue;
    // Under a mask all rows read, and compute, what one at the first uncommitted position would see; those of a block
    // see it too.
    const bool alike = p.tree_mask || !p.pass.causal;
    const int from = window.first_key(alike ? length : before), base = from / kPanel * kPanel;
    counts_.read += (before + n - from) * o.cache.row_bytes().value;
    cache.check_entry(p.kv_slots[b], before + n - 1);
    for (int i = 0; i < n; ++i) check(p.visible(p.cu_seqlens[b] + i, p.pass.tail + i), "a row must attend to itself");
    s.grow(std::max(d, values_d), before + n - base);
    const auto stride = std::ptrdiff_t{panels_for(before + n - base)};
    for (int head = 0; head < o.cache.kv_heads; ++head) {
      const Panels keys{cache.keys(o.layer, p.kv_slots[b], head) + base / kPanel * d, d, d};
      for (int first = 0; first < n * group; first += kRowsAtOnce) {
        const int rows = std::min(kRowsAtOnce, n * group - first);
        const auto row_of = [&](int j) { return p.cu_seqlens[b] + (first + j) / group; };
        const auto head_of = [&](int j) { return head * group + (first + j) % group; };
        const auto position_of = [&](int j) {
          return p.pass.causal ? length + p.visible_tail(row_of(j), row_of(j) - p.cu_seqlens[b]) - 1 : length;
        };
        // Keys up to a row's last, counted from `base`. Under a mask every pair of the tail is computed, as a GPU's
        // tile does.
        const auto keys_of = [&](int j) {
          return before - base + (p.tree_mask || !p.pass.causal ? n : row_of(j) - p.cu_seqlens[b] + 1);
        };
        const int most = keys_of(rows - 1);
        for (int j = 0; j < rows; ++j) query(row_of(j), head_of(j), s.queries.data() + j * d);
        add_panels(rows, {s.queries.data(), d}, keys, panels_for(most), scale, {s.scores.data(), stride});
        for (int j = 0; j < rows; ++j) {
          float* score = floats(s.scores) + j * stride * kPanel;
          const int own = keys_of(j), first_own = window.first_key(position_of(j));
          p.hide({score, at(own)}, base, first_own, row_of(j), length);
          softmax({score, at(own)}, sinks == nullptr ? nullptr : sinks + head_of(j));
          std::fill(score + own, score + most, 0.0F);
          counts_.flops += 2.0 * (d + values_d) * (base + own - (p.tree_mask ? from : first_own));
        }
        const Panels values{cache.values(o.layer, p.kv_slots[b], head) + base, most, cache.capacity()};
        add_panels(rows, {floats(s.scores), stride * kPanel}, values, blocks, 1, {s.sums.data(), blocks});
        for (int j = 0; j < rows; ++j)
          std::copy_n(floats(s.sums) + j * blocks * kPanel, values_d, result(row_of(j), head_of(j)));
      }
    }
  }
}

void CpuBackend::run(const Attend& o) {
  const float* q = in(o.q);
  float* y = out(o.y);
  const int d = o.cache.head_dim, values_d = o.cache.value_dim;
  attend(
      o, o.q.cols / d, o.scale, o.sinks ? weight(*o.sinks) : nullptr,
      [&](int row, int head, float* to) { std::copy_n(q + row * o.q.stride + head * d, d, to); },
      [&](int row, int head) { return y + row * o.y.stride + head * values_d; });
}

void CpuBackend::run(const LatentAttend& o) {
  if (o.tokens) return attend_to_tokens(o);
  const float *q = in(o.q), *q_rope = in(o.q_rope);
  float* y = out(o.y);
  const int rank = o.cache.latent, rope = o.cache.head_dim - rank;
  attend(
      o, o.q.cols / rank, o.scale, nullptr,
      [&](int row, int head, float* to) {
        std::copy_n(q + row * o.q.stride + head * rank, rank, to);
        std::copy_n(q_rope + row * o.q_rope.stride + head * rope, rope, to + rank);
      },
      [&](int row, int head) { return y + row * o.y.stride + head * rank; });
}

void CpuBackend::run(const ExpandedAttend& o) {
  const LatentAttention& l = o.dims;
  const float *q = read_only(o.q), *q_rope = in(o.q_rope), *kv = read_only(o.kv), *k_rope = read_only(o.k_rope);
  const PassView p = view(o.pass);
  float* y = out(o.y);
  const int heads = o.q_rope.cols / l.rope_dim, d = l.nope_dim + l.rope_dim, expanded = l.nope_dim + l.value_dim;
  counts_.read += bytes_of(o.q.dtype, 1.0 * o.q.rows * heads * l.nope_dim).value;
  std::vector<float> score;
  for (int b = 0; b < p.pass.rows.sequences(); ++b)
    for (int first = p.cu_seqlens[b], r = first; r < p.cu_seqlens[b + 1]; ++r) {
      counts_.read += bytes_of(o.kv.dtype, 1.0 * heads * (d + l.value_dim)).value;
      score.resize(at(r - first + 1));
      for (int h = 0; h < heads; ++h) {
        const float *own = q + r * o.q.stride + h * d, *turned = q_rope + r * o.q_rope.stride + h * l.rope_dim;
        for (int j = first; j <= r; ++j)
          score[at(j - first)] = o.scale * (dot(own, kv + j * o.kv.stride + h * expanded, l.nope_dim) +
                                            dot(turned, k_rope + j * o.k_rope.stride, l.rope_dim));
        softmax(score);
        float* to = y + r * o.y.stride + h * l.value_dim;
        std::fill_n(to, l.value_dim, 0.0F);
        for (int j = first; j <= r; ++j) {
          const float* value = kv + j * o.kv.stride + h * expanded + l.nope_dim;
          for (int c = 0; c < l.value_dim; ++c) to[c] += score[at(j - first)] * value[c];
        }
        counts_.flops += 2.0 * (d + l.value_dim) * (r - first + 1);
      }
    }
}

void CpuBackend::run(const GroupAttend& o) {
  const float *q = in(o.q), *k = in(o.k), *v = in(o.v);
  float* y = out(o.y);
  const int d = o.head_dim, heads = o.q.cols / d, group = heads / (o.k.cols / d);
  const float scale = 1 / std::sqrt(single(d));
  std::vector<float> score;
  for (int r = 0; r < o.q.rows; ++r) {
    const int first = r / o.group * o.group, keys = o.causal ? r - first + 1 : o.group;
    score.resize(at(keys));
    for (int h = 0; h < heads; ++h) {
      const int column = h / group * d;
      for (int j = 0; j < keys; ++j)
        score[at(j)] = dot(q + r * o.q.stride + h * d, k + (first + j) * o.k.stride + column, d) * scale;
      softmax(score);
      float* to = y + r * o.y.stride + h * d;
      std::fill_n(to, d, 0.0F);
      for (int j = 0; j < keys; ++j)
        for (int c = 0; c < d; ++c) to[c] += score[at(j)] * v[(first + j) * o.v.stride + column + c];
      counts_.flops += 4.0 * d * keys;
    }
  }
}

}  // namespace draftline
