// SPDX-License-Identifier: Apache-2.0
// Caches that keep a part of a text: what is put into them, and which entries of a prompt are chosen.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/int_indexed.h"
#include "decoder/cpu/backend.h"

namespace draftline {

namespace {

// The position of the i-th of `rows` entries, of n committed ones behind a text of that length.
int kept_position(int i, int rows, int n, int length, int sinks) {
  if (n <= rows) return length + std::min(i, n - 1);
  return length + (i < sinks ? i : n - rows + i);
}

// The mean over `width` neighbours in the middle of which it lies; those outside count as zeros.
std::vector<float> pooled(const std::vector<float>& x, int width) {
  const int n = count(x), before = width / 2;
  std::vector<float> y(x.size());
  for (int i = 0; i < n; ++i) {
    float sum = 0;
    for (int j = std::max(0, i - before); j < std::min(n, i - before + width); ++j) sum += x[at(j)];
    y[at(i)] = sum / single(width);
  }
  return y;
}

// Adds the weights with which a row at `position` attends to the first entries.
void add_weights(std::vector<float> score, std::vector<float>& sum) {
  const float top = *std::max_element(score.begin(), score.end());
  float all = 0;
  for (float& s : score) all += s = std::exp(s - top);
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += score[i] / all;
}

}  // namespace

void CpuBackend::run(const KeepEntries& o) {
  const int *last = ids(o.last), *cu_seqlens = ids(o.cu_seqlens), *kv_slot = ids(o.kv_slots), *length = ids(o.lengths);
  const Window& ring = o.to.window;
  const CpuCache& from = held(o.from);
  CpuCache& to = held(o.to);
  for (int layer = 0; layer < o.from.layers; ++layer)
    for (int b = 0; b < o.last.rows; ++b)
      for (int i = 0; i < o.rows; ++i) {
        const int position = kept_position(i, o.rows, last[b] - cu_seqlens[b] + 1, length[b], ring.sinks);
        for (int head = 0; head < o.from.kv_heads; ++head)
          to.copy(layer, kv_slot[b], head, ring.entry(position), from, position);
        counts_.read += o.from.row_bytes().value;
        counts_.written += o.from.row_bytes().value;
      }
}

void CpuBackend::run(const SelectEntries& o) {
  const float* q = read_only(o.q);
  const PassView p = view(o.pass);
  const CpuCache& from = held(o.from);
  CpuCache& to = held(o.to);
  const Window& ring = o.to.window;
  const int d = o.from.head_dim, kv_heads = o.from.kv_heads, group = o.q.cols / d / kv_heads;
  for (int b = 0; b < p.pass.rows.sequences(); ++b) {
    const int first = p.cu_seqlens[b], n = p.cu_seqlens[b + 1] - first, window = std::min(o.window, n),
              old = n - window;
    counts_.read += window * bytes_of(o.q.dtype, o.q.cols).value + n * bytes_of(o.from.dtype, kv_heads * d).value;
    counts_.flops += 2.0 * window * o.q.cols * n;
    counts_.read += ring.tokens * o.to.row_bytes().value;
    counts_.written += ring.tokens * o.to.row_bytes().value;
    for (int head = 0; head < kv_heads; ++head) {
      std::vector<float> weights(at(old));
      std::vector<std::vector<float>> keys;
      for (int j = 0; j < n; ++j) {
        const std::vector<float> entry = from.entry(o.layer, p.kv_slots[b], j);
        keys.emplace_back(entry.begin() + head * d, entry.begin() + (head + 1) * d);
      }
      for (int row = old; row < n; ++row)
        for (int h = head * group; h < (head + 1) * group; ++h) {
          const float* query = q + (first + row) * o.q.stride + h * d;
          std::vector<float> score;
          for (int j = 0; j <= row; ++j)
            score.push_back(o.scale * std::inner_product(query, query + d, keys[at(j)].begin(), 0.0F));
          add_weights(score, weights);
        }
      // The chosen ones, best first; entries are overwritten in the order of their places behind the text's end.
      std::vector<int> chosen(at(old));
      std::iota(chosen.begin(), chosen.end(), 0);
      if (n > ring.tokens) {
        const std::vector<float> mean = pooled(weights, o.pool);
        const auto weight = [&](int j) { return mean[at(j)]; };
        std::stable_sort(chosen.begin(), chosen.end(), [&](int i, int j) { return weight(i) > weight(j); });
        chosen.resize(at(ring.tokens - window));
      }
      const int room = count(chosen);
      for (int i = 0; i < room; ++i) {
        const int place = n > ring.tokens ? ring.entry(n + room - 1 - i) : i;
        to.copy(o.layer, p.kv_slots[b], head, place, from, chosen[at(i)]);
      }
      for (int j = old; j < n; ++j) to.copy(o.layer, p.kv_slots[b], head, ring.entry(j), from, j);
    }
  }
}

}  // namespace draftline
