// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/gpu_calibration.h"

#include <cmath>

#include "core/rng.h"
#include "model/calibration/measured_work.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

// A card that no data set holds: the coefficients of one, the datasheet of nobody's.
Device made_up_gpu() {
  Device d = known_device("h100-sxm");
  d.name = "made-up";
  d.peak[static_cast<std::size_t>(DType::bf16)] = FlopsPerSecond{500e12};
  d.bandwidth = BytesPerSecond{2e12};
  d.l2 = Bytes{30e6};
  d.multiprocessors = 96;
  d.gpu().copy = {};
  d.gpu().copy.fixed = Seconds{2.4e-6};
  d.gpu().copy.bandwidth_share = 0.8;
  return d;
}

// What a probe of that card would write: its grid, and verification of many rows.
Measured measured_on(const Device& truth, double noise, const std::string& stream = "noise") {
  Measured m;
  m.device = "cuda";
  m.title = "a made-up GPU";
  Rng rng(5, stream);
  const auto add = [&](const char* op, std::map<std::string, int> shape) {
    MeasuredPoint p{op, std::move(shape), Seconds{1}, Seconds{1}, Seconds{1}, 9, 0, {}};
    Measured one;
    one.points = {p};
    const KernelTimes k = kernel_times(one, truth);
    Seconds t;
    if (!k.gemms.empty()) t = predicted(truth, k.gemms[0]);
    else if (!k.attention.empty()) t = predicted(truth, k.attention[0]);
    else t = predicted(truth, k.copies.at(0));
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += rng.uniform();
    p.median = p.low = p.high = std::exp(noise * sum) * t;
    m.points.push_back(p);
  };
  for (const int rows : {1, 16, 48, 64, 160, 256, 1024})
    for (const int in : {1024, 2560, 4096, 8192, 16384})
      for (const int out : {1024, 4096, 5120, 16384})
        add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", 6}});
  const auto attention = [&](int sequences, int rows, int context, int heads, int kv_heads, int tree, int copies) {
    add("attention", {{"sequences", sequences},
                      {"rows", rows},
                      {"context", context},
                      {"heads", heads},
                      {"kv_heads", kv_heads},
                      {"head_dim", 128},
                      {"tree", tree},
                      {"copies", copies}});
  };
  for (const auto& [heads, kv_heads] : {std::pair{32, 8}, {32, 32}, {16, 2}, {64, 8}, {28, 4}}) {
    for (const int sequences : {1, 4, 16, 64})
      for (const int context : {64, 512, 2048, 16384}) attention(sequences, 1, context, heads, kv_heads, 0, 8);
    for (const int rows : {4, 16, 64})
      for (const int context : {512, 8192})
        for (const int tree : {0, 1}) attention(4, rows, context, heads, kv_heads, tree, 8);
    for (const int rows : {128, 1024, 4096}) attention(1, rows, 0, heads, kv_heads, 0, 1);
  }
  for (const int rows : {1, 16, 256, 4096})
    for (const int columns : {1024, 4096, 14336})
      for (const char* op : {"add", "rms_norm", "silu_mul"}) add(op, {{"rows", rows}, {"columns", columns}});
  add("copy", {{"kib", 1 << 19}});
  return m;
}

Device with(const Device& datasheet, const GpuCalibration& c) {
  Device d = datasheet;
  d.model = GpuModel{};
  d.gpu().gemm = *c.gemm;
  d.gpu().attention.fits = {c.attention.at(0).fit};
  d.gpu().copy = *c.copy;
  return d;
}

double mean_error(const Device& d, const KernelTimes& unseen) {
  double sum = 0, n = 0;
  const auto add = [&](const auto& points) {
    for (const auto& p : points) sum += std::abs(predicted(d, p) / p.time - 1), n += 1;
  };
  add(unseen.gemms);
  add(unseen.attention);
  add(unseen.copies);
  return sum / n;
}

}  // namespace

TEST_CASE("a probe of a GPU that was never seen gives back the times of that GPU") {
  const Device truth = made_up_gpu();
  const Measured m = measured_on(truth, 0);
  Device datasheet = truth;
  datasheet.model = GpuModel{};
  const GpuCalibration c = calibrate_gpu(kernel_times(m, datasheet), datasheet, "m.json");
  const Device fitted = with(datasheet, c);
  CHECK(mean_error(fitted, kernel_times(m, datasheet)) < 0.02);
  CHECK(c.gemm->bandwidth_share == Approx(truth.gpu().gemm.bandwidth_share).epsilon(0.03));
  const AttentionFit &found = c.attention.at(0).fit, &made = truth.gpu().attention.fits[0];
  CHECK(found.decode.bandwidth_share == Approx(made.decode.bandwidth_share).epsilon(0.03));
  CHECK(found.prefill.layout == made.prefill.layout);
  CHECK(c.copy->fixed.value == Approx(2.4e-6).epsilon(0.02));
  CHECK(c.copy->bandwidth_share == Approx(0.8).epsilon(0.02));
  CHECK(c.of_gemm.median < 0.02);
  CHECK(c.attention[0].of_decode.median < 0.02);
  CHECK(c.attention[0].of_prefill.median < 0.02);
}

