// SPDX-License-Identifier: Apache-2.0
// Latent attention against the CPU backend: the absorbed form over the cache (decode, chains and trees, ragged batches,
// contexts in many splits), the expanded one among prompts, the products with each head's part of a matrix, and what is
// appended to the cache.
#include "decoder/cuda/attention/latent_attention.h"

#include "decoder/cuda/cache/latent_append.h"
#include "decoder/cuda/gemm/head_products.h"
#include "decoder/rope.h"
#include "tests/catch.h"
#include "tests/emulator/op_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// fp32: the order of additions alone. bf16: also the weights of the softmax and the results are rounded to 8 bits.
template <class T>
constexpr double kTolerance = std::is_same_v<T, float> ? 2e-5 : 1.0 / 128;

constexpr float kScale = 0.1F;

std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

std::size_t shared_of_device() {
  int bytes = 0;
  must(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "shared memory of a block");
  return static_cast<std::size_t>(bytes);
}

// Sequences of a batch on both sides: rows of a pass, behind `lengths` committed entries and a tail.
struct Batch {
  std::vector<int> lengths, rows;
  int tail = 0;
  bool tree = false;

  int sequences() const { return static_cast<int>(rows.size()); }
  int total() const { return std::accumulate(rows.begin(), rows.end(), 0); }
  int widest() const { return *std::max_element(rows.begin(), rows.end()); }
  int words() const { return (tail + widest() + 31) / 32; }
  std::vector<int> all_entries() const {
    std::vector<int> n;
    for (std::size_t b = 0; b < rows.size(); ++b) n.push_back(lengths[b] + tail + rows[b]);
    return n;
  }
  std::vector<int> cu_seqlens() const {
    std::vector<int> all{0};
    for (const int n : rows) all.push_back(all.back() + n);
    return all;
  }
  std::vector<int> reversed_slots() const {
    std::vector<int> slots(rows.size());
    std::iota(slots.rbegin(), slots.rend(), 0);
    return slots;
  }
  std::vector<int> mask(Dice& dice) const {
    std::vector<int> all;
    for (const int n : rows)
      for (int i = 0; i < n; ++i)
        for (int w = 0; w < words(); ++w) {
          unsigned word = 0;
          for (int bit = 0; bit < 32; ++bit) {
            const int entry = 32 * w + bit;
            if (entry == tail + i || (entry < tail + i && dice.below(2) == 0)) word |= 1U << bit;
          }
          all.push_back(static_cast<int>(word));
        }
    return all;
  }
};
BatchSlots slots_of(Ops& ops) {
  return {ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
          ops.persistent_per_slot("lengths", 1, 1, DType::int32), ops.persistent_per_slot("ids", 1, 1, DType::int32)};
}
// What a kernel is told of a batch.
struct DevicePass {
  explicit DevicePass(const Batch& b, const std::vector<int>& mask = {})
      : cu_seqlens(b.cu_seqlens(), 1),
        lengths(b.lengths, 1),
        slots(b.reversed_slots(), 1),
        tree_mask(mask, b.words()),
        view{cu_seqlens.read(),
             {slots.read(), lengths.read(), slots.read()},
             {},
             b.sequences(),
             b.total(),
             b.widest(),
             b.tail} {
    if (b.tree) view.tree_mask = tree_mask.read();
  }
  Array<int> cu_seqlens, lengths, slots, tree_mask;
  PassView view;
};
// A cache in blocks that lie about; what is not used stays NaN.
template <class T>
struct Pages {
  Pages(int layers, int slots, int capacity, int columns, Dice& dice) : per_slot(ceil_div(capacity, kBlockTokens)) {
    table.resize(product(slots, per_slot) + 3);
    std::iota(table.begin(), table.end(), 0);
    std::shuffle(table.begin(), table.end(), dice.engine);
    held.assign(product(layers * static_cast<int>(table.size()), kBlockTokens * columns), from_float<T>(NAN));
    view = {held.data(), table.data(), per_slot, static_cast<int>(table.size()), 1, columns, 1};
  }
  int per_slot;
  std::vector<int> table;
  std::vector<T> held;
  CacheView<T> view;
};

