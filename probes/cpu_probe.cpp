// SPDX-License-Identifier: Apache-2.0
#include "probes/cpu_probe.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>

#include "core/rng.h"
#include "decoder/cpu/backend.h"
#include "decoder/ops.h"

namespace draftline {
namespace {

constexpr double kMostBytes = 1.5e9;  // of one point's data
constexpr double kTolerance = 2e-4;   // of sums of fp32, relative to the largest term's size
constexpr double kSlowClock = 1.15;   // a sample beside a yardstick that much slower than the best is discarded

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Uniform in [-1, 1): quick, and never zeros.
float noise(std::uint64_t i) {
  std::uint64_t x = i * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9u;
  return static_cast<float>(static_cast<double>(x >> 11) * 0x1.0p-52 - 1);
}

class NoiseWeights : public WeightSource {
 public:
  void load(const std::string& name, int, int, std::span<float> to) override {
    const std::uint64_t at = std::hash<std::string>{}(name) << 32;
    for (std::size_t i = 0; i < to.size(); ++i) to[i] = noise(at + i);
  }
};

// A fixed chain of additions: as long as it takes what it took, the clock is what it was.
double yardstick() {
  constexpr int kAdditions = 20000;
  volatile double one = 1;
  const double step = one, start = now();
  double sum = 0;
  for (int i = 0; i < kAdditions; ++i) sum += step;
  one = sum;
  return now() - start;
}

// Times `run` until patience ends. Samples that met another clock, or another program, are discarded and counted.
template <class Run>
void time_into(MeasuredPoint& p, Seconds patience, Run run) {
  constexpr std::size_t kLeastSamples = 3, kMostSamples = 400;
  run();
  std::vector<std::pair<double, double>> all;  // yardstick, time
  const double start = now();
  while (all.size() < kMostSamples && (all.size() < kLeastSamples || now() - start < patience.value)) {
    const double before = yardstick(), from = now();
    run();
    const double took = now() - from;
    all.emplace_back(std::max(before, yardstick()), took);
  }
  const double best = std::min_element(all.begin(), all.end())->first;
  std::vector<double> kept;
  for (const auto& [clock, took] : all)
    if (clock <= kSlowClock * best) kept.push_back(took);
  std::sort(kept.begin(), kept.end());
  p.samples = static_cast<int>(kept.size());
  p.discarded = static_cast<int>(all.size() - kept.size());
  p.low = Seconds{kept[kept.size() / 4]};
  p.median = Seconds{kept[kept.size() / 2]};
  p.high = Seconds{kept[kept.size() * 3 / 4]};
}

std::vector<int> bits_of_floats(std::size_t n, std::uint64_t from) {
  std::vector<int> bits(n);
  for (std::size_t i = 0; i < n; ++i) bits[i] = std::bit_cast<int>(noise(from + i));
  return bits;
}

// An interpreter with one op on a tape of its own, and the means to repeat it.
struct Bench {
  NoiseWeights weights;
  WeightStore store{DType::fp32};
  CpuBackend backend;
  Ops ops;
  const Tape* tape = nullptr;

