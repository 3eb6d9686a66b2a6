// SPDX-License-Identifier: Apache-2.0
// Matrix products and norms against sums in double, and how their algorithms are chosen.
#include <algorithm>
#include <sstream>

#include "core/errors.h"
#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/gemm/few_rows.h"
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
  // A rounding to bf16's 8 bits is up to 2^-8 of a value off, fp32 sums are 2^-23 a term off. `apart`: the sum may have
  // been rounded before the bias was added, as cuBLASLt did on an H100 where rows were not aligned to 4 bytes.
  void check_result(bool apart = false) const {
    const auto got = device_y.floats();
    const double size = std::sqrt(in);
    int wrong = 0, written = 0;
    for (int r = 0; r < rows; ++r) {
      for (int i = 0; i < out; ++i) {
        const double want = expected[at(r, i, out)];
        const double rounded_before = apart && biased ? want - bias[static_cast<std::size_t>(i)] : 0;
        wrong += !(std::abs(double{got[at(r, i, out + 5)]} - want) <=
                   (std::abs(want) + std::abs(rounded_before)) / 256 + size * 1e-4);
      }
      for (int i = out; i < out + 5; ++i) written += !std::isnan(got[at(r, i, out + 5)]);  // behind a row
    }
    CHECK(wrong == 0);
    CHECK(written == 0);
  }

  // To the bit, what isn't written apart.
  static bool same(const std::vector<float>& a, const std::vector<float>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](float l, float r) { return l == r || (std::isnan(l) && std::isnan(r)); });
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
  const int rows = GENERATE(1, 2, 5, 8);
  for (const auto& [in, out] : std::vector<std::pair<int, int>>{{1, 8}, {37, 64}, {520, 72}}) {
    const Product p(rows, in, out, rows % 2 == 1, 3);
    const auto all = few_rows_splits({rows, in, out}, 132);
    REQUIRE_FALSE(all.empty());
    if (in >= 512) CHECK(all.size() >= 3);
    for (const int splits : all) {
      INFO(rows << " rows, " << in << " x " << out << ", " << splits << " parts");
      const Buffer parts(few_rows_parts({rows, in, out}, splits) + 1);
      const auto run = [&] {
        few_rows({p.x(), p.device_w.read().data, p.biased ? p.device_bias.read().data : nullptr, splits,
                  reinterpret_cast<unsigned*>(counters.buffer.data()), reinterpret_cast<float*>(parts.data()), p.y()},
                 stream);
        stream.wait();
      };
      run();
      p.check_result();
      const auto once = p.device_y.floats();
      run();  // its counters are as they were, and the same sums have the same bits
      CHECK(Product::same(once, p.device_y.floats()));
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
  for (const int rows : {1, 4, 9, 520}) {
    const Product p(rows, 72, 40, rows != 4, 5);
    INFO(rows << " rows");
    blas.prepare(p.shape(), p.operands());
    must(cudaMemset(p.device_y.view().data, 0xff, static_cast<std::size_t>(rows) * 45 * sizeof(bf16)), "filling");
    wait_for_device();
    blas.run(p.shape(), p.operands());
    stream.wait();
    p.check_result(true);
    const auto eager = p.device_y.floats();
    CHECK(blas.launches(p.shape(), p.operands()) >= 1);

    Capture capture(stream);
    blas.run(p.shape(), p.operands());
    const Graph graph = capture.end();
    CHECK(static_cast<int>(nodes_of(graph)) == blas.launches(p.shape(), p.operands()));
    const GraphExec exec(graph);
    must(cudaMemset(p.device_y.view().data, 0xff, static_cast<std::size_t>(rows) * 45 * sizeof(bf16)), "filling");
    wait_for_device();
    exec.run(stream);
    stream.wait();
    p.check_result(true);
    CHECK(Product::same(eager, p.device_y.floats()));
  }
}

TEST_CASE("sums and gates are the same value by value and 16 bytes at a time") {
  NEEDS_DEVICE;
  const Stream stream;
  Dice dice(11);
  // Many values are read 16 bytes at a time, where every row begins at a multiple of that.
  const int rows = 1 << 14, columns = GENERATE(64, 60);
  const std::vector<float> left = dice.normal<bf16>(static_cast<std::size_t>(rows * columns)),
                           right = dice.normal<bf16>(static_cast<std::size_t>(rows * columns)),
                           both = dice.normal<bf16>(static_cast<std::size_t>(2 * rows * columns));
  const int apart = GENERATE(0, 1);  // columns between rows of the sum, which are not aligned then
  const Array<bf16> a{left, columns}, b{right, columns}, gate_up{both, 2 * columns},
      sums_and_more(rows, columns + apart), gated(rows, columns);
  const View<bf16> sum{sums_and_more.view().data, rows, columns, columns + apart};
  OpRunner d(stream);
  d.run<bf16>(Add{d(a), d(b), d(sum)});
  d.run<bf16>(SiluMul{d(gate_up), d(gated)});
  stream.wait();
  const auto sums = sums_and_more.floats(), gates = gated.floats();
  int wrong = 0;
  for (int i = 0; i < rows * columns; ++i) {
    const auto at = static_cast<std::size_t>(i),
               row = static_cast<std::size_t>(i / columns * 2 * columns + i % columns);
    const double total = double{left[at]} + right[at], gate = both[row],
                 product = gate / (1 + std::exp(-gate)) * both[row + static_cast<std::size_t>(columns)];
    const float got = sums[at + static_cast<std::size_t>(i / columns * apart)];
    wrong += !(std::abs(got - total) <= std::abs(total) / 256);
    wrong += !(std::abs(gates[at] - product) <= std::abs(product) / 250);
  }
  CHECK(wrong == 0);
}

namespace {

const std::string kHere = "a device";

// The bits of a product, by what `choices` hold of a device; those that were timed are added there.
std::vector<float> chosen_product(const Product& p, const std::shared_ptr<ProductChoices>& choices,
                                  const std::string& device = kHere) {
  Stream stream;
  Blas blas(stream, Blas::Choice::timed, choices, device);
  blas.prepare(p.shape(), p.operands());
  must(cudaMemset(p.device_y.view().data, 0xff, p.device_y.raw().size() * sizeof(bf16)), "filling");
  wait_for_device();
  blas.run(p.shape(), p.operands());
  stream.wait();
  p.check_result();
  return p.device_y.floats();
}

std::shared_ptr<ProductChoices> again(const ProductChoices& choices) {  // as another process has them
  std::ostringstream out;
  write_product_choices(out, choices);
  const Document d = Document::from_text(out.str(), "kept.json");
  auto read = std::make_shared<ProductChoices>(read_product_choices(d.root()));
  d.finish();
  return read;
}

}  // namespace

TEST_CASE("algorithms are timed once, and kept for other runs on the same device") {
  NEEDS_DEVICE;
  const auto first = std::make_shared<ProductChoices>();
  std::vector<std::unique_ptr<Product>> products;
  for (const int rows : {1, 4, 9}) products.push_back(std::make_unique<Product>(rows, 520, 40, rows == 4, 5));
  std::vector<std::vector<float>> bits;
  for (const auto& p : products) bits.push_back(chosen_product(*p, first));
  CHECK(first->timed == 3);
  CHECK(first->all.size() == 1);
  for (const auto& p : products) chosen_product(*p, first);  // by another backend of the same process
  CHECK(first->timed == 3);

  const auto second = again(*first);
  CHECK(second->all == first->all);
  for (std::size_t i = 0; i < products.size(); ++i) CHECK(Product::same(chosen_product(*products[i], second), bits[i]));
  CHECK(second->timed == 0);
  CHECK(second->all == first->all);

  chosen_product(*products[0], second, "another device");  // whose choices stand beside them
  CHECK(second->timed == 1);
  CHECK(second->all.size() == 2);
  const auto both = again(*second);
  CHECK(both->all == second->all);
  chosen_product(*products[1], both, "another device");
  CHECK(both->timed == 1);
}

TEST_CASE("what is kept decides, if it serves the product; else it is timed again") {
  NEEDS_DEVICE;
  const Product p(1, 520, 72, false, 3);
  const auto choices = std::make_shared<ProductChoices>();
  chosen_product(p, choices);
  ProductChoice& kept = choices->all.begin()->second.begin()->second;
  Stream stream;
  const Workspace counters(kCounterBytes);
  const FewRowsShape shape{1, 520, 72};
  const auto all = few_rows_splits(shape, open_device().multiprocessors);
  REQUIRE(all.size() >= 3);
  for (const int splits : all) {  // whose bits differ
    const Buffer parts(few_rows_parts(shape, splits) + 1);
    few_rows({p.x(), p.device_w.read().data, nullptr, splits, reinterpret_cast<unsigned*>(counters.buffer.data()),
              reinterpret_cast<float*>(parts.data()), p.y()},
             stream);
    stream.wait();
    const auto want = p.device_y.floats();
    kept = {{}, splits};
    CHECK(Product::same(chosen_product(p, again(*choices)), want));
    chosen_product(p, choices);
    CHECK(choices->timed == 1);
  }
  const ProductChoice none = GENERATE(ProductChoice{{}, 3}, ProductChoice{{~0ULL, 1, 2, 3, 4, 5, 6, 7}, 0});
  kept = none;
  chosen_product(p, choices);
  CHECK(choices->timed == 2);
  CHECK_FALSE(kept == none);
}

TEST_CASE("a file of algorithms is read with suspicion") {
  const std::string one = R"({"rows": 1, "in": 8, "out": 8, "x_stride": 8, "y_stride": 8, "format": "bf16",
      "bias": false, "aligned": [256, 256, 256, 256], "few_rows_splits": 2})";
  const auto file = [](const std::string& products) {
    return R"({"schema_version": 1, "algorithms": [{"device": "a", "cublaslt": 130000, "products": [)" + products +
           "]}]}";
  };
  const auto with = [&](const std::string& from, const std::string& to) {
    std::string text = file(one);
    REQUIRE(text.find(from) != std::string::npos);
    return text.replace(text.find(from), from.size(), to);
  };
  const auto read = [](const std::string& text) {
    const Document d = Document::from_text(text, "kept.json");
    const ProductChoices c = read_product_choices(d.root());
    d.finish();
    return c;
  };
  CHECK(read(file(one)).all.begin()->second.size() == 1);
  const std::string place = "kept.json#/algorithms/0/products/0";
  for (const auto& [text, message] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "kept.json#"},
           {with("\"schema_version\": 1", "\"schema_version\": 2"),
            "kept.json#/schema_version: this draftline reads schema 1"},
           {with("\"rows\": 1", "\"rows\": 0"), place + "/rows"},
           {with("\"out\": 8", "\"out\": 1e99"), place + "/out"},
           {with("\"bf16\"", "\"fp8\""), place + "/format"},
           {with("[256, 256, 256, 256]", "[256, 256, 256]"), place + "/aligned: needs the alignments"},
           {with("[256, 256, 256, 256]", "[256, 256, 256, 512]"), place + "/aligned/3"},
           {with("\"few_rows_splits\": 2", "\"few_rows_splits\": -2"), place + "/few_rows_splits"},
           {with("\"few_rows_splits\": 2", "\"algorithm\": \"00ff\""), place + "/algorithm: is no algorithm"},
           {with("\"few_rows_splits\": 2", "\"algorithm\": \"" + std::string(127, '0') + "x\""),
            place + "/algorithm: is no algorithm"},
           {with("\"few_rows_splits\": 2", "\"algorithm\": 7"), place + "/algorithm"},
           {with("\"bias\": false", "\"biased\": false"), place + "/biased: unknown key"},
           {file(one + "," + one), "kept.json#/algorithms/0/products/1: this product stands there twice"},
           {with("\"cublaslt\": 130000", "\"cublaslt\": -1"), "kept.json#/algorithms/0/cublaslt"}}) {
    INFO(text);
    std::string said;
    try {
      read(text);
    } catch (const InputErrors& e) { said = e.what(); }
    INFO(said);
    CHECK(said.find(message) != std::string::npos);
  }
}

