// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda_probe.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>

#include "decoder/cuda/attention.h"
#include "decoder/cuda/blas.h"
#include "decoder/cuda/choose.h"
#include "decoder/cuda/device.h"
#include "decoder/cuda/elementwise.h"
#include "decoder/cuda/movement.h"
#include "probes/cuda_kernels.h"
#include "probes/probe_data.h"
#include "probes/samples.h"

namespace draftline {

using cuda::bf16;
using cuda::Buffer;
using cuda::must;
using cuda::Pinned;
using cuda::View;

namespace {

constexpr double kTolerance =
    1.0 / 64;  // of results in bf16, relative to their size: 2^-8, and as much for what is summed

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }
double stored(float v) { return static_cast<double>(cuda::to_float(cuda::from_float<bf16>(v))); }
double noise_at(std::uint64_t i) { return stored(noise(i)); }
std::size_t product(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }

bool close(double ours, double reference, double size) { return std::abs(ours - reference) <= kTolerance * size; }
constexpr const char* kDiffers = "its result differs from the reference";

template <class T>
struct Matrix {
  Buffer buffer;
  int rows, cols;
  Matrix(int r, int c) : buffer(std::max<std::size_t>(product(r, c), 1) * sizeof(T)), rows(r), cols(c) {}
  T* data() const { return reinterpret_cast<T*>(buffer.data()); }
  View<T> view() const { return {data(), rows, cols, cols}; }
  View<const T> read() const { return {data(), rows, cols, cols}; }
  std::vector<double> row(int r) const {
    std::vector<T> values(static_cast<std::size_t>(cols));
    must(cudaMemcpy(values.data(), view().row(r), values.size() * sizeof(T), cudaMemcpyDeviceToHost), "reading back");
    std::vector<double> result;
    for (const T v : values) {
      if constexpr (std::is_same_v<T, int>) result.push_back(v);
      else result.push_back(static_cast<double>(cuda::to_float(v)));
    }
    return result;
  }
};

Matrix<int> uploaded(const std::vector<int>& values, int cols) {
  Matrix<int> m(static_cast<int>(values.size()) / cols, cols);
  must(cudaMemcpy(m.data(), values.data(), values.size() * sizeof(int), cudaMemcpyHostToDevice), "copying");
  must(cudaDeviceSynchronize(), "copying");  // it may return before, and our streams don't wait for it
  return m;
}

struct Recording {  // a graph of launches
  cudaGraphExec_t exec = nullptr;
  template <class Issue>
  Recording(const cuda::Stream& stream, Issue issue) {
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    issue();
    cudaGraph_t graph = nullptr;
    must(cudaStreamEndCapture(stream, &graph), "capture");
    const cudaError_t made = cudaGraphInstantiate(&exec, graph, 0);
    static_cast<void>(cudaGraphDestroy(graph));
    must(made, "making a graph");
  }
  Recording(const Recording&) = delete;
  ~Recording() { static_cast<void>(cudaGraphExecDestroy(exec)); }
  void run(const cuda::Stream& stream) const { must(cudaGraphLaunch(exec, stream), "launching a graph"); }
};

}  // namespace

struct CudaProbe::State {
  cuda::DeviceFacts facts = cuda::open_device();
  cuda::Stream stream;
  cuda::Blas blas{stream};
  cuda::Event before, after;
  Matrix<float> yardstick_result{1, 1};
  UsualClock clock;

  bool fits(double bytes, MeasuredPoint& p) const {
    constexpr double kShare = 0.8;
    std::size_t free = 0, total = 0;
    must(cudaMemGetInfo(&free, &total), "asking for free memory");
    if (bytes <= kShare * static_cast<double>(free)) return true;
    p.skipped = "its data need more memory than the device has free";
    return false;
  }
  template <class T>
  void fill(const Matrix<T>& m, std::uint64_t from) {
    cuda::fill_noise(m.data(), static_cast<std::int64_t>(product(m.rows, m.cols)), from, stream);
  }
  Buffer zeros(std::size_t bytes) const {
    Buffer b(bytes);
    must(cudaMemsetAsync(b.data(), 0, bytes, stream), "filling");
    return b;
  }

