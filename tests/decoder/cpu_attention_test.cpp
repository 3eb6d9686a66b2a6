// SPDX-License-Identifier: Apache-2.0
// Attention of the CPU interpreter, bit for bit that of one row, one head and one key after the other.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "core/rng.h"
#include "decoder/cpu/backend.h"
#include "decoder/ops.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

class Sinks : public WeightSource {  // the only weights
 public:
  void load(const std::string&, int, int, std::span<float> to) override {
    std::copy_n(values.begin(), to.size(), to.begin());
  }
  std::vector<float> values;
};

// Sequences of their own lengths, in kv_slots of their own, with one layer beside the one that is used.
struct Attending {
  int heads, kv_heads, dim;
  std::vector<int> lengths, rows;
  bool tree;
  Window window = {};
  std::vector<float> sinks = {};  // of each head; none: there are none
  double scale = 0;               // 0: the usual one
};

constexpr int kLayers = 2, kLayer = 1;

struct Bench {
  Attending c;
  Sinks weights;
  WeightStore store{DType::fp32};
  CpuBackend backend{store, weights};
  Ops ops{backend, DType::fp32, 8};
  Rng rng{7, "cpu attention"};
  std::vector<int> kv_slots, cu_seqlens{0};
  Cache cache;
  BatchSlots slots;

  explicit Bench(const Attending& asked) : c(asked) {
    const int most = *std::max_element(c.lengths.begin(), c.lengths.end()),
              widest = *std::max_element(c.rows.begin(), c.rows.end());
    cache = ops.cache(kLayers, c.kv_heads, c.dim, most + widest + 3, c.window);
    weights.values = c.sinks;
    slots = {ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
             ops.persistent_per_slot("lengths", 1, 1, DType::int32),
             ops.persistent_per_slot("ids", 1, 1, DType::int32)};
    slots.kv_slots.rows = slots.lengths.rows = slots.ids.rows = static_cast<int>(c.rows.size());
    for (std::size_t b = 0; b < c.rows.size(); ++b) {
      kv_slots.push_back(static_cast<int>(b * 3 % 7));
      cu_seqlens.push_back(cu_seqlens.back() + c.rows[b]);
    }
    ops.upload(slots.kv_slots, kv_slots);
    ops.upload(slots.ids, kv_slots);
  }
  std::vector<float> normal(int rows, int columns) {
    std::vector<float> x;
    for (int i = 0; i < rows * columns; ++i) x.push_back(static_cast<float>(4 * rng.uniform() - 2));
    return x;
  }
  Tensor floats(const std::string& name, const std::vector<float>& values, int columns) {
    std::vector<int> bits;
    for (const float v : values) bits.push_back(std::bit_cast<int>(v));
    const Tensor t = ops.persistent(name, static_cast<int>(values.size()) / columns, columns, DType::fp32);
    ops.upload(t, bits);
    return t;
  }
  Tensor keep(const std::string& name, const Tensor& t) {
    const Tensor kept = ops.persistent(name, t.rows, t.cols, DType::fp32);
    ops.store(kept, t);
    ops.flush();
    return kept;
  }
  // Appends rows behind `lengths`; their queries in a persistent buffer, rotated by nothing.
  Tensor append(const std::string& name, const std::vector<int>& each, const std::vector<int>& lengths,
                std::optional<Tensor> tree_mask) {
    const int total = std::accumulate(each.begin(), each.end(), 0), kv = c.kv_heads * c.dim;
    const Tensor q = floats("q" + name, normal(total, c.heads * c.dim), c.heads * c.dim),
                 k = floats("k" + name, normal(total, kv), kv), v = floats("v" + name, normal(total, kv), kv);
    ops.upload(slots.lengths, lengths);
    ops.flush();
    return keep("kept q" + name,
                ops.rope_append(q, k, v, Rope{10000, 0, {}},
                                {ops.pass({ops.ragged(name, each), slots, tree_mask}), cache, kLayer}));
  }
  // Row i of a sequence attends to itself and, of the rows before it, every second one.
  static bool visible(int row, int tail) { return tail == row || (tail < row && (row - tail) % 2 == 0); }
};