struct Case {
  const char* name;
  Batch batch;
  int heads, rank, rope, sms = 8;
};

template <class T>
double compare(const Case& c, AttendPlan* plan = nullptr) {
  Dice dice(3);
  const Batch& batch = c.batch;
  const int layers = 2, layer = 1, columns = c.rank + c.rope;
  const std::vector<int> entries = batch.all_entries(), slots_at = batch.reversed_slots();
  const int capacity = *std::max_element(entries.begin(), entries.end());
  Specification cpu(batch.sequences());
  Ops& ops = cpu.ops;
  LatentAttention dims;
  dims.kv_rank = c.rank;
  dims.rope_dim = c.rope;
  const Cache cache = ops.latent_cache(layers, dims, capacity);
  const BatchSlots slots = slots_of(ops);
  ops.upload(slots.kv_slots, slots_at);
  ops.upload(slots.ids, slots_at);
  ops.upload(slots.lengths, std::vector<int>(entries.size(), 0));
  const int n = std::accumulate(entries.begin(), entries.end(), 0);
  const Tensor key = cpu.floats(dice.normal<T>(product(n, c.rope)), c.rope);
  const Tensor latent = cpu.floats(dice.normal<T>(product(n, c.rank)), c.rank);
  ops.latent_append(key, latent, key, dims, Rope{}, ops.pass({ops.ragged("all", entries), slots}), cache, layer);
  ops.flush();

  ops.upload(slots.lengths, batch.lengths);
  const std::vector<int> mask = batch.mask(dice);
  const auto queries = dice.normal<T>(product(batch.total(), c.heads * c.rank)),
             rotated = dice.normal<T>(product(batch.total(), c.heads * c.rope));
  std::optional<Tensor> tree_mask;
  if (batch.tree) tree_mask = cpu.ints(mask, batch.words());
  const Tensor q = cpu.floats(queries, c.heads * c.rank), q_rope = cpu.floats(rotated, c.heads * c.rope);
  const PassRef ref =
      ops.pass({.rows = ops.ragged("rows", batch.rows), .slots = slots, .tree_mask = tree_mask, .tail = batch.tail});
  const Tensor y = cpu.keep(ops.latent_attend(q, q_rope, kScale, ref, cache, layer));
  ops.flush();

  Pages<T> pages(layers, batch.sequences(), capacity, columns, dice);
  for (std::size_t b = 0; b < entries.size(); ++b)
    for (int at = 0; at < entries[b]; ++at) {
      const auto entry = cpu.backend.cache_entry(cache, layer, slots_at[b], at);
      for (int i = 0; i < columns; ++i)
        pages.view.entry(layer, slots_at[b], at, 0, 0)[i] = from_float<T>(entry[static_cast<std::size_t>(i)]);
    }
  const Array<T> held(pages.held, columns), q_data(queries, c.heads * c.rank), rope_data(rotated, c.heads * c.rope),
      result(batch.total(), c.heads * c.rank);
  const Array<int> table(pages.table, 1);
  pages.view.data = held.view().data;
  pages.view.blocks = table.read().data;
  const DevicePass pass(batch, mask);
  const LatentShape shape{
      batch.sequences(), batch.widest(), c.heads, c.rank, c.rope, pages.per_slot * kBlockTokens, c.sms,
      shared_of_device()};
  if (plan != nullptr) *plan = plan_latent<T>(shape);
  const Workspace work(latent_scratch<T>(shape));
  const Stream stream;
  double worst = 0;
  for (int again = 0; again < 2; ++again) {  // the counters are left as they were found
    latent_attend<T>(q_data.read(), rope_data.read(), pass.view, pages.view, layer, kScale, shape, work.scratch(),
                     result.view(), stream);
    stream.wait();
    worst = std::max(worst, distance(result.floats(), cpu.floats_of(y), 1));
  }
  return worst;
}