  double yardstick() {
    before.record(stream);
    cuda::run_yardstick(facts.multiprocessors, yardstick_result.data(), stream);
    after.record(stream);
    after.wait();
    const double took = after.seconds_since(before);
    clock.note(took);
    return took;
  }

  // `sample`: seconds of one sample.
  template <class Take>
  void take_samples(MeasuredPoint& p, Seconds patience, Take take) {
    constexpr std::size_t kMostSamples = 200;
    constexpr double kMostPatience = 3;
    constexpr int kFirstReadings = 20;
    take();
    for (int i = 0; i < kFirstReadings; ++i) yardstick();
    const double usual = clock.usual();
    std::vector<TimedSample> all;
    std::size_t good = 0;
    const double start = now();
    while (all.size() < kLeastSamples ||
           (all.size() < kMostSamples &&
            now() - start < (good < kLeastSamples ? kMostPatience * patience.value : patience.value))) {
      const double clock_before = yardstick(), took = take();
      all.push_back({took, clock_before, yardstick()});
      good += all.back().met(usual);
    }
    summarise(p, all, usual);
  }

  // Device time of `issue(i)`, i in turn through `copies`, as nodes of a graph: so the decoder runs them.
  template <class Issue>
  void time_kernels(MeasuredPoint& p, Seconds patience, int copies, Issue issue) {
    constexpr double kLeastSeconds = 200e-6;
    constexpr int kMostNodes = 1024;
    issue(0);
    before.record(stream);
    const int trial = std::min(copies, 4);
    for (int i = 0; i < trial; ++i) issue(i);
    after.record(stream);
    after.wait();
    const double one = std::max(after.seconds_since(before) / trial, 1e-7);
    const int rounds = std::max(1, static_cast<int>(kLeastSeconds / (one * copies)));
    const int nodes = std::min(copies * rounds, std::max(copies, kMostNodes));
    const Recording graph(stream, [&] {
      for (int i = 0; i < nodes; ++i) issue(i % copies);
    });
    take_samples(p, patience, [&] {
      before.record(stream);
      graph.run(stream);
      after.record(stream);
      after.wait();
      return std::max(after.seconds_since(before) / nodes, 1e-9);
    });
  }

  void gemm(MeasuredPoint& p, Seconds patience) {
    const int rows = p.at("rows"), in = p.at("in"), out = p.at("out"), copies = p.at("copies");
    if (!fits(2.0 * in * out * copies + 2.0 * rows * (in + out), p)) return;
    const Matrix<bf16> x(rows, in), y(rows, out);
    Buffer w(product(in, out) * static_cast<std::size_t>(copies) * sizeof(bf16));
    auto* weights = reinterpret_cast<bf16*>(w.data());
    constexpr std::uint64_t kWeights = 1'000'000'007;
    fill(x, 1);
    cuda::fill_noise(weights, static_cast<std::int64_t>(product(in, out)) * copies, kWeights, stream);
    const cuda::GemmShape shape{rows, in, out, in, out, true, false};
    const auto operands = [&](int copy) {
      return cuda::GemmOperands{x.data(), weights + static_cast<std::ptrdiff_t>(product(in, out)) * copy, nullptr,
                                y.data()};
    };
    blas.prepare(shape, operands(0));
    blas.run(shape, operands(0));
    stream.wait();
    const int r = rows - 1;
    const auto result = y.row(r);
    for (int sample = 0; sample < 32; ++sample) {
      const int c = static_cast<int>(std::int64_t{sample} * 2654435761 % out);
      double sum = 0;
      for (int i = 0; i < in; ++i)
        sum += noise_at(1 + product(r, in) + static_cast<std::uint64_t>(i)) *
               noise_at(kWeights + product(i, out) + static_cast<std::uint64_t>(c));
      if (!close(result[static_cast<std::size_t>(c)], sum, std::sqrt(in))) {
        p.skipped = kDiffers;
        return;
      }
    }
    time_kernels(p, patience, copies, [&](int i) { blas.run(shape, operands(i)); });
  }