  explicit Bench(int seats)
      : backend(store, weights, {CpuBackend::Mode::planned, 0, false}), ops(backend, DType::fp32, seats) {
    ops.on_segment = [this](const SegmentRun& run) { tape = run.tape; };
  }
  Tensor random(const std::string& name, int rows, int cols, std::uint64_t from) {
    const Tensor t = ops.slot(name, rows, cols, DType::fp32);
    ops.upload(t, bits_of_floats(static_cast<std::size_t>(rows) * static_cast<std::size_t>(cols), from));
    return t;
  }
  const Tape* finish() {
    ops.flush();
    return tape;
  }
  std::vector<float> value_of(const Tensor& result) {
    const Tensor kept = ops.slot("kept", result.rows, result.cols, DType::fp32);
    ops.store(kept, result);
    ops.flush();
    return backend.read_floats(kept);
  }
};

bool close(double ours, double reference, double size) { return std::abs(ours - reference) <= kTolerance * size; }

void probe_gemm(MeasuredPoint& p, Seconds patience) {
  const int rows = p.at("rows"), in = p.at("in"), out = p.at("out"), copies = p.at("copies");
  if (4.0 * in * out * (copies + 1) > kMostBytes) {
    p.skipped = "its weights need more than 1.5 GB";
    return;
  }
  Bench b(1);
  const Tensor x = b.random("x", rows, in, 1);
  b.finish();
  std::vector<Weight> w;
  for (int c = 0; c < copies; ++c) w.push_back(b.store.matrix("w" + std::to_string(c), in, out));
  const auto y = b.value_of(b.ops.linear(x, w[0]));
  std::vector<float> values(static_cast<std::size_t>(in) * static_cast<std::size_t>(out));
  b.weights.load(b.store.name(w[0]), in, out, values);
  for (int sample = 0; sample < 32; ++sample) {
    const int r = sample * 7 % rows, c = static_cast<int>(std::int64_t{sample} * 2654435761 % out);
    double sum = 0;
    for (int i = 0; i < in; ++i)
      sum += static_cast<double>(noise(1 + static_cast<std::uint64_t>(r) * static_cast<std::uint64_t>(in) +
                                       static_cast<std::uint64_t>(i))) *
             values[static_cast<std::size_t>(i) * static_cast<std::size_t>(out) + static_cast<std::size_t>(c)];
    if (!close(y[static_cast<std::size_t>(r) * static_cast<std::size_t>(out) + static_cast<std::size_t>(c)], sum,
               std::sqrt(in))) {
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
  time_into(p, patience, [&] { b.backend.finish(*tapes[next++ % tapes.size()]); });
}

// Visibility words of a tail of `rows` entries: every row sees itself, and its parent's line in a binary tree.
std::vector<int> tree_words(int sequences, int rows, int words) {
  std::vector<unsigned> sees(static_cast<std::size_t>(rows * words), 0);
  for (int r = 0; r < rows; ++r) {
    for (int w = 0; w < words && r > 0; ++w)
      sees[static_cast<std::size_t>(r * words + w)] = sees[static_cast<std::size_t>((r - 1) / 2 * words + w)];
    sees[static_cast<std::size_t>(r * words + r / 32)] |= 1U << (r % 32);
  }
  std::vector<int> all;
  for (int s = 0; s < sequences; ++s)
    for (const unsigned word : sees) all.push_back(static_cast<int>(word));
  return all;
}

void probe_attention(MeasuredPoint& p, Seconds patience) {
  const int sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context"), heads = p.at("heads"),
            kv_heads = p.at("kv_heads"), dim = p.at("head_dim"), tree = p.at("tree");
  const double cache_bytes = 8.0 * sequences * (context + rows) * kv_heads * dim;
  if (cache_bytes > kMostBytes) {
    p.skipped = "its cache needs more than 1.5 GB";
    return;
  }
  Bench b(sequences);
  Ops& ops = b.ops;
  const Cache cache = ops.cache(1, kv_heads, dim, context + rows);
  const Seats seats{ops.seat_slot("table", 1, 1, DType::int32), ops.seat_slot("lengths", 1, 1, DType::int32),
                    ops.seat_slot("ids", 1, 1, DType::int32)};
  std::vector<int> places(static_cast<std::size_t>(sequences));
  std::iota(places.begin(), places.end(), 0);
  const std::vector<int> nothing(places.size(), 0), full(places.size(), context);
  ops.upload(seats.table, places);
  ops.upload(seats.ids, places);
  ops.upload(seats.lengths, nothing);
  b.finish();
  const Rope still{10000, 0, {}};  // no column is rotated: the reference needs no angles
  const auto append = [&](int n, std::uint64_t from, PassRef pass) {
    const Tensor q = b.random("q" + std::to_string(n), sequences * n, heads * dim, from);
    const Tensor k = b.random("k" + std::to_string(n), sequences * n, kv_heads * dim, from + 1000000007);
    const Tensor v = b.random("v" + std::to_string(n), sequences * n, kv_heads * dim, from + 2000000011);
    ops.rope_append(q, k, v, still, pass, cache, 0);
    return q;
  };
  if (context > 0) {
    append(context, 11, ops.pass({ops.uniform(sequences, context), seats}));
    b.finish();
  }
  ops.upload(seats.lengths, full);
  const int words = (rows + 31) / 32;
  std::optional<Tensor> sees;
  if (tree != 0) sees = reshape(ops.constant(tree_words(sequences, rows, words), words), sequences * rows, words);
  const auto pass = [&] { return ops.pass({ops.uniform(sequences, rows), seats, sees}); };
  const Tensor q = append(rows, 77, pass());
  b.finish();
  const auto y = b.value_of(ops.attend(q, pass(), cache, 0));

  // The last row of the last sequence and its last head, in double.
  const auto queries = b.value_of(q);
  const int row = sequences * rows - 1, head = heads - 1, kv = head / (heads / kv_heads);
  const auto words_of = tree != 0 ? tree_words(1, rows, words) : std::vector<int>{};
  std::vector<double> score, result(static_cast<std::size_t>(dim), 0.0);
  double top = -INFINITY, sum = 0;
  for (int key = 0; key < context + rows; ++key) {
    const int tail = key - context;
    const bool seen =
        tail < 0 || tree == 0 ||
        (static_cast<unsigned>(words_of[static_cast<std::size_t>((rows - 1) * words + tail / 32)]) >> (tail % 32) &
         1U) != 0;
    const float* entry = b.backend.cache_entry(cache, 0, sequences - 1, key) + kv * dim;
    double dot = 0;
    for (int c = 0; c < dim; ++c)
      dot += static_cast<double>(queries[static_cast<std::size_t>((row * heads + head) * dim + c)]) * entry[c];
    score.push_back(seen ? dot / std::sqrt(dim) : -INFINITY);
    top = std::max(top, score.back());
  }
  for (double& s : score) sum += s = std::exp(s - top);
  for (int key = 0; key < context + rows; ++key) {
    const float* entry = b.backend.cache_entry(cache, 0, sequences - 1, key) + (kv_heads + kv) * dim;
    for (int c = 0; c < dim; ++c)
      result[static_cast<std::size_t>(c)] += score[static_cast<std::size_t>(key)] / sum * entry[c];
  }
  for (int c = 0; c < dim; ++c)
    if (!close(y[static_cast<std::size_t>((row * heads + head) * dim + c)], result[static_cast<std::size_t>(c)], 1)) {
      p.skipped = "its result differs from the reference";
      return;
    }
  ops.attend(q, pass(), cache, 0);
  const Tape* tape = b.finish();
  time_into(p, patience, [&] { b.backend.finish(*tape); });
}

void probe_elementwise(MeasuredPoint& p, Seconds patience) {
  const int rows = p.at("rows"), columns = p.at("columns");
  Bench b(1);
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
  std::vector<float> norm(static_cast<std::size_t>(columns));
  b.weights.load(b.store.name(w), 1, columns, norm);
  double squares = 0;
  for (int i = 0; i < columns; ++i)
    squares += static_cast<double>(a[static_cast<std::size_t>(i)]) * a[static_cast<std::size_t>(i)];
  for (int i = 0; i < columns; ++i) {
    const auto at = static_cast<std::size_t>(i);
    const double left = a[at];
    const double expected = p.op == "add" ? left + c[at]
                            : p.op == "silu_mul"
                                ? left / (1 + std::exp(-left)) * a[at + static_cast<std::size_t>(columns)]
                                : left / std::sqrt(squares / columns + 1e-5) * norm[at];
    if (!close(result[at], expected, 2)) {
      p.skipped = "its result differs from the reference";
      return;
    }
  }
  op();
  const Tape* tape = b.finish();
  time_into(p, patience, [&] { b.backend.finish(*tape); });
}

void probe_memory(MeasuredPoint& p, Seconds patience) {
  const auto n = static_cast<std::size_t>(p.at("kib")) * 1024 / sizeof(float);
  std::vector<float> from(n), to(p.op == "copy" ? n : 0);
  for (std::size_t i = 0; i < n; ++i) from[i] = noise(i);
  volatile float sink = 0;
  if (p.op == "copy") {
    time_into(p, patience, [&] {
      std::copy(from.begin(), from.end(), to.begin());
      sink = to[n / 2];
    });
    if (to != from) p.skipped = "its result differs from the reference";
    return;
  }
  time_into(p, patience, [&] {  // many sums side by side, so that no addition waits for another
    constexpr std::size_t kLanes = 64;
    float sum[kLanes] = {};
    for (std::size_t i = 0; i + kLanes <= n; i += kLanes)
      for (std::size_t j = 0; j < kLanes; ++j) sum[j] += from[i + j];
    sink = std::accumulate(std::begin(sum), std::end(sum), 0.0F);
  });
}

}  // namespace

std::vector<MeasuredPoint> cpu_grid(double last_cache) {
  std::vector<MeasuredPoint> grid;
  const auto add = [&](const char* op, std::map<std::string, int> shape) {
    grid.push_back({op, std::move(shape), {}, {}, {}, 0, 0, {}});
  };
  for (const int kib : {64, 4096, 262144})
    for (const char* op : {"read", "copy"}) add(op, {{"kib", kib}});
  // Inputs and outputs of small networks, powers of two and not; hot: one copy; cold: rotated through twice the last cache.
  const std::vector<std::pair<int, int>> products{{64, 256},    {128, 384},  {256, 256},   {256, 1024},  {384, 640},
                                                  {512, 512},   {512, 2048}, {768, 768},   {1024, 256},  {1024, 1024},
                                                  {1536, 512},  {768, 3072}, {2048, 2048}, {1024, 4096}, {3072, 768},
                                                  {4096, 1024}, {640, 8192}};
  for (const auto& [in, out] : products)
    for (const int rows : {1, 2, 3, 4, 5, 8, 16, 33}) {
      if (static_cast<double>(rows) * in * out > 3e7) continue;
      add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", 1}});
      const double bytes = 4.0 * in * out;
      if (rows <= 8 && rows != 3 && bytes >= 1 << 20)
        add("gemm",
            {{"rows", rows}, {"in", in}, {"out", out}, {"copies", static_cast<int>(2 * last_cache / bytes) + 2}});
    }
  struct Layout {
    int heads, kv_heads, head_dim;
  };
  for (const Layout l :
       {Layout{4, 4, 32}, Layout{8, 2, 64}, Layout{16, 4, 128}, Layout{12, 12, 64}, Layout{6, 3, 96}}) {
    const auto attention = [&](int sequences, int rows, int context, int tree) {
      if (static_cast<double>(sequences) * rows * (context + rows) * l.heads * l.head_dim > 5e7) return;
      add("attention", {{"sequences", sequences},
                        {"rows", rows},
                        {"context", context},
                        {"heads", l.heads},
                        {"kv_heads", l.kv_heads},
                        {"head_dim", l.head_dim},
                        {"tree", tree}});
    };
    for (const int context : {15, 64, 257, 1024, 4096})
      for (const int sequences : {1, 4, 16}) attention(sequences, 1, context, 0);  // decode
    for (const int rows : {16, 64, 192}) attention(1, rows, 0, 0);                 // prefill
    for (const int rows : {2, 4, 8, 24, 64})                                       // verify
      for (const int context : {64, 700, 4096})
        for (const int tree : {0, 1}) attention(rows <= 8 ? 4 : 1, rows, context, tree);
  }
  for (const char* op : {"add", "silu_mul", "rms_norm"})
    for (const int columns : {256, 1024, 4096})
      for (const int rows : {1, 8, 64}) add(op, {{"rows", rows}, {"columns", columns}});
  return grid;
}

MeasuredPoint probe_cpu(const MeasuredPoint& asked, Seconds patience) {
  MeasuredPoint p = asked;
  p.skipped.clear();
  if (p.op == "gemm") probe_gemm(p, patience);
  else if (p.op == "attention") probe_attention(p, patience);
  else if (p.op == "read" || p.op == "copy") probe_memory(p, patience);
  else if (p.op == "add" || p.op == "silu_mul" || p.op == "rms_norm") probe_elementwise(p, patience);
  else p.skipped = "no such op on the CPU";
  return p;
}

}  // namespace draftline