void check_case(const Case& c) {
  INFO(c.name << ", " << c.heads << " heads, latents of " << c.rank << " and " << c.rope);
  CHECK(compare<float>(c) < kTolerance<float>);
  CHECK(compare<bf16>(c) < kTolerance<bf16>);
}

}  // namespace

TEST_CASE("latents serve all heads as on the CPU, whatever the number of rows") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 3, 16, 17);
  const bool tree = GENERATE(false, true);
  for (const int heads : {1, 5, 16}) {
    check_case({"tiles", {{37, 3}, {rows, rows}, 0, tree}, heads, 64, 32});
    check_case({"no tiles", {{37, 3}, {rows, rows}, 0, tree}, heads, 18, 4});
  }
}

TEST_CASE("latents of DeepSeek-V3's size are the CPU's") {
  NEEDS_DEVICE;
  check_case({"decode", {{70, 3}, {1, 1}}, 16, 512, 64});
  check_case({"verify", {{40}, {3}, 0, true}, 8, 512, 64});
}

TEST_CASE("a long context of latents is split, and its parts join to the whole") {
  NEEDS_DEVICE;
  const int length = GENERATE(127, 128, 129, 500, 1031);
  const Case few{"few rows", {{length}, {1}}, 4, 64, 32, 64},
      many{"many rows", {{length, 20}, {7, 7}, 0, true}, 16, 64, 32, 64};
  check_case(few);
  check_case(many);
  AttendPlan plan{};
  compare<bf16>(few, &plan);
  CHECK(plan.tile_rows == 16);
  CHECK((length < 256 || plan.splits > 2));
  compare<bf16>(many, &plan);
  CHECK(plan.tile_rows == 64);
}

TEST_CASE("rows behind an uncommitted tail of latents, ragged batches and prompts see what they may") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  check_case({"tail", {{19, 130}, {3, 3}, 5, tree}, 4, 64, 32});
  check_case({"ragged", {{33, 0, 150, 7}, {1, 9, 0, 40}, 0, tree}, 4, 64, 32});
  check_case({"prompt", {{0, 0}, {50, 4}, 0, tree}, 3, 64, 32});
}

TEST_CASE("64 rows x heads share a tile where a block's memory has room for their queries") {
  // Queries of 64 rows of 576 columns, two stages of 32, and little else: 155 KB. sm_90 gives a block 227 KiB, sm_86 99.
  LatentShape served{1, 1, 128, 512, 64, 4096, 132, 227 * 1024};
  CHECK(plan_latent<bf16>(served).tile_rows == 64);
  CHECK(plan_latent<bf16>(served).tiles == 2);
  CHECK(plan_latent<bf16>(served).splits == 32);  // of 128 keys: all there are
  served.shared = 99 * 1024;
  CHECK(plan_latent<bf16>(served).tile_rows == 16);
  served.heads = 16;
  served.shared = 227 * 1024;
  CHECK(plan_latent<bf16>(served).tile_rows == 16);
  CHECK_FALSE(plan_latent<float>(served).tensor_cores);
}

