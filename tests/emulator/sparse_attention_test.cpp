// SPDX-License-Identifier: Apache-2.0
// Sparse attention against the CPU backend: an indexer's keys beside the latents, its choice to the token, and
// attention to what was chosen.
#include "decoder/rope.h"
#include "tests/catch.h"
#include "tests/emulator/batch_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

struct SparseCase {
  Batch batch;
  int heads, top_k;
  bool ties = false;  // every score is 0
  int rank = 20, rope = 8, index_heads = 3, index_dim = 14;
};

// The same rows on both sides, over entries that a pass before them has appended.
template <class T>
void compare(const SparseCase& c) {
  constexpr double kRounding = std::is_same_v<T, float> ? 2e-5 : 1.0 / 128;
  constexpr float kScale = 0.1F;
  Dice dice(5);
  const Batch& batch = c.batch;
  const int layers = 2, layer = 1, columns = c.rank + c.rope + c.index_dim, index_columns = c.index_heads * c.index_dim;
  const std::vector<int> entries = batch.all_entries(), slots_at = batch.reversed_slots();
  const int capacity = *std::max_element(entries.begin(), entries.end());
  const Rope rope{10000, c.rope};
  Specification cpu(batch.sequences());
  Ops& ops = cpu.ops;
  LatentAttention dims;
  dims.kv_rank = c.rank;
  dims.rope_dim = c.rope;
  dims.indexer = Indexer{.heads = c.index_heads, .head_dim = c.index_dim, .top_k = c.top_k};
  const Cache cache = ops.latent_cache(layers, dims, dims.indexer.has_value(), capacity);
  const BatchSlots slots = slots_of(ops);
  ops.upload(slots.kv_slots, slots_at);
  ops.upload(slots.ids, slots_at);
  ops.upload(slots.lengths, std::vector<int>(entries.size(), 0));
  const int n = std::accumulate(entries.begin(), entries.end(), 0), total = batch.total();
  const Tensor key = cpu.floats(dice.normal<T>(product(n, c.rope)), c.rope),
               latent = cpu.floats(dice.normal<T>(product(n, c.rank)), c.rank),
               index_key = cpu.floats(dice.normal<T>(product(n, c.index_dim)), c.index_dim);
  const PassRef before = ops.pass({ops.ragged("all", entries), slots});
  ops.latent_append(key, latent, key, dims, rope, {before, cache, layer});
  ops.index_append(index_key, index_key, rope, {before, cache, layer});
  ops.flush();

  ops.upload(slots.lengths, batch.lengths);
  const std::vector<int> mask = batch.mask(dice);
  const auto q = dice.normal<T>(product(total, c.heads * c.rank)),
             q_rope = dice.normal<T>(product(total, c.heads * c.rope)),
             index_q = dice.normal<T>(product(total, index_columns)), k = dice.normal<T>(product(total, c.index_dim));
  auto weights = dice.normal<T>(product(total, c.index_heads));
  if (c.ties) std::fill(weights.begin(), weights.end(), 0.0F);
  std::optional<Tensor> tree_mask;
  if (batch.tree) tree_mask = cpu.ints(mask, batch.words());
  const PassRef ref =
      ops.pass({.rows = ops.ragged("rows", batch.rows), .slots = slots, .tree_mask = tree_mask, .tail = batch.tail});
  const Tensor turned = cpu.keep(
      ops.index_append(cpu.floats(index_q, index_columns), cpu.floats(k, c.index_dim), rope, {ref, cache, layer}));
  const Tensor tokens = cpu.keep(ops.select_tokens(turned, cpu.floats(weights, c.index_heads), {ref, cache, layer}));
  const Tensor y = cpu.keep(ops.latent_attend(cpu.floats(q, c.heads * c.rank), cpu.floats(q_rope, c.heads * c.rope),
                                              kScale, {ref, cache, layer}, tokens));
  ops.flush();
  const std::vector<int> chosen = cpu.ints_of(tokens);

  Pages<T> pages(layers, batch.sequences(), capacity, columns, dice);
  for (std::size_t b = 0; b < entries.size(); ++b)
    for (int at = 0; at < entries[b]; ++at) {
      const auto entry = cpu.backend.cache_entry(cache, layer, slots_at[b], at);
      const bool own = at >= batch.lengths[b] + batch.tail;  // whose indexer's key index_append has to put there
      for (int i = 0; i < columns; ++i)
        pages.view.entry(layer, slots_at[b], at, 0, 0)[i] =
            from_float<T>(own && i >= c.rank + c.rope ? NAN : entry[static_cast<std::size_t>(i)]);
    }
  const Array<T> held(pages.held, columns), q_data(q, c.heads * c.rank), rope_data(q_rope, c.heads * c.rope),
      index_data(index_q, index_columns), k_data(k, c.index_dim), weight_data(weights, c.index_heads),
      turned_data(total, index_columns), result(total, c.heads * c.rank);
  const Array<int> table(pages.table, 1), picked(total, c.top_k), given(chosen, c.top_k);
  const Array<float> frequencies(rope_frequencies(rope), c.rope / 2);
  pages.view.data = held.view().data;
  pages.view.blocks = table.read().data;
  const DevicePass pass(batch, mask);
  const Stream stream;
  OpRunner d(stream);
  const PassRef at = pass.on(d);
  const Cache paged = d.cache(cache, pages.view);
  const SelectTokens select{d(turned_data), d(weight_data), at, paged, layer, d(picked)};
  const Workspace work(d.scratch_bytes<T>(select));
  d.with.scratch = work.scratch();
  d.run<T>(
      IndexAppend{d(index_data), d(k_data), d.rope(rope, frequencies.read().data), at, paged, layer, d(turned_data)});
  d.run<T>(select);
  d.run<T>(LatentAttend{d(q_data), d(rope_data), kScale, d(given), at, paged, layer, d(result)});
  stream.wait();
  CHECK(distance(turned_data.floats(), cpu.floats_of(turned), 1) < kRounding);
  CHECK(distance(result.floats(), cpu.floats_of(y), 1) < kRounding);
  if (std::is_same_v<T, float> || c.ties) CHECK(picked.raw() == chosen);  // in bf16 keys are rounded, and so are scores
}

}  // namespace

TEST_CASE("an indexer chooses on CUDA the tokens that it chooses on the CPU, and attention reads these alone") {
  NEEDS_DEVICE;
  const bool tree = GENERATE(false, true);
  for (const int top_k : {1, 7, 40, 600}) {
    INFO(top_k);
    for (const bool ties : {false, true}) {
      const SparseCase some{{{37, 3, 0}, {3, 1, 6}, 0, tree}, 4, top_k, ties};
      compare<float>(some);
      compare<bf16>(some);
    }
  }
  compare<float>({{{19, 530}, {3, 3}, 5, tree}, 2, 33});  // behind an uncommitted tail; more entries than threads
  compare<float>({{{33, 0, 50, 7}, {1, 9, 0, 4}, 0, tree}, 2, 6});
}

TEST_CASE("an indexer that chooses more tokens than a block has room for is refused") {
  NEEDS_DEVICE;
  LatentAttend attend{};
  attend.cache.latent = 1;
  attend.tokens = Tensor{.rows = 1, .cols = 12289, .stride = 12289};
  CHECK_THROWS_AS(OpRunner().run<float>(attend), InputErrors);
}
