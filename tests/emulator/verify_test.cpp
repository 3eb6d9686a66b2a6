// SPDX-License-Identifier: Apache-2.0
// Sampling and verification against the CPU backend: the same random numbers, so the same tokens, not just the same
// law.
#include "core/rng.h"
#include "tests/catch.h"
#include "tests/emulator/op_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

constexpr std::uint64_t kSeed = 77;

std::vector<float> logits_of(Dice& dice, int rows, int columns, bool ties) {
  auto x = dice.normal<bf16>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 2);
  for (float& v : x) {
    if (ties) v = std::round(v);
    if (dice.below(7) == 0) v = -INFINITY;
  }
  for (int r = 0; r < rows; ++r) x[static_cast<std::size_t>(r * columns + dice.below(columns))] = 4;
  return x;
}

struct Batch {  // who sits where
  std::vector<int> lengths, ids;
  BatchSlots slots;
  Array<int> lengths_data, ids_data;
  Batch(Specification& cpu, Dice& dice, int sequences)
      : lengths(some(dice, sequences)),
        ids(some(dice, sequences)),
        slots{cpu.ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
              cpu.ops.persistent_per_slot("lengths", 1, 1, DType::int32),
              cpu.ops.persistent_per_slot("ids", 1, 1, DType::int32)},
        lengths_data(lengths, 1),
        ids_data(ids, 1) {
    cpu.ops.upload(slots.kv_slots, ids);
    cpu.ops.upload(slots.lengths, lengths);
    cpu.ops.upload(slots.ids, ids);
  }
  BatchSlots on(OpRunner& d) const { return {d(ids_data), d(lengths_data), d(ids_data)}; }
  static std::vector<int> some(Dice& dice, int n) {
    std::vector<int> v;
    for (int i = 0; i < n; ++i) v.push_back(dice.below(5000));
    return v;
  }
};

Sampling any_sampling() {
  return GENERATE(Sampling{0, 0, 1}, Sampling{1, 0, 1}, Sampling{0.6, 5, 1}, Sampling{1.3, 0, 0.8},
                  Sampling{0.9, 20, 0.5});
}

template <class T>
void compare_samples(int sequences, int width, int draws, int columns, const Sampling& sampling, bool ties,
                     bool replaced, unsigned seed) {
  Dice dice(seed);
  Specification cpu(sequences, kSeed);
  const Batch batch(cpu, dice, sequences);
  const auto x = logits_of(dice, sequences * width, columns, ties);
  const Tensor logits = cpu.floats(x, columns);
  const Sample one = cpu.ops.sample(row_range(logits, 0, sequences), batch.slots, sampling, 3);
  const Tensor token = cpu.keep(one.tokens), q = cpu.keep(one.q);
  const SampleChildren many = cpu.ops.sample_children(logits, batch.slots, sampling, 5, draws, replaced);
  const Tensor children = cpu.keep(many.tokens), children_q = cpu.keep(many.q);
  cpu.ops.flush();

  const Array<T> data(x, columns);
  const Array<int> token_data(sequences, 1), children_data(sequences * width, draws);
  const Array<float> q_data(sequences, columns), children_q_data(sequences * width, columns);
  const Stream stream;
  OpRunner d(stream);
  d.with.seed = kSeed;
  const BatchSlots slots = batch.on(d);
  d.run<T>(Sample{row_range(d(data), 0, sequences), slots, sampling, 3, d(token_data), d(q_data)});
  d.run<T>(SampleChildren{d(data), slots, sampling, 5, replaced, d(children_data), d(children_q_data)});
  stream.wait();
  CHECK(token_data.raw() == cpu.ints_of(token));
  CHECK(children_data.raw() == cpu.ints_of(children));
  const double tolerance = std::is_same_v<T, float> ? 1e-7 : 2e-6;  // a rounding of q; an exponential in fp32
  CHECK(distance(q_data.floats(), cpu.floats_of(q), 1e-30) < tolerance);
  CHECK(distance(children_q_data.floats(), cpu.floats_of(children_q), 1e-30) < tolerance);
}

