// SPDX-License-Identifier: Apache-2.0
// Attention against the CPU backend: decode, prefill, chains and trees, ragged batches, long contexts in many splits.
#include "decoder/cuda/attention/attention.h"

#include "model/kernels/context_splits.h"
#include "tests/catch.h"
#include "tests/emulator/op_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

struct Case {
  const char* name;
  std::vector<int> lengths, rows;  // of each sequence
  int heads, kv_heads, dim;
  bool tree = false;
  int tail = 0;  // entries before this pass's rows
  int sms = 8;   // more: more splits
  unsigned seed = 1;
  Window window = {};
  bool sinks = false;
  bool block = false;  // all rows attend to each other
  int value_dim = dim;
};

// fp32: the order of additions alone. bf16: also the weights of the softmax and the results are rounded to 8 bits.
template <class T>
constexpr double kAttentionTolerance = std::is_same_v<T, float> ? 2e-5 : 1.0 / 128;

constexpr float kScale = 0.2F;

struct Outcome {
  double distance;
  int splits;
};

template <class T>
Outcome compare(const Case& c, int layers = 2, int layer = 1) {
  Dice dice(c.seed);
  const int sequences = static_cast<int>(c.lengths.size());
  int total = 0, widest = 0, capacity = 0;
  std::vector<int> kv_slots, cu_seqlens{0};
  for (int b = 0; b < sequences; ++b) {
    const auto at = static_cast<std::size_t>(b);
    total += c.rows[at];
    widest = std::max(widest, c.rows[at]);
    capacity = std::max(capacity, c.lengths[at] + c.tail + c.rows[at]);
    cu_seqlens.push_back(total);
    kv_slots.push_back((b * 5 + 2) % sequences);
  }
  std::iota(kv_slots.begin(), kv_slots.end(), 0);
  std::shuffle(kv_slots.begin(), kv_slots.end(), dice.engine);
  const std::vector<int> kv_each(static_cast<std::size_t>(sequences), 0);

  Specification cpu(sequences);
  Ops& ops = cpu.ops;
  const Cache cache = ops.cache(layers, c.kv_heads, c.dim, capacity, c.window, c.value_dim);
  const BatchSlots slots{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                         ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                         ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  ops.upload(slots.kv_slots, kv_slots);
  ops.upload(slots.ids, kv_slots);
  const Rope still{10000, 0, {}};
  const auto append = [&](const std::vector<int>& each, const std::vector<int>& lengths, int tail) {
    const int n = std::accumulate(each.begin(), each.end(), 0);
    if (n == 0) return;
    ops.upload(slots.lengths, lengths);
    const auto normal = [&](int columns) {
      return cpu.floats(dice.normal<T>(static_cast<std::size_t>(n) * static_cast<std::size_t>(columns)), columns);
    };
    const Tensor k = normal(c.kv_heads * c.dim), v = normal(c.kv_heads * c.value_dim);
    const Rows rows = ops.ragged("append" + std::to_string(n) + "/" + std::to_string(tail), each);
    ops.rope_append(k, k, v, still, {ops.pass({rows, slots, {}, tail}), cache, layer});
    ops.flush();
  };
  append(c.lengths, kv_each, 0);
  append(std::vector<int>(static_cast<std::size_t>(sequences), c.tail), c.lengths, 0);
  append(c.rows, c.lengths, c.tail);
  ops.upload(slots.lengths, c.lengths);

  const int words = (c.tail + widest + 31) / 32;
  std::vector<int> tree_mask;
  for (int b = 0; b < sequences; ++b)
    for (int i = 0; i < c.rows[static_cast<std::size_t>(b)]; ++i)
      for (int w = 0; w < words; ++w) {
        unsigned word = 0;
        for (int bit = 0; bit < 32; ++bit) {
          const int entry = 32 * w + bit;
          if (entry == c.tail + i || (entry < c.tail + i && dice.below(2) == 0)) word |= 1U << bit;
        }
        tree_mask.push_back(static_cast<int>(word));
      }
  const auto queries = dice.normal<T>(static_cast<std::size_t>(total) * static_cast<std::size_t>(c.heads * c.dim), 2);
  std::optional<Tensor> mask;
  if (c.tree) mask = cpu.ints(tree_mask, words);
  const Tensor q = cpu.floats(queries, c.heads * c.dim);
  std::optional<Weight> sinks;
  if (c.sinks) sinks = cpu.store.vector("sinks", c.heads);
  const PassRef ref = ops.pass(
      {.rows = ops.ragged("rows", c.rows), .slots = slots, .tree_mask = mask, .tail = c.tail, .causal = !c.block});
  const Tensor y = cpu.keep(ops.attend(q, {ref, cache, layer}, kScale, sinks));
  ops.flush();
  const auto expected = cpu.floats_of(y);

  // The same cache in blocks that lie about at random; what is not used stays NaN.
  const int per_kv_slot = ceil_div(capacity, kBlockTokens), blocks = sequences * per_kv_slot + 3;
  std::vector<int> table(static_cast<std::size_t>(blocks));
  std::iota(table.begin(), table.end(), 0);
  std::shuffle(table.begin(), table.end(), dice.engine);
  table.resize(static_cast<std::size_t>(sequences * per_kv_slot));
  const auto entries = static_cast<std::size_t>(layers * blocks * c.kv_heads * kBlockTokens * (c.dim + c.value_dim));
  std::vector<T> held(entries, from_float<T>(NAN));
  CacheView<T> view{held.data(),   table.data(), per_kv_slot, blocks,
                    c.kv_heads,    c.dim,        c.value_dim, c.window.ring ? c.window.tokens : 0,
                    c.window.sinks};
  for (int b = 0; b < sequences; ++b) {
    const auto at = static_cast<std::size_t>(b);
    for (int key = 0; key < c.lengths[at] + c.tail + c.rows[at]; ++key) {
      const auto entry = cpu.backend.cache_entry(cache, layer, kv_slots[at], key);
      const float* from = entry.data();
      for (int kv = 0; kv < 2; ++kv)
        for (int head = 0; head < c.kv_heads; ++head)
          for (int column = 0; column < view.columns(kv); ++column)
            view.entry(layer, kv_slots[at], key, kv, head)[column] = from_float<T>(*from++);
    }
  }
  const Array<T> cache_data(held, c.dim + c.value_dim);
  const Array<int> blocks_data(table, 1), cu_seqlens_data(cu_seqlens, 1), lengths_data(c.lengths, 1),
      kv_slots_data(kv_slots, 1), tree_mask_data(tree_mask, words);
  view.data = cache_data.view().data;
  view.blocks = blocks_data.view().data;
  const Stream stream;
  OpRunner d(stream);
  Pass pass{.rows = {.cu_seqlens = d(cu_seqlens_data), .total = total, .widest = widest},
            .slots = {d(kv_slots_data), d(lengths_data), d(kv_slots_data)},
            .tail = c.tail,
            .causal = !c.block};
  if (c.tree) pass.tree_mask = d(tree_mask_data);
  const Array<T> q_data(queries, c.heads * c.dim), y_data(total, c.heads * c.value_dim);
  std::vector<float> sink_values(static_cast<std::size_t>(c.heads));
  if (sinks) cpu.weights.load("sinks", 1, c.heads, sink_values);
  const Array<T> sink_data(sink_values, c.heads);
  if (sinks) sinks = d.weight(sink_data);
  const AttendShape shape{sequences, widest, c.heads, c.kv_heads, c.dim, c.value_dim, per_kv_slot * kBlockTokens,
                          c.sms};
  const Workspace work(attend_scratch<T>(shape));
  d.with.scratch = work.scratch();
  d.with.multiprocessors = c.sms;
  const Attend attend{d(q_data), d.pass(pass), d.cache(cache, view), layer, kScale, sinks, d(y_data)};
  CHECK(d.scratch_bytes<T>(attend) == work.buffer.bytes());
  double worst = 0;
  for (int again = 0; again < 2; ++again) {  // the counters are left as they were found
    d.run<T>(attend);
    stream.wait();
    worst = std::max(worst, distance(y_data.floats(), expected, 1));
  }
  return {worst, plan_attend<T>(shape).splits};
}

void check_case(const Case& c) {
  INFO(c.name << ", head of " << c.dim << ", " << c.heads << "/" << c.kv_heads << " heads");
  const Outcome single = compare<float>(c), half = compare<bf16>(c);
  CHECK(single.distance < kAttentionTolerance<float>);
  CHECK(half.distance < kAttentionTolerance<bf16>);
}

}  // namespace