  // Layers in turn, so many that none is found in L2, as in a step whose weights went through it.
  void attention(MeasuredPoint& p, Seconds patience) {
    const int sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context"), heads = p.at("heads"),
              kv_heads = p.at("kv_heads"), dim = p.at("head_dim"), tree = p.at("tree");
    const int per_place = cuda::ceil_div(context + rows, cuda::kBlockTokens), blocks = sequences * per_place;
    const double layer_bytes = 4.0 * blocks * cuda::kBlockTokens * kv_heads * dim;
    const int layers = p.at("copies", 1);
    const cuda::AttendShape shape{
        sequences, rows, heads, kv_heads, dim, per_place * cuda::kBlockTokens, facts.multiprocessors};
    if (layer_bytes * layers > 1e12 || !fits(layer_bytes * layers + 4.0 * sequences * rows * heads * dim +
                                                 static_cast<double>(cuda::attend_scratch<bf16>(shape)),
                                             p))
      return;
    constexpr std::uint64_t kCache = 2'000'000'011;
    const auto layer_values = static_cast<std::size_t>(layer_bytes / sizeof(bf16));
    Buffer data(layer_values * static_cast<std::size_t>(layers) * sizeof(bf16));
    cuda::fill_noise(reinterpret_cast<bf16*>(data.data()), static_cast<std::int64_t>(layer_values) * layers, kCache,
                     stream);
    std::vector<int> table(static_cast<std::size_t>(blocks)), places(static_cast<std::size_t>(sequences)), starts;
    for (int i = 0; i < blocks; ++i)  // blocks of a sequence lie apart from each other
      table[static_cast<std::size_t>(i)] = i % sequences * per_place + i / sequences;
    std::iota(places.begin(), places.end(), 0);
    for (int b = 0; b <= sequences; ++b) starts.push_back(b * rows);
    const int words = cuda::ceil_div(rows, 32);
    const auto mask = tree_words(sequences, rows, words);
    const auto d_table = uploaded(table, 1), d_places = uploaded(places, 1), d_starts = uploaded(starts, 1),
               d_lengths = uploaded(std::vector<int>(places.size(), context), 1), d_mask = uploaded(mask, words);
    const cuda::CacheView<bf16> cache{
        reinterpret_cast<bf16*>(data.data()), d_table.data(), per_place, blocks, kv_heads, dim};
    cuda::PassView pass{d_starts.read(),
                        {d_places.read(), d_lengths.read(), d_places.read()},
                        {},
                        sequences,
                        sequences * rows,
                        rows,
                        0};
    if (tree != 0) pass.sees = d_mask.read();
    const Matrix<bf16> q(sequences * rows, heads * dim), y(sequences * rows, heads * dim);
    fill(q, 5);
    const Buffer scratch = zeros(cuda::attend_scratch<bf16>(shape));
    const auto run = [&](int layer) {
      cuda::attend<bf16>(q.read(), pass, cache, layer, facts.multiprocessors, {scratch.data(), scratch.bytes()},
                         y.view(), stream);
    };
    run(0);
    stream.wait();

    // The last row of the last sequence and its last head, in double.
    const int row = sequences * rows - 1, head = heads - 1, kv = head / (heads / kv_heads);
    const auto value = [&](int key, int which, int column) {
      const int block = table[static_cast<std::size_t>((sequences - 1) * per_place + key / cuda::kBlockTokens)];
      const std::size_t at = ((static_cast<std::size_t>(block) * 2 + static_cast<std::size_t>(which)) *
                                  static_cast<std::size_t>(kv_heads) +
                              static_cast<std::size_t>(kv)) *
                                 cuda::kBlockTokens +
                             static_cast<std::size_t>(key % cuda::kBlockTokens);
      return noise_at(kCache + at * static_cast<std::size_t>(dim) + static_cast<std::size_t>(column));
    };
    const std::uint64_t q_at = 5 + product(row, heads * dim) + product(head, dim);
    std::vector<double> score, result(static_cast<std::size_t>(dim), 0.0);
    double top = -INFINITY, sum = 0;
    for (int key = 0; key < context + rows; ++key) {
      const int tail = key - context;
      const bool seen =
          tail < 0 || tree == 0 ||
          (static_cast<unsigned>(mask[static_cast<std::size_t>(row * words + tail / 32)]) >> (tail % 32) & 1U) != 0;
      double dot = 0;
      for (int c = 0; seen && c < dim; ++c) dot += noise_at(q_at + static_cast<std::uint64_t>(c)) * value(key, 0, c);
      score.push_back(seen ? dot / std::sqrt(dim) : -INFINITY);
      top = std::max(top, score.back());
    }
    for (double& s : score) sum += s = std::exp(s - top);
    for (int key = 0; key < context + rows; ++key) {
      const double weight = score[static_cast<std::size_t>(key)] / sum;
      for (int c = 0; weight > 0 && c < dim; ++c) result[static_cast<std::size_t>(c)] += weight * value(key, 1, c);
    }
    const auto ours = y.row(row);
    double size = 0;
    for (const double v : result) size = std::max(size, std::abs(v));
    for (int c = 0; c < dim; ++c)
      if (!close(ours[static_cast<std::size_t>(head * dim + c)], result[static_cast<std::size_t>(c)], size)) {
        p.skipped = kDiffers;
        return;
      }
    time_kernels(p, patience, layers, run);
  }