TEST_CASE("sums are joined in fp32: in bf16 they would stop growing") {
  NEEDS_DEVICE;
  // 1024 ones: 256 + 1 is 256 in bf16.
  Stream stream;
  Blas blas(stream, GENERATE(Blas::Choice::timed, Blas::Choice::first));
  const int rows = GENERATE(1, 9), in = 1024, out = 16;
  const auto ones = [](int n) { return std::vector<float>(static_cast<std::size_t>(n), 1.0F); };
  const Array<bf16> x(ones(rows * in), in), w(ones(in * out), out), y(rows, out);
  const GemmShape shape{rows, in, out, in, out, true, false};
  const GemmOperands operands{x.read().data, w.read().data, nullptr, y.view().data};
  blas.prepare(shape, operands);
  blas.run(shape, operands);
  stream.wait();
  for (const float v : y.floats()) CHECK(v == 1024);
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
  OpRunner on(stream);
  const auto part = [&](const Array<bf16>& a) { return on(View<bf16>{a.view().data + shift, rows, width, stride}); };
  const bool both = GENERATE(false, true);
  if (both) on.run<bf16>(AddRmsNorm{part(x), part(d), on.weight(w), 1e-5F, part(sum), part(y)});
  else on.run<bf16>(RmsNorm{part(x), on.weight(w), width, 1e-5F, part(y)});
  stream.wait();
  const auto got = y.floats(), sums = sum.floats();
  int wrong = 0;
  for (int r = 0; r < rows; ++r) {
    double squares = 0;
    std::vector<float> row;
    for (int c = 0; c < width; ++c) {
      const auto at = static_cast<std::size_t>(r * stride + c + shift);
      row.push_back(both ? rounded<bf16>(xs[at] + ds[at]) : xs[at]);
      squares += double{row.back()} * row.back();
      wrong += both && sums[at] != row.back();
    }
    for (int c = 0; c < width; ++c) {
      const auto i = static_cast<std::size_t>(c);
      const double want = row[i] / std::sqrt(squares / width + 1e-5) * ws[i];  // rounded to 8 bits
      wrong += !(std::abs(got[static_cast<std::size_t>(r * stride + c + shift)] - want) <= std::abs(want) / 200 + 1e-6);
    }
  }
  CHECK(wrong == 0);
}