void warp_into(const std::vector<float>& logits, const Sampling& sampling, std::vector<float>& q) {
  std::vector<double> p(logits.size());
  warp(logits, sampling, p);
  std::transform(p.begin(), p.end(), q.begin(), [](double v) { return static_cast<float>(v); });
}

struct Forest {
  std::vector<int> each, cu_seqlens{0}, tokens, parents;
  std::vector<float> q;  // of rows 1.. of each
  int depth = 1;
};

// Random trees with siblings drawn as `rule` says, from random distributions.
Forest forest_of(Dice& dice, int sequences, int columns, AcceptRule rule) {
  Forest f;
  const bool without = rule == AcceptRule::without_replacement;
  for (int b = 0; b < sequences; ++b) {
    const int rows = 1 + dice.below(9);
    std::vector<int> parents{-1}, depth{0};
    std::vector<std::vector<float>> q(1);
    std::vector<int> tokens{dice.below(columns)};
    for (int r = 1; r < rows; ++r) {
      int parent = rule == AcceptRule::block ? r - 1
                   : dice.below(3) == 0      ? dice.below(r)
                                             : r / 2 - (r % 2 == 0 ? 1 : 0);
      if (rule != AcceptRule::block && dice.below(12) == 0) parent = -2;
      parents.push_back(parent);
      depth.push_back(parent < 0 ? 0 : depth[static_cast<std::size_t>(parent)] + 1);
      f.depth = std::max(f.depth, depth.back());
      std::vector<float> own(static_cast<std::size_t>(columns));
      const auto logits = logits_of(dice, 1, columns, true);
      warp_into(logits, dice.below(2) == 0 ? Sampling{1, 3, 1} : Sampling{1, 0, 1}, own);
      auto left = own;
      int last = -1;
      if (without && parent >= 0)
        for (int s = 1; s < r; ++s) {
          if (parents[static_cast<std::size_t>(s)] != parent) continue;
          if (last < 0) left = own = q[static_cast<std::size_t>(s)];
          last = tokens[static_cast<std::size_t>(s)];
          left[static_cast<std::size_t>(last)] = 0;
        }
      const bool any = std::any_of(left.begin(), left.end(), [](float v) { return v > 0; });
      tokens.push_back(any ? draw(std::span<const float>(left), dice.below(1000) / 1000.0) : last);
      q.push_back(own);
    }
    f.each.push_back(rows);
    f.cu_seqlens.push_back(f.cu_seqlens.back() + rows);
    f.tokens.insert(f.tokens.end(), tokens.begin(), tokens.end());
    f.parents.insert(f.parents.end(), parents.begin(), parents.end());
    for (int r = 1; r < rows; ++r)
      f.q.insert(f.q.end(), q[static_cast<std::size_t>(r)].begin(), q[static_cast<std::size_t>(r)].end());
  }
  return f;
}

struct DeviceForest {
  Array<int> tokens, parents, cu_seqlens;
  explicit DeviceForest(const Forest& f) : tokens(f.tokens, 1), parents(f.parents, 1), cu_seqlens(f.cu_seqlens, 1) {}
};

// Six results of a verification, kept on either side.
struct DeviceVerdict {
  Array<int> path, next, counts, last, last_row, bonus;
  int depth;
  DeviceVerdict(int sequences, int depth_)
      : path(sequences * (depth_ + 1), 1),
        next(sequences * (depth_ + 1), 1),
        counts(sequences, 1),
        last(sequences, 1),
        last_row(sequences, 1),
        bonus(sequences, 1),
        depth(depth_) {}
  VerdictTensors on(OpRunner& d) const { return {d(path), d(next), d(counts), d(last), d(last_row), d(bonus)}; }
};
template <class Verify>
std::vector<Tensor> keep_verdict(Specification& cpu, const Verify& v) {
  std::vector<Tensor> kept;
  for (const Tensor& t :
       {Tensor(v.path), Tensor(v.next), Tensor(v.counts), Tensor(v.last), Tensor(v.last_row), Tensor(v.bonus)})
    kept.push_back(cpu.keep(t));
  cpu.ops.flush();
  return kept;
}
void check_verdict(Specification& cpu, const std::vector<Tensor>& expected, const DeviceVerdict& got, int& longest) {
  CHECK(got.path.raw() == cpu.ints_of(expected[0]));
  CHECK(got.next.raw() == cpu.ints_of(expected[1]));
  CHECK(got.counts.raw() == cpu.ints_of(expected[2]));
  CHECK(got.last.raw() == cpu.ints_of(expected[3]));
  CHECK(got.last_row.raw() == cpu.ints_of(expected[4]));
  CHECK(got.bonus.raw() == cpu.ints_of(expected[5]));
  for (const int n : got.counts.raw()) longest = std::max(longest, n);
}