  void elementwise(MeasuredPoint& p, Seconds patience) {
    const int rows = p.at("rows"), columns = p.at("columns");
    if (!fits(10.0 * rows * columns, p)) return;
    const Matrix<bf16> x(rows, p.op == "silu_mul" ? 2 * columns : columns), other(rows, columns), w(1, columns),
        y(rows, columns);
    fill(x, 5);
    fill(other, 1'000'000'007);
    fill(w, 9);
    constexpr float kEpsilon = 1e-5F;
    const auto run = [&](int) {
      if (p.op == "add") cuda::add<bf16>(x.read(), other.read(), y.view(), stream);
      else if (p.op == "silu_mul") cuda::silu_mul<bf16>(x.read(), y.view(), stream);
      else cuda::rms_norm<bf16>(x.read(), w.read(), columns, kEpsilon, y.view(), stream);
    };
    run(0);
    stream.wait();
    const auto a = x.row(rows - 1), b = other.row(rows - 1), norm = w.row(0), ours = y.row(rows - 1);
    double squares = 0;
    for (std::size_t i = 0; i < norm.size(); ++i) squares += a[i] * a[i];
    for (std::size_t i = 0; i < norm.size(); ++i) {
      const double expected = p.op == "add"        ? a[i] + b[i]
                              : p.op == "silu_mul" ? a[i] / (1 + std::exp(-a[i])) * a[i + norm.size()]
                                                   : a[i] / std::sqrt(squares / columns + kEpsilon) * norm[i];
      if (!close(ours[i], expected, 2)) {
        p.skipped = kDiffers;
        return;
      }
    }
    time_kernels(p, patience, 1, run);
  }

  void rope_append(MeasuredPoint& p, Seconds patience) {
    constexpr int kContext = 500;
    constexpr double kTheta = 10000;
    const int rows = p.at("rows"), heads = p.at("heads"), kv_heads = p.at("kv_heads"), dim = p.at("head_dim"),
              half = dim / 2, blocks = cuda::ceil_div(kContext + rows, cuda::kBlockTokens);
    if (!fits(4.0 * (kContext + 2.0 * rows) * kv_heads * dim + 4.0 * rows * heads * dim, p)) return;
    const Matrix<bf16> q(rows, heads * dim), k(rows, kv_heads * dim), v(rows, kv_heads * dim), y(rows, heads * dim),
        entries(blocks * 2 * kv_heads * cuda::kBlockTokens, dim);
    fill(q, 1);
    fill(k, 1'000'000'007);
    fill(v, 2'000'000'011);
    std::vector<float> frequencies;
    for (int i = 0; i < half; ++i) frequencies.push_back(static_cast<float>(std::pow(kTheta, -2.0 * i / dim)));
    const Matrix<float> d_frequencies(1, std::max(half, 1));
    must(cudaMemcpy(d_frequencies.data(), frequencies.data(), frequencies.size() * sizeof(float),
                    cudaMemcpyHostToDevice),
         "copying");
    std::vector<int> table(static_cast<std::size_t>(blocks));
    std::iota(table.begin(), table.end(), 0);
    const auto d_table = uploaded(table, 1), place = uploaded({0}, 1), lengths = uploaded({kContext}, 1),
               starts = uploaded({0, rows}, 1);
    const cuda::CacheView<bf16> cache{entries.data(), d_table.data(), blocks, blocks, kv_heads, dim};
    const cuda::PassView pass{starts.read(), {place.read(), lengths.read(), place.read()}, {}, 1, rows, rows, 0};
    const auto run = [&](int) {
      cuda::rope_append<bf16>(q.read(), k.read(), v.read(), d_frequencies.data(), half, pass, cache, 0, y.view(),
                              stream);
    };
    run(0);
    stream.wait();
    const auto from = q.row(rows - 1), ours = y.row(rows - 1);
    const auto at = static_cast<std::size_t>((heads - 1) * dim), far = static_cast<std::size_t>(half);
    for (std::size_t i = 0; i < far; ++i) {
      const double angle = (kContext + rows - 1) * static_cast<double>(frequencies[i]);
      if (!close(ours[at + i], from[at + i] * std::cos(angle) - from[at + i + far] * std::sin(angle), 2)) {
        p.skipped = kDiffers;
        return;
      }
    }
    time_kernels(p, patience, 1, run);
  }

  void argmax(MeasuredPoint& p, Seconds patience) {
    const int rows = p.at("rows"), columns = p.at("columns");
    const std::size_t bytes = cuda::choose_scratch(rows, columns, 1, facts.multiprocessors);
    if (!fits(2.0 * rows * columns + static_cast<double>(bytes), p)) return;
    const Matrix<bf16> x(rows, columns);
    const Matrix<int> y(rows, 1);
    fill(x, 5);
    const Buffer scratch = zeros(bytes);
    const auto run = [&](int) {
      cuda::argmax<bf16>(x.read(), facts.multiprocessors, {scratch.data(), scratch.bytes()}, y.view(), stream);
    };
    run(0);
    stream.wait();
    const auto values = x.row(rows - 1);
    if (static_cast<std::ptrdiff_t>(y.row(rows - 1)[0]) !=
        std::max_element(values.begin(), values.end()) - values.begin()) {
      p.skipped = kDiffers;
      return;
    }
    time_kernels(p, patience, 1, run);
  }

  void memory(MeasuredPoint& p, Seconds patience) {
    const std::int64_t bytes = std::int64_t{p.at("kib")} * 1024;
    const bool copy = p.op == "copy";
    if (!fits(static_cast<double>(bytes) * (copy ? 2 : 1), p)) return;
    const Buffer from(static_cast<std::size_t>(bytes)), to(copy ? static_cast<std::size_t>(bytes) : 16);
    const Matrix<int> result(cuda::read_blocks(facts.multiprocessors), 1);
    cuda::fill_noise(reinterpret_cast<float*>(from.data()), bytes / 4, 3, stream);
    const auto read = [&](std::int64_t n) {
      cuda::read_memory(from.data(), n, facts.multiprocessors, reinterpret_cast<unsigned*>(result.data()), stream);
    };
    const std::int64_t checked = std::min<std::int64_t>(bytes, 1 << 16);
    std::vector<std::uint32_t> there(static_cast<std::size_t>(checked / 4));
    unsigned all = 0;
    if (copy) {
      cuda::copy_memory(from.data(), bytes, facts.multiprocessors, to.data(), stream);
      stream.wait();
      must(cudaMemcpy(there.data(), to.data() + bytes - checked, static_cast<std::size_t>(checked),
                      cudaMemcpyDeviceToHost),
           "reading back");
    } else {
      read(checked);
      stream.wait();
      for (int b = 0; b < result.rows; ++b) all ^= static_cast<unsigned>(static_cast<std::int64_t>(result.row(b)[0]));
    }
    for (std::size_t i = 0; i < there.size(); ++i) {
      const auto at = static_cast<std::uint64_t>(copy ? (bytes - checked) / 4 : 0) + i;
      std::uint32_t bits;
      const float v = noise(3 + at);
      std::memcpy(&bits, &v, sizeof bits);
      if (!copy) all ^= bits;
      else if (bits != there[i]) p.skipped = kDiffers;
    }
    if (all != 0) p.skipped = kDiffers;
    if (!p.skipped.empty()) return;
    time_kernels(p, patience, 1, [&](int) {
      if (copy) cuda::copy_memory(from.data(), bytes, facts.multiprocessors, to.data(), stream);
      else read(bytes);
    });
  }

  // What the host sees, by its own clock.
  void host(MeasuredPoint& p, Seconds patience) {
    const int n = p.op == "read_back" ? 1 : p.at("kernels");
    constexpr int kMostKernels = 1000;  // fewer than a stream holds before the host must wait
    if (n > kMostKernels) {
      p.skipped = "more launches than a stream takes without waiting";
      return;
    }
    const auto launches = [&] {
      for (int i = 0; i < n; ++i) cuda::run_nothing(stream);
    };
    const auto timed = [&](auto run) {
      take_samples(p, patience, [&] {
        stream.wait();
        const double start = now();
        run();
        const double took = now() - start;
        stream.wait();
        return std::max(took, 1e-9);
      });
    };
    if (p.op == "launch") {
      timed(launches);
      p.low = p.low * (1.0 / n), p.median = p.median * (1.0 / n), p.high = p.high * (1.0 / n);
    } else if (p.op == "graph") {
      const Recording graph(stream, launches);
      timed([&] {
        graph.run(stream);
        stream.wait();
      });
    } else if (p.op == "synchronise") {
      timed([&] {
        launches();
        stream.wait();
      });
    } else {
      const auto bytes = static_cast<std::size_t>(p.at("bytes"));
      const Buffer from = zeros(bytes);
      const Pinned to(bytes);
      timed([&] {
        must(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToHost, stream), "reading back");
        stream.wait();
      });
    }
  }
};

CudaProbe::CudaProbe() : state_(std::make_unique<State>()) {
  for (int i = 0; i < 20; ++i) state_->yardstick();
}
CudaProbe::~CudaProbe() = default;

std::string CudaProbe::title() const { return state_->facts.name; }

std::map<std::string, double> CudaProbe::machine() const {
  const cuda::DeviceFacts& f = state_->facts;
  const auto megahertz = [](cudaDeviceAttr which) {  // the most there is; what it was shows in the yardstick
    int kilohertz = 0;
    must(cudaDeviceGetAttribute(&kilohertz, which, 0), "asking for a clock");
    return kilohertz / 1000.0;
  };
  return {{"clock_mhz", megahertz(cudaDevAttrClockRate)},
          {"memory_clock_mhz", megahertz(cudaDevAttrMemoryClockRate)},
          {"l2_cache", static_cast<double>(f.l2)},
          {"memory", static_cast<double>(f.memory)},
          {"multiprocessors", static_cast<double>(f.multiprocessors)},
          {"compute_capability", f.major + 0.1 * f.minor},
          {"driver", static_cast<double>(f.driver)},
          {"runtime", static_cast<double>(f.runtime)}};
}

MeasuredPoint CudaProbe::measure(const MeasuredPoint& asked, Seconds patience) {
  MeasuredPoint p = asked;
  p.skipped.clear();
  State& s = *state_;
  if (p.op == "gemm") s.gemm(p, patience);
  else if (p.op == "attention") s.attention(p, patience);
  else if (p.op == "read" || p.op == "copy") s.memory(p, patience);
  else if (p.op == "add" || p.op == "silu_mul" || p.op == "rms_norm") s.elementwise(p, patience);
  else if (p.op == "rope_append") s.rope_append(p, patience);
  else if (p.op == "argmax") s.argmax(p, patience);
  else if (p.op == "launch" || p.op == "graph" || p.op == "synchronise" || p.op == "read_back") s.host(p, patience);
  else p.skipped = "no such op on CUDA";
  return p;
}

}  // namespace draftline