TEST_CASE("attention of one row over the cache is the CPU's") {
  NEEDS_DEVICE;
  const int dim = GENERATE(8, 16, 32, 64, 80, 96, 128, 256, 40);
  check_case({"decode", {37}, {1}, 4, 2, dim});
}

TEST_CASE("values may have fewer columns than keys, or more") {
  NEEDS_DEVICE;
  Case c{"values", {300, 20}, {3, 3}, 4, 2, GENERATE(192, 24), GENERATE(false, true), 2, 16};
  c.value_dim = c.dim == 192 ? 128 : GENERATE(16, 40);
  check_case(c);
  c.rows = {40, 1};
  c.window = {30};
  c.sinks = true;
  check_case(c);
}

TEST_CASE("every share of query heads and KV heads attends alike") {
  NEEDS_DEVICE;
  const int group = GENERATE(1, 2, 3, 4, 5, 8, 20);
  check_case({"decode", {70, 3}, {1, 1}, 2 * group, 2, 32});
  check_case({"verify", {70, 3}, {5, 5}, group, 1, 32, true});
}

TEST_CASE("a long context is split, and its parts join to the whole") {
  NEEDS_DEVICE;
  const int length = GENERATE(127, 128, 129, 255, 511, 700, 1031);
  const Case c{"splits", {length}, {1}, 2, 1, 16, false, 0, 64};
  check_case(c);
  if (length > 256) {
    CHECK(compare<float>(c).splits > 2);
    CHECK(compare<bf16>(c).splits > 2);
  }
  check_case({"verify in splits", {length, 20}, {7, 7}, 4, 2, 16, true, 0, 64});
}