TEST_CASE("noise and outliers in a GPU's times stay inside the intervals, which hold the unseen") {
  const Device truth = made_up_gpu();
  Measured m = measured_on(truth, 0.05);
  for (std::size_t i = 0; i < m.points.size(); i += 25) m.points[i].median = 6.0 * m.points[i].median;
  Device datasheet = truth;
  datasheet.model = GpuModel{};
  const GpuCalibration c = calibrate_gpu(kernel_times(m, datasheet), datasheet, "m.json");
  const Device fitted = with(datasheet, c);
  const KernelTimes exact = kernel_times(measured_on(truth, 0), datasheet);
  CHECK(mean_error(fitted, exact) < 0.03);  // of the truth, not of what was measured
  const KernelTimes fresh = kernel_times(measured_on(truth, 0.05, "unseen"), datasheet);
  const auto inside = [&](const auto& points, const FitQuality& q) {
    double n = 0;
    for (const auto& p : points) {
      const double ratio = p.time / predicted(fitted, p);
      n += ratio >= q.low && ratio <= q.high;
    }
    return n / static_cast<double>(points.size());
  };
  CHECK(inside(fresh.gemms, c.of_gemm) > 0.85);
  std::vector<AttentionPoint> one_row, many_rows;
  for (const AttentionPoint& p : fresh.attention) (p.rows > 1 ? many_rows : one_row).push_back(p);
  CHECK(inside(one_row, c.attention.at(0).of_decode) > 0.85);
  CHECK(inside(many_rows, c.attention.at(0).of_prefill) > 0.85);
  CHECK(c.of_gemm.coverage > 0.85);
  CHECK(c.of_gemm.coverage < 0.97);
}

TEST_CASE("a cache that is rotated through is cold, one that is met again is not") {
  const Device d = made_up_gpu();
  Measured m;
  const std::map<std::string, int> shape{{"sequences", 1}, {"rows", 1},       {"context", 4096}, {"heads", 32},
                                         {"kv_heads", 8},  {"head_dim", 128}, {"tree", 0}};
  for (const int copies : {0, 1, 2, 8}) {
    MeasuredPoint p{"attention", shape, Seconds{1e-5}, Seconds{1e-5}, Seconds{1e-5}, 9, 0, {}};
    if (copies > 0) p.shape["copies"] = copies;
    m.points.push_back(p);
  }
  const auto attention = kernel_times(m, d).attention;  // 17 MB a copy, an L2 of 30 MB
  REQUIRE(attention.size() == 4);
  CHECK(attention[0].cache == CacheState::repeated);
  CHECK(attention[1].cache == CacheState::repeated);
  CHECK(attention[2].cache == CacheState::repeated);
  CHECK(attention[3].cache == CacheState::in_memory);
  CHECK(predicted(d, attention[1]) < predicted(d, attention[3]));
}

TEST_CASE("what of a GPU was not measured is not fitted, and without any times there is nothing to fit") {
  const Device d = made_up_gpu();
  KernelTimes times;
  CHECK_THROWS_AS(calibrate_gpu(times, d, "m.json"), InputErrors);
  times.links.push_back({"nccl", Collective::all_reduce, {{2, Bytes{1024}, Seconds{1e-5}}}, {}});
  const GpuCalibration c = calibrate_gpu(times, d, "m.json");
  CHECK_FALSE(c.gemm);
  CHECK(c.attention.empty());
  CHECK(c.links.size() == 1);
}

TEST_CASE("attention's errors are told apart by regime: caches in L2 or not, prompts, and what is verified") {
  const Device d = made_up_gpu();
  const GpuCalibration c = calibrate_gpu(kernel_times(measured_on(d, 0.02), d), d, "m.json");
  REQUIRE(c.attention.size() == 1);
  const AttentionCalibration& a = c.attention[0];
  std::vector<std::string> names;
  int points = 0;
  for (const FitQuality& q : a.regimes) {
    names.push_back(q.op);
    points += q.points;
    CHECK(q.known);
    CHECK(q.median > 0);
  }
  CHECK(names == std::vector<std::string>{"decode attention over bf16, cache over twice L2",
                                          "decode attention over bf16, cache within twice L2",
                                          "prefill attention over bf16, up to 64 rows over a context",
                                          "prefill attention over bf16, prompts"});
  CHECK(points == a.of_decode.points + a.of_prefill.points);
  CHECK(a.of_decode.points == 80);
}

