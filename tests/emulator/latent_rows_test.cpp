// SPDX-License-Identifier: Apache-2.0
// What stands around latent attention, against the CPU backend: the products with each head's part of a matrix, and
// what is appended to the cache.
#include "decoder/rope.h"
#include "tests/catch.h"
#include "tests/emulator/batch_rig.h"

using namespace draftline;
using namespace draftline::cuda;

TEST_CASE("each head's product with its part of a matrix is the CPU's, either way round") {
  NEEDS_DEVICE;
  // Of a result of size 1. fp32: the order of additions; bf16: weights, which the CPU has whole, and results are
  // rounded to 8 bits.
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
    OpRunner d(stream);
    d.run<T>(AbsorbQueries{d(q_data), d.weight(w_data), l, d(up)});
    d.run<T>(ExpandValues{d(x_data), d.weight(w_data), l, d(down)});
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
  // What is rotated is rounded once, to 8 bits in bf16.
  const auto run = [&]<class T>(T) {
    constexpr double kRounding = std::is_same_v<T, float> ? 2e-5 : 1.0 / 256;
    Dice dice(9);
    const auto q = dice.normal<T>(product(batch.total(), q_cols)), latent = dice.normal<T>(product(batch.total(), 40)),
               key = dice.normal<T>(product(batch.total(), 16));
    const auto mask = batch.mask(dice);
    Specification cpu(3);
    const Cache cache = cpu.ops.latent_cache(2, l, l.indexer.has_value(), capacity);
    const BatchSlots slots = slots_of(cpu.ops);
    cpu.ops.upload(slots.kv_slots, batch.reversed_slots());
    cpu.ops.upload(slots.ids, batch.reversed_slots());
    cpu.ops.upload(slots.lengths, batch.lengths);
    std::optional<Tensor> tree_mask;
    if (tree) tree_mask = cpu.ints(mask, batch.words());
    const LatentAppend appended = cpu.ops.latent_append(
        cpu.floats(q, q_cols), cpu.floats(latent, 40), cpu.floats(key, 16), l, rope,
        {cpu.ops.pass({.rows = cpu.ops.ragged("rows", batch.rows), .slots = slots, .tree_mask = tree_mask, .tail = 2}),
         cache, 1});
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
    const Stream stream;
    OpRunner d(stream);
    d.run<T>(LatentAppend{d(q_data), d(latent_data), d(key_data), l, d.rope(rope, frequencies.read().data), pass.on(d),
                          d.cache(cache, pages.view), 1, d(q_rope), d(k_rope)});
    stream.wait();
    CHECK(distance(q_rope.floats(), cpu.floats_of(q_kept), 1) < kRounding);
    CHECK(distance(k_rope.floats(), cpu.floats_of(k_kept), 1) < kRounding);
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
        CHECK(distance(got, expected, 1) < kRounding);
      }
  };
  run(float{});
  run(bf16{});
}
