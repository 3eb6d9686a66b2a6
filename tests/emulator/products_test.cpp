// SPDX-License-Identifier: Apache-2.0
// Matrix products and norms against sums in double, and how their algorithms are chosen.
#include "decoder/cuda/blas.h"
#include "decoder/cuda/elementwise.h"
#include "decoder/cuda/few_rows.h"
#include "tests/emulator/op_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// Columns of wider rows: x, y and their strides as a decoder has them.
struct Product {
  Product(int rows_, int in_, int out_, bool biased_, unsigned seed)
      : rows(rows_), in(in_), out(out_), biased(biased_), dice(seed) {
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < out; ++i) {
        double sum = biased ? bias[static_cast<std::size_t>(i)] : 0;
        for (int k = 0; k < in; ++k) sum += double{xs[at(r, k, in + 3)]} * ws[at(k, i, out)];
        expected.push_back(static_cast<float>(sum));
      }
  }
  static std::size_t at(int r, int c, int stride) { return static_cast<std::size_t>(r * stride + c); }
  std::vector<float> normal(int n) { return dice.normal<bf16>(static_cast<std::size_t>(n)); }
  View<const bf16> x() const { return {device_x.read().data, rows, in, in + 3}; }
  View<bf16> y() const { return {device_y.view().data, rows, out, out + 5}; }
  GemmShape shape() const { return {rows, in, out, in + 3, out + 5, true, biased}; }
  GemmOperands operands() const {
    return {x().data, device_w.read().data, biased ? device_bias.read().data : nullptr, y().data};
  }
  // Two roundings to bf16's 8 bits: of the result, and on tensor cores of nothing else; fp32 sums are 2^-23 a term off.
  void check_result() const {
    const auto got = device_y.floats();
    const double size = std::sqrt(in);
    for (int r = 0; r < rows; ++r)
      for (int i = 0; i < out; ++i) {
        INFO("row " << r << ", column " << i);
        const double want = expected[at(r, i, out)];
        REQUIRE(std::abs(double{got[at(r, i, out + 5)]} - want) <= std::abs(want) / 256 + size * 1e-4);
      }
    for (int r = 0; r < rows; ++r)  // nothing is written behind a row
      for (int i = out; i < out + 5; ++i) REQUIRE(std::isnan(got[at(r, i, out + 5)]));
  }

  int rows, in, out;
  bool biased;
  Dice dice;
  std::vector<float> xs = normal(rows * (in + 3)), ws = normal(in * out), bias = normal(out), expected;
  Array<bf16> device_x{xs, in + 3}, device_w{ws, out}, device_bias{bias, out}, device_y{rows, out + 5};
};

}  // namespace

TEST_CASE("products of few rows are sums of all inputs, however they are cut into parts") {
  NEEDS_DEVICE;
  Stream stream;
  const Workspace counters(kCounterBytes);
  const int rows = GENERATE(1, 2, 3, 5, 7, 8);
  for (const auto& [in, out] : std::vector<std::pair<int, int>>{{1, 8}, {37, 64}, {1030, 72}, {520, 200}}) {
    const Product p(rows, in, out, rows % 2 == 1, 3);
    const auto all = few_rows_splits({rows, in, out}, 132);
    REQUIRE_FALSE(all.empty());
    if (in >= 1024) CHECK(all.size() >= 4);
    for (const int splits : all) {
      INFO(rows << " rows, " << in << " x " << out << ", " << splits << " parts");
      const Buffer parts(few_rows_parts({rows, in, out}, splits) + 1);
      const auto run = [&] {
        few_rows(p.x(), p.device_w.read().data, p.biased ? p.device_bias.read().data : nullptr, splits,
                 reinterpret_cast<unsigned*>(counters.buffer.data()), reinterpret_cast<float*>(parts.data()), p.y(),
                 stream);
        stream.wait();
      };
      run();
      p.check_result();
      const auto once = p.device_y.floats();
      run();  // its counters are as they were, and the same sums have the same bits
      const auto again = p.device_y.floats();
      for (std::size_t i = 0; i < once.size(); ++i)
        if (!std::isnan(once[i])) REQUIRE(again[i] == once[i]);
    }
  }
  CHECK(few_rows_splits({9, 64, 64}, 132).empty());
  CHECK(few_rows_splits({1, 64, 60}, 132).empty());
}