TEST_CASE("prompts attend to keys and values that were expanded for each head as on the CPU") {
  NEEDS_DEVICE;
  const auto run = []<class T>(T, const ExpandedShape& s, const std::vector<int>& rows) {
    INFO(s.nope << " + " << s.rope << ", values of " << s.value);
    const Batch batch{std::vector<int>(rows.size(), 0), rows};
    Dice dice(7);
    const auto values = [&](int columns) { return dice.normal<T>(product(batch.total(), columns)); };
    const int q_cols = s.heads * (s.nope + s.rope), kv_cols = s.heads * (s.nope + s.value);
    const auto q = values(q_cols), q_rope = values(s.heads * s.rope), kv = values(kv_cols), k_rope = values(s.rope);
    Specification cpu(batch.sequences());
    const BatchSlots slots = slots_of(cpu.ops);
    cpu.ops.upload(slots.kv_slots, batch.reversed_slots());
    cpu.ops.upload(slots.ids, batch.reversed_slots());
    cpu.ops.upload(slots.lengths, batch.lengths);
    Rows all = cpu.ops.ragged("rows", rows);
    all.prompts = true;
    LatentAppend rotated{};
    rotated.dims.nope_dim = s.nope;
    rotated.dims.rope_dim = s.rope;
    rotated.dims.value_dim = s.value;
    rotated.q_rope = cpu.floats(q_rope, s.heads * s.rope);
    rotated.k_rope = cpu.floats(k_rope, s.rope);
    const Tensor y = cpu.keep(cpu.ops.expanded_attend(cpu.floats(q, q_cols), cpu.floats(kv, kv_cols), rotated, kScale,
                                                      cpu.ops.pass({all, slots})));
    cpu.ops.flush();
    const DevicePass pass(batch);
    const Array<T> q_data(q, q_cols), q_rope_data(q_rope, s.heads * s.rope), kv_data(kv, kv_cols),
        k_rope_data(k_rope, s.rope), result(batch.total(), s.heads * s.value);
    const Stream stream;
    expanded_attend<T>(s, q_data.read(), q_rope_data.read(), kv_data.read(), k_rope_data.read(), pass.view, kScale,
                       result.view(), stream);
    stream.wait();
    CHECK(distance(result.floats(), cpu.floats_of(y), 1) < kTolerance<T>);
  };
  const std::vector<int> rows = GENERATE(values<std::vector<int>>({{1}, {75, 2}, {64, 0, 130}}));
  for (const ExpandedShape& s : {ExpandedShape{3, 32, 16, 16}, {2, 6, 4, 5}}) {
    run(float{}, s, rows);
    run(bf16{}, s, rows);
  }
  if (rows.size() == 2) run(bf16{}, {2, 128, 64, 128}, rows);  // DeepSeek-V3's
}

TEST_CASE("each head's product with its part of a matrix is the CPU's, either way round") {
  NEEDS_DEVICE;
  // Of a result of size 1. fp32: the order of additions; bf16: weights, which the CPU has whole, and results are rounded
  // to 8 bits.
  const auto run = []<class T>(T, int rows, int heads, int nope, int rope, int value, int rank) {
    constexpr double kWeights = std::is_same_v<T, float> ? 2e-5 : 1.0 / 64;
    INFO(rows << " rows, " << heads << " heads of " << nope << " and " << value << ", latents of " << rank);
    LatentAttention l;
    l.kv_rank = rank;
    l.nope_dim = nope;
    l.rope_dim = rope;
    l.value_dim = value;
    Dice dice(5);
    const int q_cols = heads * (nope + rope), w_cols = heads * (nope + value);
    const auto q = dice.normal<T>(product(rows, q_cols)), x = dice.normal<T>(product(rows, heads * rank));
    Specification cpu(1);
    const Weight w = cpu.store.table("kv_b", rank, w_cols);
    std::vector<float> weights(product(rank, w_cols));
    cpu.weights.load("kv_b", rank, w_cols, weights);
    const Tensor absorbed = cpu.keep(cpu.ops.absorb_queries(cpu.floats(q, q_cols), w, l)),
                 expanded = cpu.keep(cpu.ops.expand_values(cpu.floats(x, heads * rank), w, l));
    cpu.ops.flush();
    const Array<T> w_data(weights, w_cols), q_data(q, q_cols), x_data(x, heads * rank), up(rows, heads * rank),
        down(rows, heads * value);
    const Stream stream;
    head_products(HeadProducts<T>{q_data.read(), w_data.read().data, up.view(), heads, nope, rank, nope + rope,
                                  nope + value, w_cols, true},
                  stream);
    head_products(HeadProducts<T>{x_data.read(), w_data.read().data + nope, down.view(), heads, rank, value, rank,
                                  nope + value, w_cols, false},
                  stream);
    stream.wait();
    CHECK(distance(up.floats(), cpu.floats_of(absorbed), 1) < kWeights);
    CHECK(distance(down.floats(), cpu.floats_of(expanded), 1) < kWeights);
  };
  const auto both = [&](int rows, int heads, int nope, int rope, int value, int rank) {
    run(float{}, rows, heads, nope, rope, value, rank);
    run(bf16{}, rows, heads, nope, rope, value, rank);
  };
  const int rows = GENERATE(1, 16, 17, 70);
  both(rows, 3, 32, 16, 24, 72);
  both(rows, 2, 6, 4, 5, 18);
  if (rows == 17) both(rows, 2, 128, 64, 128, 512);
}

