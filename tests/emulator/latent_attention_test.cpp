// SPDX-License-Identifier: Apache-2.0
// Latent attention against the CPU backend: the absorbed form over the cache (decode, chains and trees, ragged batches,
// contexts in many splits), and the expanded one among prompts.
#include "decoder/cuda/attention/attention.h"

#include "tests/catch.h"
#include "tests/emulator/batch_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// fp32: the order of additions alone. bf16: also the weights of the softmax and the results are rounded to 8 bits.
template <class T>
constexpr double kLatentTolerance = std::is_same_v<T, float> ? 2e-5 : 1.0 / 128;

constexpr float kLatentScale = 0.1F;

std::size_t shared_of_device() {
  int bytes = 0;
  must(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, 0), "shared memory of a block");
  return static_cast<std::size_t>(bytes);
}

struct ExpandedShape {
  int heads, nope, rope, value;
};
struct LatentCase {
  const char* name;
  Batch batch;
  int heads, rank, rope, sms = 8;
};

template <class T>
double compare_latents(const LatentCase& c, AttendPlan* plan = nullptr) {
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
  const Cache cache = ops.latent_cache(layers, dims, dims.indexer.has_value(), capacity);
  const BatchSlots slots = slots_of(ops);
  ops.upload(slots.kv_slots, slots_at);
  ops.upload(slots.ids, slots_at);
  ops.upload(slots.lengths, std::vector<int>(entries.size(), 0));
  const int n = std::accumulate(entries.begin(), entries.end(), 0);
  const Tensor key = cpu.floats(dice.normal<T>(product(n, c.rope)), c.rope);
  const Tensor latent = cpu.floats(dice.normal<T>(product(n, c.rank)), c.rank);
  ops.latent_append(key, latent, key, dims, Rope{}, {ops.pass({ops.ragged("all", entries), slots}), cache, layer});
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
  const Tensor y = cpu.keep(ops.latent_attend(q, q_rope, kLatentScale, {ref, cache, layer}));
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
  OpRunner d(stream);
  d.with = {.stream = stream, .scratch = work.scratch(), .multiprocessors = c.sms, .shared = shared_of_device()};
  const LatentAttend attend{d(q_data), d(rope_data), kLatentScale, {}, pass.on(d), d.cache(cache, pages.view),
                            layer,     d(result)};
  CHECK(d.scratch_bytes<T>(attend) == work.buffer.bytes());
  double worst = 0;
  for (int again = 0; again < 2; ++again) {  // the counters are left as they were found
    d.run<T>(attend);
    stream.wait();
    worst = std::max(worst, distance(result.floats(), cpu.floats_of(y), 1));
  }
  return worst;
}

void check_latents(const LatentCase& c) {
  INFO(c.name << ", " << c.heads << " heads, latents of " << c.rank << " and " << c.rope);
  CHECK(compare_latents<float>(c) < kLatentTolerance<float>);
  CHECK(compare_latents<bf16>(c) < kLatentTolerance<bf16>);
}

}  // namespace

TEST_CASE("latents serve all heads as on the CPU, whatever the number of rows") {
  NEEDS_DEVICE;
  const int rows = GENERATE(1, 3, 16, 17);
  const bool tree = GENERATE(false, true);
  for (const int heads : {1, 5, 16}) {
    check_latents({"tiles", {{37, 3}, {rows, rows}, 0, tree}, heads, 64, 32});
    check_latents({"no tiles", {{37, 3}, {rows, rows}, 0, tree}, heads, 18, 4});
  }
}

TEST_CASE("a row sees no key behind it, wherever a warp's keys end") {
  NEEDS_DEVICE;
  // The second row is the last of the eight or sixteen keys of a warp: the first must not see it.
  for (const int heads : {2, 16}) check_latents({"chain", {{6, 14, 30, 7}, {3, 3, 3, 3}}, heads, 64, 32});
}