TEST_CASE("kernels are planned as they are priced: tiles, CTAs that run at once, parts of a context") {
  const int heads = GENERATE(8, 32), dim = GENERATE(64, 96, 128), sequences = GENERATE(1, 4, 30);
  constexpr int kKvHeads = 8, kSms = 132;
  for (const int rows : {1, 4, 5, 16, 40})
    for (const int capacity : {64, 1024, 9000}) {
      const AttendPlan plan = plan_attend<bf16>({.sequences = sequences,
                                                 .widest = rows,
                                                 .heads = heads,
                                                 .kv_heads = kKvHeads,
                                                 .head_dim = dim,
                                                 .value_dim = dim,
                                                 .capacity = capacity,
                                                 .sms = kSms});
      const int stacked = rows * heads / kKvHeads, tile = stacked <= kFewRows ? kFewRows : kManyRows;
      CHECK(plan.tile_rows == tile);
      CHECK(plan.splits ==
            splits_for(sequences * kKvHeads * ceil_div(stacked, tile), ctas_at_once(dim, tile) * kSms, capacity));
    }
}

TEST_CASE("contexts are split to fill the device, in whole waves, and not where there are many waves anyway") {
  const auto splits = [](int sequences, int rows, int capacity) {
    return plan_attend<bf16>({.sequences = sequences,
                              .widest = rows,
                              .heads = 32,
                              .kv_heads = 8,
                              .head_dim = 128,
                              .value_dim = 128,
                              .capacity = capacity,
                              .sms = 132})
        .splits;
  };
  CHECK(splits(1, 1, 128) == 1);
  CHECK(splits(1, 1, 4096) == 32);              // of 128 keys: all there are
  CHECK(8 * splits(1, 1, 1 << 17) <= 3 * 132);  // one wave, nearly whole
  CHECK(8 * splits(1, 1, 1 << 17) > 0.95 * 3 * 132);
  CHECK(8 * splits(1, 16, 1 << 17) <= 2 * 132);  // tiles of many rows of wide heads
  CHECK(splits(64, 1, 4096) > 1);                // 1.3 waves would be paid as two
  CHECK(splits(128, 1, 1 << 17) == 1);
}

TEST_CASE("prefill is causal, from nothing and behind a chunk") {
  NEEDS_DEVICE;
  check_case({"prefill", {0}, {75}, 2, 1, 32});
  check_case({"chunk", {50}, {40}, 4, 4, 16});
  check_case({"long chunk", {140}, {130}, 2, 2, 16, false, 0, 32});
}