TEST_CASE("a product is right whichever algorithm is chosen, and a graph of it gives its bits") {
  NEEDS_DEVICE;
  Stream stream;
  const auto choice = GENERATE(Blas::Choice::timed, Blas::Choice::first);
  Blas blas(stream, choice);
  for (const int rows : {1, 4, 9, 600}) {
    const Product p(rows, 72, 40, rows != 4, 5);
    INFO(rows << " rows");
    blas.prepare(p.shape(), p.operands());
    must(cudaMemset(p.device_y.view().data, 0xff, static_cast<std::size_t>(rows) * 45 * sizeof(bf16)), "filling");
    settle();
    blas.run(p.shape(), p.operands());
    stream.wait();
    p.check_result();
    const auto eager = p.device_y.floats();
    CHECK(blas.launches(p.shape(), p.operands()) >= 1);

    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    blas.run(p.shape(), p.operands());
    must(cudaStreamEndCapture(stream, &graph), "capture");
    std::size_t nodes = 0;
    must(cudaGraphGetNodes(graph, nullptr, &nodes), "nodes");
    CHECK(static_cast<int>(nodes) == blas.launches(p.shape(), p.operands()));
    must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
    must(cudaMemset(p.device_y.view().data, 0xff, static_cast<std::size_t>(rows) * 45 * sizeof(bf16)), "filling");
    settle();
    must(cudaGraphLaunch(exec, stream), "graph");
    stream.wait();
    p.check_result();
    for (std::size_t i = 0; i < eager.size(); ++i)
      if (!std::isnan(eager[i])) REQUIRE(p.device_y.floats()[i] == eager[i]);
    static_cast<void>(cudaGraphExecDestroy(exec));
    static_cast<void>(cudaGraphDestroy(graph));
  }
}

TEST_CASE("sums are joined in fp32: in bf16 they would stop growing") {
  NEEDS_DEVICE;
  // 2048 ones: 256 + 1 is 256 in bf16. Rows of one tile and of several.
  Stream stream;
  Blas blas(stream, GENERATE(Blas::Choice::timed, Blas::Choice::first));
  const int rows = GENERATE(1, 16), in = 2048, out = 64;
  const auto ones = [](int n) { return std::vector<float>(static_cast<std::size_t>(n), 1.0F); };
  const Array<bf16> x(ones(rows * in), in), w(ones(in * out), out), y(rows, out);
  const GemmShape shape{rows, in, out, in, out, true, false};
  const GemmOperands operands{x.read().data, w.read().data, nullptr, y.view().data};
  blas.prepare(shape, operands);
  blas.run(shape, operands);
  stream.wait();
  for (const float v : y.floats()) REQUIRE(v == 2048);
}

TEST_CASE("norms of rows that can and can't be read 16 bytes at a time agree") {
  NEEDS_DEVICE;
  // Widths: of a head; no multiple of 8; of a layer; more than a chunk a thread.
  Stream stream;
  const int width = GENERATE(64, 100, 4096, 10240), shift = GENERATE(0, 1), rows = 3;
  const int stride = width + 8;
  Dice dice(7);
  const auto xs = dice.normal<bf16>(static_cast<std::size_t>(rows * stride)),
             ds = dice.normal<bf16>(static_cast<std::size_t>(rows * stride)),
             ws = dice.normal<bf16>(static_cast<std::size_t>(width));
  const Array<bf16> x(xs, stride), d(ds, stride), w(ws, width), sum(rows, stride), y(rows, stride);
  const auto in = [&](const Array<bf16>& a) { return View<const bf16>{a.read().data + shift, rows, width, stride}; };
  const auto out = [&](const Array<bf16>& a) { return View<bf16>{a.view().data + shift, rows, width, stride}; };
  const bool both = GENERATE(false, true);
  if (both) add_rms_norm(in(x), in(d), w.read(), 1e-5F, out(sum), out(y), stream);
  else rms_norm(in(x), w.read(), width, 1e-5F, out(y), stream);
  stream.wait();
  const auto got = y.floats(), sums = sum.floats();
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    std::vector<float> row;
    for (int c = 0; c < width; ++c) {
      const auto at = static_cast<std::size_t>(r * stride + c + shift);
      row.push_back(both ? rounded<bf16>(xs[at] + ds[at]) : xs[at]);
      squares += double{row.back()} * row.back();
      if (both) REQUIRE(sums[at] == row.back());
    }
    for (int c = 0; c < width; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const double want = row[i] / std::sqrt(squares / width + 1e-5) * ws[i];
      REQUIRE(std::abs(got[static_cast<std::size_t>(r * stride + c + shift)] - want) <= std::abs(want) / 200 + 1e-6);
    }
  }
}