TEST_CASE("latents of DeepSeek-V3's size are the CPU's") {
  NEEDS_DEVICE;
  check_latents({"decode", {{70, 3}, {1, 1}}, 16, 512, 64});
  check_latents({"verify", {{40}, {3}, 0, true}, 8, 512, 64});
}

TEST_CASE("a long context of latents is split, and its parts join to the whole") {
  NEEDS_DEVICE;
  const int length = GENERATE(127, 128, 129, 500, 1031);
  const LatentCase few{"few rows", {{length}, {1}}, 4, 64, 32, 64},
      many{"many rows", {{length, 20}, {7, 7}, 0, true}, 16, 64, 32, 64};
  check_latents(few);
  check_latents(many);
  AttendPlan plan{};
  compare_latents<bf16>(few, &plan);
  CHECK(plan.tile_rows == 16);
  CHECK((length < 256 || plan.splits > 2));
  compare_latents<bf16>(many, &plan);
  CHECK(plan.tile_rows == 64);
}

TEST_CASE("rows behind an uncommitted tail of latents, ragged batches and prompts see what they may") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  check_latents({"tail", {{19, 130}, {3, 3}, 5, tree}, 4, 64, 32});
  check_latents({"ragged", {{33, 0, 150, 7}, {1, 9, 0, 40}, 0, tree}, 4, 64, 32});
  check_latents({"prompt", {{0, 0}, {50, 4}, 0, tree}, 3, 64, 32});
}

TEST_CASE("64 rows x heads share a tile where a block's memory has room for their queries") {
  // Queries of 64 rows of 576 columns, two stages of 32, and little else: 152 KiB. sm_90 gives a block 227, sm_86 99.
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

TEST_CASE("latents of more columns than a kernel sums are refused, not run") {
  NEEDS_DEVICE;
  const Array<float> q(1, 513), q_rope(1, 64);
  const Batch batch{{0}, {1}};
  const DevicePass pass(batch);
  Cache wide{.head_dim = 577};
  wide.latent = 513;
  OpRunner d;
  d.with.multiprocessors = 8;
  d.with.shared = shared_of_device();
  const LatentAttend attend{d(q), d(q_rope), kLatentScale, {}, pass.on(d), d.cache(wide, {nullptr, nullptr, 1, 1}),
                            0,    d(q)};
  const Workspace work(d.scratch_bytes<float>(attend));
  d.with.scratch = work.scratch();
  CHECK_THROWS_AS(d.run<float>(attend), InputErrors);
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
    const Tensor y = cpu.keep(cpu.ops.expanded_attend(cpu.floats(q, q_cols), cpu.floats(kv, kv_cols), rotated,
                                                      kLatentScale, cpu.ops.pass({all, slots})));
    cpu.ops.flush();
    const DevicePass pass(batch);
    const Array<T> q_data(q, q_cols), q_rope_data(q_rope, s.heads * s.rope), kv_data(kv, kv_cols),
        k_rope_data(k_rope, s.rope), result(batch.total(), s.heads * s.value);
    const Stream stream;
    OpRunner d(stream);
    d.run<T>(ExpandedAttend{d(q_data), d(q_rope_data), d(kv_data), d(k_rope_data), rotated.dims, kLatentScale,
                            pass.on(d), d(result)});
    stream.wait();
    CHECK(distance(result.floats(), cpu.floats_of(y), 1) < kLatentTolerance<T>);
  };
  const std::vector<int> rows = GENERATE(values<std::vector<int>>({{1}, {75, 2}, {64, 0, 130}}));
  for (const ExpandedShape& s : {ExpandedShape{3, 32, 16, 16}, {2, 6, 4, 5}}) {
    run(float{}, s, rows);
    run(bf16{}, s, rows);
  }
  if (rows.size() == 2) run(bf16{}, {2, 128, 64, 128}, rows);  // DeepSeek-V3's
}