TEST_CASE("sums over GPUs become the device's table, judged by what lies between two of its points") {
  const Device d = made_up_gpu();
  Measured m = measured_on(d, 0);
  // 5 us and 10 GB/s, from ranks to ranks the same; the file's order is not the table's.
  for (const int ranks : {4, 2})
    for (const int kib : {4096, 1, 16, 64, 256, 1024, 16384})
      m.points.push_back({"all_reduce",
                          {{"ranks", ranks}, {"kib", kib}},
                          Seconds{5e-6 + 1024e-10 * kib},
                          Seconds{1e-6},
                          Seconds{1},
                          9,
                          0,
                          {}});
  m.points.push_back({"all_reduce", {{"ranks", 8}, {"kib", 1}}, {}, {}, {}, 0, 0, "needs 8 GPUs"});
  const KernelTimes times = kernel_times(m, d);
  REQUIRE(times.links.size() == 1);
  const LinkTable& measured = times.links[0];
  CHECK(measured.library == "nccl");
  REQUIRE(measured.points.size() == 14);
  CHECK(measured.points[0].ranks == 2);
  CHECK(measured.points[0].message == Bytes{1024});
  CHECK(measured.points[13].message == Bytes{16384 * 1024.0});
  const GpuCalibration c = calibrate_gpu(times, d, "m.json");
  REQUIRE(c.links.size() == 1);
  const FitQuality& quality = c.links[0].quality;
  CHECK(quality.points == 14);
  CHECK(quality.low <= 1);
  // Left out, 256 KiB lies half way between 64 and 1024 on logarithmic scales: the middle one of the five errors.
  const auto us = [](double kib) { return 5 + 0.1024 * kib; };
  CHECK(quality.median == Approx(std::sqrt(us(64) * us(1024)) / us(256) - 1));
  CHECK(c.links[0].table.time(2, Bytes{65536}).value == Approx(5e-6 + 65536e-10));
}

TEST_CASE("kernels with narrow operands are fitted format by format, with an error of their own") {
  Device truth = made_up_gpu();
  truth.peak[static_cast<std::size_t>(DType::fp8)] = FlopsPerSecond{1e15};
  GemmFit fp8 = truth.gpu().gemm;
  fp8.bandwidth_share = 0.7;
  fp8.tiles = GemmTiles::by_rows_128;
  put_gemm(truth, operands_of(NarrowFormat::fp8), fp8);
  KernelTimes times = kernel_times(measured_on(truth, 0), truth);
  times.copies.clear();
  auto& narrow = times.narrow_gemms[static_cast<std::size_t>(NarrowFormat::fp8)];
  for (GemmPoint p : times.gemms) {
    p.operands = operands_of(NarrowFormat::fp8);
    p.time = predicted(truth, p);
    narrow.push_back(p);
  }
  const GpuCalibration c = calibrate_gpu(times, truth, "m.json");
  REQUIRE(c.narrow_gemms.size() == 1);
  CHECK(c.narrow_gemms[0].format == NarrowFormat::fp8);
  CHECK(c.narrow_gemms[0].fit.bandwidth_share == Approx(0.7).epsilon(0.03));
  CHECK(c.narrow_gemms[0].fit.tiles == GemmTiles::by_rows_128);
  CHECK(c.narrow_gemms[0].quality.op == "gemm, fp8");
  CHECK(c.narrow_gemms[0].quality.median < 0.02);
  CHECK(c.gemm->bandwidth_share == Approx(truth.gpu().gemm.bandwidth_share).epsilon(0.03));
  CHECK(c.gemm->tiles == GemmTiles::fastest);
  CHECK(c.narrow_experts.empty());
}

TEST_CASE("drawing tokens is no moving of bytes") {
  const Device d = made_up_gpu();
  Measured m = measured_on(d, 0);
  const std::size_t before = kernel_times(m, d).copies.size();
  m.points.push_back({"sample", {{"rows", 1}, {"columns", 32000}}, Seconds{1e-4}, Seconds{1}, Seconds{1}, 9, 0, {}});
  CHECK(kernel_times(m, d).copies.size() == before);
}

TEST_CASE("elementwise ops that were timed one by one are fitted one by one, and find in L2 what fits there") {
  Device truth = made_up_gpu();
  CopyFit& copy = truth.gpu().copy;
  copy.bandwidth_share = 0.8;
  copy.l2_share = 0.6;
  const auto of = [&](ElementOp op) -> auto& { return copy.of[static_cast<std::size_t>(op)]; };
  of(ElementOp::add) = {Seconds{0.8e-6}, 2.5};
  of(ElementOp::rms_norm) = {Seconds{1.5e-6}, 1.2};
  of(ElementOp::silu_mul) = {Seconds{1e-6}, 1.8};
  const CopyFit found = *calibrate_gpu(kernel_times(measured_on(truth, 0), truth), truth, "m.json").copy;
  for (const ElementOp op : {ElementOp::add, ElementOp::rms_norm, ElementOp::silu_mul}) {
    const auto& own = found.of[op];
    INFO(name_of(kElementOps, op));
    REQUIRE(own);
    CHECK(own->fixed.value == Approx(of(op)->fixed.value).epsilon(0.05));
    CHECK(own->l2_speed == Approx(of(op)->l2_speed).epsilon(0.1));
  }
  CHECK(found.bandwidth_share == Approx(0.8).epsilon(0.05));
  CHECK(found.fixed.value == Approx(0.8e-6).epsilon(0.05));  // one more launch: the cheapest op's
  CHECK_FALSE(found.of[static_cast<std::size_t>(ElementOp::argmax)]);
}