template <class T>
int compare_sampled(AcceptRule rule, const Sampling& sampling, int columns, bool point_masses, unsigned seed) {
  Dice dice(seed);
  const int sequences = 1 + dice.below(5);
  const Forest f = forest_of(dice, sequences, columns, rule);
  Specification cpu(sequences, kSeed + seed);
  const Batch batch(cpu, dice, sequences);
  // The target likes what is drafted, so that walks go deep.
  auto x = logits_of(dice, f.cu_seqlens.back(), columns, seed % 2 == 0);
  for (int b = 0; b < sequences; ++b)
    for (int r = f.cu_seqlens[static_cast<std::size_t>(b)] + 1; r < f.cu_seqlens[static_cast<std::size_t>(b) + 1];
         ++r) {
      const int parent = f.parents[static_cast<std::size_t>(r)];
      if (parent >= 0)
        x[static_cast<std::size_t>((f.cu_seqlens[static_cast<std::size_t>(b)] + parent) * columns +
                                   f.tokens[static_cast<std::size_t>(r)])] = 5;
    }
  std::optional<Tensor> q;
  if (!point_masses && !f.q.empty()) q = cpu.floats(f.q, columns);
  if (!point_masses && f.q.empty()) return 0;
  const auto verdict = keep_verdict(
      cpu, cpu.ops.verify_sampled(cpu.floats(x, columns),
                                  {cpu.ints(f.tokens), cpu.ints(f.parents), cpu.ops.ragged("rows", f.each), f.depth}, q,
                                  rule, batch.slots, sampling));
  const DeviceForest trees(f);
  const Array<T> data(x, columns);
  const Array<float> q_data(f.q, columns);
  const DeviceVerdict got(sequences, f.depth);
  const Stream stream;
  OpRunner d(stream);
  d.with.seed = kSeed + seed;
  if (q) q = d(q_data);
  const VerifySampled verify{d(data),  d(trees.tokens), d(trees.parents), d(trees.cu_seqlens), q, rule, batch.on(d),
                             sampling, f.depth,         got.on(d)};
  const Workspace work(d.scratch_bytes<T>(verify));
  d.with.scratch = work.scratch();
  d.run<T>(verify);
  stream.wait();
  int longest = 0;
  check_verdict(cpu, verdict, got, longest);
  return longest;
}

}  // namespace

TEST_CASE("a draft token and its distribution are the CPU's") {
  NEEDS_DEVICE;
  const Sampling sampling = any_sampling();
  const int columns = GENERATE(1, 33, 700, 20000);
  const bool ties = GENERATE(false, true);
  if (columns == 20000 && sampling.top_p < 1 && ties) return;  // slow on the emulator
  const bool replaced = ties;
  INFO("temperature " << sampling.temperature << ", top_k " << sampling.top_k << ", top_p " << sampling.top_p << ", "
                      << columns << " columns");
  compare_samples<float>(2, columns < 1000 ? 3 : 1, 4, columns, sampling, ties, replaced, 3);
  compare_samples<bf16>(2, columns < 1000 ? 3 : 1, 4, columns, sampling, ties, !replaced, 4);
}