std::vector<float> row_by_row(Bench& b, const std::vector<float>& q) {
  const Attending& c = b.c;
  const float scale = c.scale > 0 ? static_cast<float>(c.scale) : 1 / std::sqrt(static_cast<float>(c.dim));
  std::vector<float> y;
  for (std::size_t s = 0; s < c.rows.size(); ++s) {
    std::vector<std::vector<float>> entries;
    for (int key = 0; key < c.lengths[s] + c.rows[s]; ++key)
      entries.push_back(b.backend.cache_entry(b.cache, kLayer, b.kv_slots[s], key));
    for (int i = 0; i < c.rows[s]; ++i)
      for (int h = 0; h < c.heads; ++h) {
        const int at = h / (c.heads / c.kv_heads) * c.dim, v_at = at + c.kv_heads * c.dim;
        const float* query = q.data() + ((b.cu_seqlens[s] + i) * c.heads + h) * c.dim;
        const int keys = c.lengths[s] + (c.tree ? c.rows[s] : i + 1);
        std::vector<float> score;
        for (int key = 0; key < keys; ++key) {
          float sum = 0;
          for (int d = 0; d < c.dim; ++d)
            sum += query[d] * entries[static_cast<std::size_t>(key)][static_cast<std::size_t>(at + d)];
          const int tail = key - c.lengths[s];
          const bool other_branch = tail >= 0 && c.tree && !Bench::visible(i, tail);
          // In a tree, row i follows i / 2 others of its own branch, and so does its text.
          const auto position = [&](int entry) { return c.tree && entry >= 0 ? entry / 2 : entry; };
          const bool before = position(tail) + c.lengths[s] < c.window.first_key(c.lengths[s] + position(i));
          score.push_back(other_branch || before ? -INFINITY : sum * scale);
        }
        float top = *std::max_element(score.begin(), score.end());
        if (!c.sinks.empty()) top = std::max(top, c.sinks[static_cast<std::size_t>(h)]);
        float sum = 0;
        for (float& x : score) sum += x = std::exp(x - top);
        if (!c.sinks.empty()) sum += std::exp(c.sinks[static_cast<std::size_t>(h)] - top);
        for (float& x : score) x /= sum;
        for (int d = 0; d < c.dim; ++d) {
          float value = 0;
          for (int key = 0; key < keys; ++key)
            value += score[static_cast<std::size_t>(key)] *
                     entries[static_cast<std::size_t>(key)][static_cast<std::size_t>(v_at + d)];
          y.push_back(value);
        }
      }
  }
  return y;
}

void check_bits(const Attending& attending) {
  Bench b(attending);
  const std::vector<int>&lengths = attending.lengths, &rows = attending.rows;
  INFO(b.c.heads << " heads, " << b.c.kv_heads << " KV heads of " << b.c.dim << ", rows " << rows[0] << ", lengths "
                 << lengths[0] << (b.c.tree ? ", a tree" : "") << ", a window of " << b.c.window.tokens
                 << (b.c.window.chunked ? " in chunks" : ""));
  const std::vector<int> nothing(lengths.size(), 0);
  if (*std::max_element(lengths.begin(), lengths.end()) > 0) b.append("context", lengths, nothing, {});
  b.ops.flush();
  const int widest = *std::max_element(rows.begin(), rows.end()), words = (widest + 31) / 32;
  std::optional<Tensor> tree_mask;
  if (b.c.tree) {
    std::vector<int> all;
    for (const int n : rows)
      for (int i = 0; i < n; ++i)
        for (int w = 0; w < words; ++w) {
          unsigned word = 0;
          for (int bit = 0; bit < 32; ++bit) word |= (Bench::visible(i, 32 * w + bit) ? 1U : 0U) << bit;
          all.push_back(static_cast<int>(word));
        }
    const Tensor flat = b.ops.constant(all, words);
    tree_mask = reshape(flat, b.cu_seqlens.back(), words);
  }
  const Tensor q = b.append("rows", rows, lengths, tree_mask);
  std::optional<Weight> sinks;
  if (!b.c.sinks.empty()) sinks = b.store.vector("sinks", b.c.heads);
  const auto scale = b.c.scale > 0 ? std::optional(b.c.scale) : std::nullopt;
  const PassRef pass = b.ops.pass({b.ops.ragged("rows", rows), b.slots, tree_mask});
  const Tensor y = b.ops.attend(q, {pass, b.cache, kLayer}, scale, sinks);
  const auto result = b.backend.read_floats(b.keep("kept", y)), expected = row_by_row(b, b.backend.read_floats(q));
  REQUIRE(result.size() == expected.size());
  CHECK(std::memcmp(result.data(), expected.data(), result.size() * sizeof(float)) == 0);
}

}  // namespace