TEST_CASE("rows of a tree see their own line of the tail alone") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 2, 15, 16, 17, 31, 33, 64);
  check_case({"tree", {20, 64}, {rows, rows}, 4, 2, 32, true});
  check_case({"chain", {20, 64}, {rows, rows}, 4, 2, 32});
}

TEST_CASE("a pass behind an uncommitted tail sees the tail as its mask says") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  check_case({"tail", {19, 130}, {3, 3}, 4, 2, 32, tree, 5});
  check_case({"long tail", {19, 130}, {6, 6}, 4, 2, 16, tree, 40});
}

TEST_CASE("rows of a block see each other, before and behind them") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 2, 16, 33), dim = GENERATE(32, 128);
  Case c{"block", {20, 150, 0}, {rows, rows, rows}, 4, 2, dim};
  c.block = true;
  check_case(c);
  c.window = {40};  // all of them see what the first does
  check_case(c);
}

TEST_CASE("a ring is read whole, however long its text is") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  const Window ring{.tokens = GENERATE(4, 33, 150), .ring = true};
  check_case({"ring", {37, 3, 300}, {1, 1, 1}, 4, 2, 32, tree, 3, 8, 1, ring});
  check_case({"rows behind a ring", {140, 5}, {4, 2}, 4, 1, 64, tree, 2, 64, 1, ring});
}

TEST_CASE("sequences of a batch may have many rows, one, or none") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  check_case({"ragged", {33, 0, 150, 7}, {1, 9, 0, 40}, 4, 2, 32, tree});
  check_case({"idle", {5, 5, 5}, {0, 1, 0}, 2, 1, 64, tree});
}

TEST_CASE("heads of every size verify long contexts") {
  NEEDS_DEVICE;
  const int dim = GENERATE(64, 128, 256);
  check_case({"wide", {300}, {9}, 8, 2, dim, true, 0, 16});
  check_case({"narrow", {200}, {2}, 8, 1, dim, false, 0, 16});
}

TEST_CASE("rows see a window, or their chunk, and no split reads what lies before it") {
  NEEDS_DEVICE;
  const Window window{GENERATE(1, 7, 16, 100), GENERATE(false, true)};
  const bool tree = GENERATE(false, true), sinks = GENERATE(false, true);
  INFO(window.tokens << (window.chunked ? " in a chunk" : " sliding") << (tree ? ", a tree" : ""));
  check_case({"windows", {37, 0, 15, 300}, {5, 9, 1, 3}, 4, 2, 32, tree, 0, 64, 1, window, sinks});
  check_case({"windows behind a tail", {19, 130}, {6, 6}, 4, 1, 64, tree, 9, 8, 1, window, sinks});
  check_case({"a head without tiles", {19, 130}, {6, 2}, 4, 2, 24, tree, 3, 8, 1, window, sinks});
}

TEST_CASE("rows of a group attend to each other as on the CPU") {
  NEEDS_DEVICE;
  const bool causal = GENERATE(false, true);
  const int group = GENERATE(1, 3, 8, 40), kv_heads = GENERATE(1, 4), heads = 4, dim = GENERATE(8, 64, 100),
            rows = 3 * group;
  Dice dice(7);
  const auto values = [&](int columns) {
    return dice.normal<bf16>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  };
  const auto q = values(heads * dim), k = values(kv_heads * dim), v = values(kv_heads * dim);
  Specification cpu(1);
  const Tensor y = cpu.keep(cpu.ops.group_attend(cpu.floats(q, heads * dim), cpu.floats(k, kv_heads * dim),
                                                 cpu.floats(v, kv_heads * dim), group, dim, causal));
  cpu.ops.flush();
  const auto run = [&]<class T>(T) {
    const Array<T> q_data(q, heads * dim), k_data(k, kv_heads * dim), v_data(v, kv_heads * dim), out(rows, heads * dim);
    const Stream stream;
    OpRunner d(stream);
    d.run<T>(GroupAttend{d(q_data), d(k_data), d(v_data), group, dim, causal, d(out)});
    stream.wait();
    return distance(out.floats(), cpu.floats_of(y), 1);
  };
  CHECK(run(float{}) < kAttentionTolerance<float>);
  CHECK(run(bf16{}) < kAttentionTolerance<bf16>);
}