TEST_CASE("a greedy verdict over random trees is the CPU's") {
  NEEDS_DEVICE;
  int longest = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    Dice dice(seed);
    const int sequences = 1 + dice.below(6);
    const Forest f = forest_of(dice, sequences, 3, AcceptRule::point_mass);
    std::vector<int> predicted;
    for (int r = 0; r < f.cu_seqlens.back(); ++r) predicted.push_back(dice.below(3));
    Specification cpu(sequences);
    const auto verdict = keep_verdict(
        cpu, cpu.ops.verify_greedy(cpu.ints(predicted),
                                   {cpu.ints(f.tokens), cpu.ints(f.parents), cpu.ops.ragged("rows", f.each), f.depth}));
    const DeviceForest trees(f);
    const Array<int> predicted_data(predicted, 1);
    const DeviceVerdict got(sequences, f.depth);
    const Stream stream;
    OpRunner d(stream);
    d.run<float>(
        VerifyGreedy{d(predicted_data), d(trees.tokens), d(trees.parents), d(trees.cu_seqlens), f.depth, got.on(d)});
    stream.wait();
    check_verdict(cpu, verdict, got, longest);
  }
  CHECK(longest > 2);
}

TEST_CASE("a sampled verdict is the CPU's, whatever the rule") {
  NEEDS_DEVICE;
  const AcceptRule rule = GENERATE(AcceptRule::independent, AcceptRule::without_replacement, AcceptRule::point_mass,
                                   AcceptRule::target_draw, AcceptRule::block);
  const Sampling sampling = any_sampling();
  const bool drawn =
      rule == AcceptRule::independent || rule == AcceptRule::without_replacement || rule == AcceptRule::block;
  int longest = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    INFO("rule " << static_cast<int>(rule) << ", temperature " << sampling.temperature << ", seed " << seed);
    const int columns = seed == 5 ? 1500 : seed % 2 == 0 ? 6 : 50;
    longest = std::max(longest, compare_sampled<float>(rule, sampling, columns, !drawn, seed));
    longest = std::max(longest, compare_sampled<bf16>(rule, sampling, columns, !drawn, 100 + seed));
  }
  CHECK(longest > 1);
}

TEST_CASE("a relaxed verdict is the CPU's") {
  NEEDS_DEVICE;
  const auto kind = GENERATE(Relaxed::Kind::typical, Relaxed::Kind::loss_limit);
  const Relaxed relaxed{kind, kind == Relaxed::Kind::typical ? 0.3 : 2.5, 0.4};
  const Sampling sampling = GENERATE(Sampling{0, 0, 1}, Sampling{0.8, 0, 1}, Sampling{1, 4, 0.9});
  int longest = 0;
  for (unsigned seed = 0; seed < 8; ++seed) {
    Dice dice(seed);
    const int sequences = 1 + dice.below(4), columns = seed % 2 == 0 ? 5 : 200;
    const Forest f = forest_of(dice, sequences, columns, AcceptRule::point_mass);
    auto x = logits_of(dice, f.cu_seqlens.back(), columns, false);
    for (int b = 0; b < sequences; ++b)
      for (int r = f.cu_seqlens[static_cast<std::size_t>(b)] + 1; r < f.cu_seqlens[static_cast<std::size_t>(b) + 1];
           ++r)
        if (const int parent = f.parents[static_cast<std::size_t>(r)]; parent >= 0 && dice.below(3) > 0)
          x[static_cast<std::size_t>((f.cu_seqlens[static_cast<std::size_t>(b)] + parent) * columns +
                                     f.tokens[static_cast<std::size_t>(r)])] =
              rounded<bf16>(5 + 0.1F * static_cast<float>(r));
    Specification cpu(sequences);
    const auto verdict = keep_verdict(
        cpu, cpu.ops.verify_relaxed(cpu.floats(x, columns),
                                    {cpu.ints(f.tokens), cpu.ints(f.parents), cpu.ops.ragged("rows", f.each), f.depth},
                                    sampling, relaxed));
    const DeviceForest trees(f);
    const auto run = [&]<class T>(T) {
      const Array<T> data(x, columns);
      const DeviceVerdict got(sequences, f.depth);
      const Stream stream;
      OpRunner d(stream);
      const VerifyRelaxed verify{d(data),  d(trees.tokens), d(trees.parents), d(trees.cu_seqlens),
                                 sampling, relaxed,         f.depth,          got.on(d)};
      const Workspace work(d.scratch_bytes<T>(verify));
      d.with.scratch = work.scratch();
      d.run<T>(verify);
      stream.wait();
      check_verdict(cpu, verdict, got, longest);
    };
    run(float{});
    run(bf16{});
  }
  CHECK(longest > 1);
}