TEST_CASE("attention on the CPU has the bits of one row after the other") {
  const auto heads = GENERATE(std::array{1, 1, 8}, std::array{2, 2, 64}, std::array{6, 2, 20}, std::array{8, 1, 33},
                              std::array{7, 7, 128});
  const auto shape = GENERATE(std::pair{std::vector{0}, std::vector{1}},                 // a first token
                              std::pair{std::vector{15, 16, 17}, std::vector{1, 1, 1}},  // at and beside a panel's end
                              std::pair{std::vector{63, 64, 200}, std::vector{2, 0, 3}},
                              std::pair{std::vector{0, 130}, std::vector{37, 9}});  // a prompt and a verification
  check_bits({heads[0], heads[1], heads[2], shape.first, shape.second, GENERATE(false, true)});
}

TEST_CASE("attention over a window or a chunk has the bits of one row after the other, with sinks and a scale too") {
  const auto shape = GENERATE(std::pair{std::vector{15, 16, 17}, std::vector{1, 1, 1}},
                              std::pair{std::vector{63, 64, 200}, std::vector{2, 0, 3}},
                              std::pair{std::vector{0, 130}, std::vector{37, 9}});
  const Window window{GENERATE(1, 3, 16, 33, 64), GENERATE(false, true)};
  const bool tree = GENERATE(false, true);
  check_bits({4, 2, 20, shape.first, shape.second, tree, window});
  check_bits({4, 2, 20, shape.first, shape.second, tree, window, {0.5F, -1, 3, 0}, 0.125});
}

TEST_CASE("a committed path moves keys and values of all heads, and nothing else") {
  // Of 5 rows behind a context of 14 the path is 0, 2, 4: entries 14, 16, 18 become 14, 15, 16, across a panel's end.
  Bench b({4, 2, 20, {14}, {5}, false});
  b.append("context", {14}, {0}, {});
  b.append("rows", {5}, {14}, {});
  b.ops.flush();
  std::vector<std::vector<float>> before;
  for (int key = 0; key < 19; ++key) before.push_back(b.backend.cache_entry(b.cache, kLayer, b.kv_slots[0], key));
  CHECK(std::none_of(before[3].begin(), before[3].end(), [](float x) { return std::isnan(x); }));
  const Tensor path = b.ops.persistent("path", 3, 1, DType::int32);
  b.ops.upload(path, std::vector<int>{0, 2, 4});
  b.ops.flush();
  b.ops.commit(b.cache, path, b.ops.ragged("rows", {5}), b.slots);
  b.ops.flush();
  for (int key = 0; key < 19; ++key) {
    INFO(key);
    const int from = key == 15 ? 16 : key == 16 ? 18 : key;
    CHECK(b.backend.cache_entry(b.cache, kLayer, b.kv_slots[0], key) == before[static_cast<std::size_t>(from)]);
  }
  CHECK(std::isnan(b.backend.cache_entry(b.cache, 0, b.kv_slots[0], 3)[0]));  // the other layer was never written
}
