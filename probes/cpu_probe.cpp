// SPDX-License-Identifier: Apache-2.0
#include "probes/cpu_probe.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/int_indexed.h"
#include "decoder/cpu/huge_pages.h"
#include "decoder/generate.h"
#include "probes/cpu_bench.h"

namespace draftline {
namespace {

constexpr double kMostBytes = 1.5e9;  // of one point's data
// The most bytes of weights in a sample. Up to that a sample goes through all copies, as a step goes through a network:
// the median of single matrices, some faster and some slower, is not what a network's take on average.
constexpr double kMostRound = 2e8;

void probe_gemm(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int rows = p.at("rows"), in = p.at("in"), out = p.at("out"), copies = p.at("copies");
  if (4.0 * in * out * (copies + 1) > kMostBytes) {
    p.skipped = "its weights need more than 1.5 GB";
    return;
  }
  CpuBench b(1);
  const Tensor x = b.random("x", rows, in, 1);
  b.finish();
  std::vector<Weight> w;
  for (int c = 0; c < copies; ++c) w.push_back(b.store.matrix("w" + std::to_string(c), in, out));
  const auto y = b.value_of(b.ops.linear(x, w[0]));
  std::vector<float> values(at(in) * at(out));
  b.weights.load(b.store.name(w[0]), in, out, values);
  for (int sample = 0; sample < 32; ++sample) {
    const int r = sample * 7 % rows, c = to_int(std::int64_t{sample} * 2654435761 % out);
    double sum = 0;
    for (int i = 0; i < in; ++i) sum += double{noise(1 + at(r) * at(in) + at(i))} * values[at(i) * at(out) + at(c)];
    if (!close(y[at(r) * at(out) + at(c)], sum, std::sqrt(in))) {
      p.skipped = "its result differs from the reference";
      return;
    }
  }
  std::vector<const Tape*> tapes;
  for (const Weight& one : w) {
    b.ops.linear(x, one);
    tapes.push_back(b.finish());
  }
  std::size_t next = 0;
  SamplingPlan plan{.runs_per_round = to_int(std::clamp(kMostRound / (4.0 * in * out), 1.0, 1.0 * copies))};
  if (const double pause = 1e-6 * p.at("pause_us", 0); pause > 0)
    plan.before = [&reference, pause] {
      for (const double from = now(); now() - from < pause;) reference.keep_busy();
    };
  time_into(
      p, time_budget, reference, [&] { b.backend.finish(*tapes[next++ % tapes.size()]); }, plan);
}

// Batch slots of sequences with KV slots of their own and the same committed length.
BatchSlots batch_of(Ops& ops, int sequences, int length) {
  const BatchSlots slots{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                         ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                         ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  std::vector<int> kv_slots(at(sequences));
  std::iota(kv_slots.begin(), kv_slots.end(), 0);
  ops.upload(slots.kv_slots, kv_slots);
  ops.upload(slots.ids, kv_slots);
  ops.upload(slots.lengths, std::vector<int>(kv_slots.size(), length));
  return slots;
}

// Reads all values into many sums, so that no addition waits for the one before it.
float read_all(const std::pmr::vector<float>& from) {
  constexpr std::size_t kLanes = 64;
  float sum[kLanes] = {};
  for (std::size_t i = 0; i + kLanes <= from.size(); i += kLanes)
    for (std::size_t j = 0; j < kLanes; ++j) sum[j] += from[i + j];
  return std::accumulate(std::begin(sum), std::end(sum), 0.0F);
}

// Other data that is accessed before each sample: as much as the point's reuse distance demands.
struct OtherData {
  explicit OtherData(const MeasuredPoint& p)
      : data(at(p.at("reuse_kib", 0)) * 1024 / sizeof(float), 1.0F, huge_pages()) {}
  SamplingPlan plan() {
    if (data.empty()) return {};
    return {.before = [this] { sink = read_all(data); }};
  }
  std::pmr::vector<float> data;
  volatile float sink = 0;
};

// Times a tape of `layers` equal ops; the point gets the time of one.
void time_layers(MeasuredPoint& p, Seconds time_budget, ClockReference& reference, CpuBench& b, const Tape& tape,
                 int layers) {
  OtherData others(p);
  time_into(
      p, time_budget, reference, [&] { b.backend.finish(tape); }, others.plan());
  for (Seconds* t : {&p.low, &p.median, &p.high}) *t = 1.0 / layers * *t;
}

// Attention over one layer's entries after the other's, as in a network, at the point's reuse distance.
void probe_attention(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context"), heads = p.at("heads"),
            kv_heads = p.at("kv_heads"), dim = p.at("head_dim"), tree = p.at("tree"), layers = p.at("copies", 1);
  constexpr int kRoom = 128;  // entries that stay free behind each sequence, as in a decoder whose texts grow
  const std::vector<int> contexts = lengths_around(context, sequences);
  const int longest = contexts.back();
  const double cache_bytes = 8.0 * layers * sequences * (longest + rows + kRoom) * kv_heads * dim;
  if (cache_bytes > kMostBytes) {
    p.skipped = "its cache needs more than 1.5 GB";
    return;
  }
  CpuBench b(sequences);
  Ops& ops = b.ops;
  const Cache cache = ops.cache(layers, kv_heads, dim, longest + rows + kRoom);
  const BatchSlots slots = batch_of(ops, sequences, 0);
  b.finish();
  const Rope still{.columns = 0};  // rotates no column, so that the check below needs no angles
  const auto append = [&](int n, std::uint64_t from, PassRef pass) {
    const Tensor q = b.random("q" + std::to_string(n), sequences * n, heads * dim, from);
    const Tensor k = b.random("k" + std::to_string(n), sequences * n, kv_heads * dim, from + 1000000007);
    const Tensor v = b.random("v" + std::to_string(n), sequences * n, kv_heads * dim, from + 2000000011);
    for (int layer = 0; layer < layers; ++layer) ops.rope_append(q, k, v, still, {pass, cache, layer});
    return q;
  };
  if (context > 0) {
    append(longest, 11, ops.pass({ops.uniform(sequences, longest), slots}));
    b.finish();
  }
  ops.upload(slots.lengths, contexts);
  const int words = (rows + 31) / 32;
  std::optional<Tensor> tree_mask;
  if (tree != 0) tree_mask = reshape(ops.constant(tree_words(sequences, rows, words), words), sequences * rows, words);
  const auto pass = [&] { return ops.pass({ops.uniform(sequences, rows), slots, tree_mask}); };
  const Tensor q = append(rows, 77, pass());
  b.finish();
  const auto y = b.value_of(ops.attend(q, {pass(), cache, 0}));

  // Computes the last head of the last row of the last sequence in double.
  const auto queries = b.value_of(q);
  const int row = sequences * rows - 1, head = heads - 1, kv = head / (heads / kv_heads);
  const auto words_of = tree != 0 ? tree_words(1, rows, words) : std::vector<int>{};
  std::vector<double> score, result(at(dim), 0.0);
  double top = -INFINITY, sum = 0;
  for (int key = 0; key < longest + rows; ++key) {
    const int tail = key - longest;
    const bool seen = tail < 0 || tree == 0 ||
                      (static_cast<unsigned>(words_of[at((rows - 1) * words + tail / 32)]) >> (tail % 32) & 1U) != 0;
    const auto both = b.backend.cache_entry(cache, 0, sequences - 1, key);
    const float* entry = both.data() + kv * dim;
    double dot = 0;
    for (int c = 0; c < dim; ++c) dot += double{queries[at((row * heads + head) * dim + c)]} * entry[c];
    score.push_back(seen ? dot / std::sqrt(dim) : -INFINITY);
    top = std::max(top, score.back());
  }
  for (double& s : score) sum += s = std::exp(s - top);
  for (int key = 0; key < longest + rows; ++key) {
    const auto both = b.backend.cache_entry(cache, 0, sequences - 1, key);
    const float* entry = both.data() + (kv_heads + kv) * dim;
    for (int c = 0; c < dim; ++c) result[at(c)] += score[at(key)] / sum * entry[c];
  }
  for (int c = 0; c < dim; ++c)
    if (!close(y[at((row * heads + head) * dim + c)], result[at(c)], 1)) {
      p.skipped = "its result differs from the reference";
      return;
    }
  for (int layer = 0; layer < layers; ++layer) ops.attend(q, {pass(), cache, layer});
  time_layers(p, time_budget, reference, b, *b.finish(), layers);
}

void probe_elementwise(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const int rows = p.at("rows"), columns = p.at("columns");
  CpuBench b(1);
  const Tensor x = b.random("x", rows, p.op == "silu_mul" ? 2 * columns : columns, 5),
               y = b.random("y", rows, columns, 9);
  b.finish();
  const Weight w = b.store.vector("norm", columns);
  const auto op = [&] {
    if (p.op == "add") return b.ops.add(x, y);
    if (p.op == "silu_mul") return b.ops.silu_mul(x);
    return b.ops.rms_norm(x, w, 1e-5F);
  };
  const auto result = b.value_of(op());
  const auto a = b.value_of(x), c = b.value_of(y);
  std::vector<float> norm(at(columns));
  b.weights.load(b.store.name(w), 1, columns, norm);
  double squares = 0;
  for (int i = 0; i < columns; ++i) squares += double{a[at(i)]} * a[at(i)];
  for (int i = 0; i < columns; ++i) {
    const std::size_t place = at(i);
    const double left = a[place];
    const double expected = p.op == "add"        ? left + c[place]
                            : p.op == "silu_mul" ? left / (1 + std::exp(-left)) * a[place + at(columns)]
                                                 : left / std::sqrt(squares / columns + 1e-5) * norm[place];
    if (!close(result[place], expected, 2)) {
      p.skipped = "its result differs from the reference";
      return;
    }
  }
  op();
  const Tape* tape = b.finish();
  time_into(p, time_budget, reference, [&] { b.backend.finish(*tape); });
}

// Rotates rows at the positions behind a context and appends them there, one layer after the other.
void probe_rope_append(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  constexpr int kContext = 104, kRoom = 500;
  constexpr double kTheta = 10000;
  const int rows = p.at("rows"), heads = p.at("heads"), kv_heads = p.at("kv_heads"), dim = p.at("head_dim"),
            sequences = p.at("sequences", 1), layers = p.at("copies", 1);
  if (8.0 * layers * sequences * (kContext + rows + kRoom) * kv_heads * dim > kMostBytes) {
    p.skipped = "its cache needs more than 1.5 GB";
    return;
  }
  CpuBench b(sequences);
  Ops& ops = b.ops;
  const Cache cache = ops.cache(layers, kv_heads, dim, kContext + rows + kRoom);
  const BatchSlots slots = batch_of(ops, sequences, kContext);
  const int all_rows = sequences * rows;
  const Tensor q = b.random("q", all_rows, heads * dim, 1), k = b.random("k", all_rows, kv_heads * dim, 1000000007),
               v = b.random("v", all_rows, kv_heads * dim, 2000000011);
  b.finish();
  const auto op = [&](int layer) {
    const PassRef pass = ops.pass({ops.uniform(sequences, rows), slots, {}});
    return ops.rope_append(q, k, v, Rope{.theta = kTheta, .columns = dim}, {pass, cache, layer});
  };
  const auto result = b.value_of(op(layers - 1));
  const auto from = b.value_of(q);
  const int half = dim / 2, begin = (all_rows * heads - 1) * dim;  // the last head of the last row
  for (int i = 0; i < half; ++i) {
    const double angle = (kContext + rows - 1) * std::pow(kTheta, -2.0 * i / dim);
    const double x = from[at(begin + i)], y = from[at(begin + i + half)];
    if (!close(result[at(begin + i)], x * std::cos(angle) - y * std::sin(angle), 2)) {
      p.skipped = "its result differs from the reference";
      return;
    }
  }
  for (int layer = 0; layer < layers; ++layer) op(layer);
  time_layers(p, time_budget, reference, b, *b.finish(), layers);
}

void probe_memory(MeasuredPoint& p, Seconds time_budget, ClockReference& reference) {
  const auto n = at(p.at("kib")) * 1024 / sizeof(float);
  std::pmr::vector<float> from(n, huge_pages()), to(p.op == "copy" ? n : 0, huge_pages());
  for (std::size_t i = 0; i < n; ++i) from[i] = noise(i);
  volatile float sink = 0;
  if (p.op == "copy") {
    time_into(p, time_budget, reference, [&] {
      std::copy(from.begin(), from.end(), to.begin());
      sink = to[n / 2];
    });
    if (to != from) p.skipped = "its result differs from the reference";
    return;
  }
  time_into(p, time_budget, reference, [&] { sink = read_all(from); });
}

}  // namespace

struct ClockReference::Product {
  static constexpr int kRows = 4, kColumns = 128;
  CpuBench bench{1};
  const Tape* tape = nullptr;
  Product() {
    const Tensor x = bench.random("x", kRows, kColumns, 1);
    bench.finish();
    bench.ops.linear(x, bench.store.matrix("w", kColumns, kColumns));
    tape = bench.finish();
  }
  void run(int times) {
    for (int i = 0; i < times; ++i) bench.backend.finish(*tape);
  }
};

ClockReference::ClockReference(Seconds watch) : product_(std::make_unique<Product>()) {
  constexpr int kWarmUp = 100;
  for (int i = 0; i < kWarmUp; ++i) measure();
  clock_ = {};
  readings_ = {};
  const double start = now();
  do measure();
  while (now() - start < watch.value);
}
ClockReference::~ClockReference() = default;

double ClockReference::usual() const {
  constexpr double kShared = 1.15;
  return normalised_to_ && usual_ > kShared * *normalised_to_ ? *normalised_to_ : usual_;
}

ClockReference::Readings ClockReference::read(int more) {
  for (int i = 0; i < more; ++i) measure();
  return readings_;
}

void ClockReference::keep_busy() { product_->run(1); }

// Times GEMMs and as many additions as a core can do at once: both take longer at a lower clock, and longer while a
// program uses the core's SMT sibling.
double ClockReference::measure() {
  constexpr int kAdditions = 4000, kUntimed = 20, kTimed = 8;
  constexpr std::size_t kChains = 16;
  product_->run(kUntimed);
  volatile double one = 1;
  const double step = one, start = now();
  product_->run(kTimed);
  double sum[kChains] = {};
  for (int i = 0; i < kAdditions; ++i)
    for (double& s : sum) s += step;
  one = std::accumulate(std::begin(sum), std::end(sum), 0.0);
  const double took = now() - start;
  constexpr std::size_t kOften = 64;
  clock_.note(took);
  if (readings_.all++ % kOften == 0) usual_ = clock_.usual();
  readings_.free += std::log(took / usual()) < TimedSample::kApart;
  return took;
}

MeasuredPoint probe_cpu(const MeasuredPoint& asked, Seconds time_budget, ClockReference& reference) {
  MeasuredPoint p = asked;
  p.skipped.clear();
  if (p.op == "gemm") probe_gemm(p, time_budget, reference);
  else if (p.op == "attention") probe_attention(p, time_budget, reference);
  else if (p.op == "read" || p.op == "copy") probe_memory(p, time_budget, reference);
  else if (p.op == "add" || p.op == "silu_mul" || p.op == "rms_norm") probe_elementwise(p, time_budget, reference);
  else if (p.op == "rope_append") probe_rope_append(p, time_budget, reference);
  else if (p.op == "argmax") probe_argmax(p, time_budget, reference);
  else if (p.op == "top_k") probe_top_k(p, time_budget, reference);
  else if (p.op == "sample") probe_sample(p, time_budget, reference);
  else if (p.op == "clock_reference") p.low = p.median = p.high = Seconds{reference.typical()}, p.samples = 1;
  else p.skipped = "no such op on the CPU";
  return p;
}

}  // namespace draftline