TEST_CASE("a latent and the rotated key behind it are appended as on the CPU, and queries rotated") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  const Batch batch{{9, 0, 31}, {3, 1, 6}, 2, tree};
  LatentAttention l;
  l.kv_rank = 40;
  l.nope_dim = 8;
  l.rope_dim = 16;
  const Rope rope{10000, 16};
  const int heads = 5, q_cols = heads * 24, columns = 56, capacity = 48;
  const auto run = [&]<class T>(T) {
    Dice dice(9);
    const auto q = dice.normal<T>(product(batch.total(), q_cols)), latent = dice.normal<T>(product(batch.total(), 40)),
               key = dice.normal<T>(product(batch.total(), 16));
    const auto mask = batch.mask(dice);
    Specification cpu(3);
    const Cache cache = cpu.ops.latent_cache(2, l, capacity);
    const BatchSlots slots = slots_of(cpu.ops);
    cpu.ops.upload(slots.kv_slots, batch.reversed_slots());
    cpu.ops.upload(slots.ids, batch.reversed_slots());
    cpu.ops.upload(slots.lengths, batch.lengths);
    std::optional<Tensor> tree_mask;
    if (tree) tree_mask = cpu.ints(mask, batch.words());
    const LatentAppend appended = cpu.ops.latent_append(
        cpu.floats(q, q_cols), cpu.floats(latent, 40), cpu.floats(key, 16), l, rope,
        cpu.ops.pass({.rows = cpu.ops.ragged("rows", batch.rows), .slots = slots, .tree_mask = tree_mask, .tail = 2}),
        cache, 1);
    const Tensor q_kept = cpu.keep(appended.q_rope), k_kept = cpu.keep(appended.k_rope);
    cpu.ops.flush();

    Pages<T> pages(2, 3, capacity, columns, dice);
    const Array<T> held(pages.held, columns), q_data(q, q_cols), latent_data(latent, 40), key_data(key, 16),
        q_rope(batch.total(), heads * 16), k_rope(batch.total(), 16);
    const Array<int> table(pages.table, 1);
    const Array<float> frequencies(rope_frequencies(rope), 8);
    pages.view.data = held.view().data;
    pages.view.blocks = table.read().data;
    const DevicePass pass(batch, mask);
    const Rotation rotation{.frequencies = frequencies.read().data, .half = 8};
    const Stream stream;
    latent_append<T>(q_data.read(), latent_data.read(), key_data.read(), rotation, pass.view, pages.view, 1,
                     q_rope.view(), k_rope.view(), stream);
    stream.wait();
    CHECK(distance(q_rope.floats(), cpu.floats_of(q_kept), 1) < kTolerance<T>);
    CHECK(distance(k_rope.floats(), cpu.floats_of(k_kept), 1) < kTolerance<T>);
    pages.held = held.raw();
    pages.view.data = pages.held.data();
    pages.view.blocks = pages.table.data();
    const auto at = batch.reversed_slots();
    for (std::size_t b = 0; b < batch.rows.size(); ++b)
      for (int i = 0; i < batch.rows[b]; ++i) {
        const int entry = batch.lengths[b] + batch.tail + i;
        const T* to = pages.view.entry(1, at[b], entry, 0, 0);
        std::vector<float> got, expected = cpu.backend.cache_entry(cache, 1, at[b], entry);
        for (int c = 0; c < columns; ++c) got.push_back(to_float(to[c]));
        expected.resize(static_cast<std::size_t>(columns));
        CHECK(distance(got, expected, 1) < kTolerance<T>);
      }
  };
  run(float{});
  run(bf16{});
}
