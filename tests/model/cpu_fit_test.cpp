// SPDX-License-Identifier: Apache-2.0
// The CPU form and its fit, on times that a known CPU made up; hostile measured files.
#include "model/cpu_fit.h"

#include <cmath>
#include <sstream>

#include "core/rng.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

constexpr double kNs = 1e-9;

CpuFit known() {
  CpuFit f;
  f.caches = {Bytes{32768}, Bytes{1 << 20}, Bytes{32 << 20}};
  f.gemm = {Seconds{100 * kNs},
            Seconds{5 * kNs},
            {Seconds{10 * kNs}, Seconds{12 * kNs}, Seconds{18 * kNs}, Seconds{20 * kNs}},
            Seconds{0.2 * kNs},
            Seconds{0.05 * kNs},
            0.6,
            3};
  f.attention = {Seconds{100 * kNs},
                 Seconds{50 * kNs},
                 Seconds{15 * kNs},
                 Seconds{1.5 * kNs},
                 12,
                 {Seconds{0.004 * kNs}, Seconds{0.03 * kNs}, Seconds{0.2 * kNs}},
                 0.5};
  return f;
}

// A grid timed by `truth`, each time off by up to `noise`.
Measured measured_by(const CpuFit& truth, double noise) {
  Measured m;
  m.device = "cpu";
  m.title = "a known CPU";
  m.commit = "none";
  m.source = "none";
  m.locator = "a test";
  m.machine = {{"first_cache", 32768}, {"second_cache", 1 << 20}, {"last_cache", 32 << 20}, {"memory", 1e9}};
  Rng rng(1, "noise");
  const auto add = [&](const char* op, std::map<std::string, int> shape) {
    MeasuredPoint p{op, std::move(shape), {}, {}, {}, 5, 0, {}};
    p.median = (1 + noise * (2 * rng.uniform() - 1)) * predicted(truth, p);
    p.low = p.high = p.median;
    m.points.push_back(p);
  };
  for (const int in : {64, 200, 512, 1024, 3000})
    for (const int out : {96, 512, 1536, 4096})
      for (const int rows : {1, 2, 3, 4, 7, 16})
        for (const int copies : {1, 40}) add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", copies}});
  for (const int heads : {4, 12})
    for (const int dim : {32, 64, 128})
      for (const int context : {15, 100, 900, 5000})
        for (const int rows : {1, 6})
          for (const int sequences : {1, 8})
            for (const int tree : {0, 1})
              add("attention", {{"sequences", sequences},
                                {"rows", rows},
                                {"context", context},
                                {"heads", heads},
                                {"kv_heads", 4},
                                {"head_dim", dim},
                                {"tree", tree}});
  m.points.push_back({"read", {{"kib", 262144}}, Seconds{0.05}, Seconds{0.05}, Seconds{0.05}, 5, 0, {}});
  m.points.push_back(
      {"add", {{"rows", 8}, {"columns", 1000}}, Seconds{96e-6}, Seconds{96e-6}, Seconds{96e-6}, 5, 0, {}});
  return m;
}

std::string text_of(const Measured& m) {
  std::ostringstream out;
  write_measured(out, m);
  return out.str();
}
std::string mistakes(const std::string& text) {
  try {
    const Document d = Document::from_text(text, "m.json");
    (void)read_measured(d.root());
    d.finish();
    return "";
  } catch (const InputErrors& e) { return e.what(); }
}
std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a GEMM on the CPU is its panels times its groups of rows") {
  // 32 outputs are two panels; 5 rows are a group of 4 and one of 1. Nothing but steps: 10 inputs x (20 + 10) ns x 2.
  CpuFit f;
  f.gemm.step = {Seconds{10 * kNs}, Seconds{}, Seconds{}, Seconds{20 * kNs}};
  CHECK(cpu_time(f, Gemm{5, 10, 32}, 1).value == Approx(600 * kNs));
  CHECK(cpu_time(f, Gemm{5, 10, 33}, 1).value == Approx(900 * kNs));  // a third panel, though all but empty
  // From memory alone, at 1 ns a byte of 32 bits: 4 x 10 x 32.
  f.gemm = {};
  f.gemm.memory_byte = Seconds{kNs};
  CHECK(cpu_time(f, Gemm{1, 10, 32}, 0).value == Approx(1280 * kNs));
  CHECK(cpu_time(f, Gemm{1, 10, 32}, 1).value == 0);
}

TEST_CASE("a fit gives back the CPU that made the times") {
  const CpuFit truth = known();
  const CpuCalibration c = calibrate_cpu(measured_by(truth, 0));
  CHECK(c.fit.gemm.step[3].value == Approx(truth.gemm.step[3].value).epsilon(0.01));
  CHECK(c.fit.gemm.memory_byte.value == Approx(truth.gemm.memory_byte.value).epsilon(0.03));
  CHECK(c.fit.attention.pair_column.value == Approx(truth.attention.pair_column.value).epsilon(0.03));
  for (const FitQuality& q : c.quality) CHECK(q.median < 0.01);
  CHECK(c.read_bandwidth == Approx((256 << 20) / 0.05));
  CHECK(c.fit.byte_of_op.at("add").value == Approx(1 * kNs));  // 96 us over 3 x 4 x 8000 bytes
}

TEST_CASE("noise, outliers and points of two minds move a fit by no more than its interval") {
  const CpuFit truth = known();
  Measured m = measured_by(truth, 0.05);
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    if (i % 20 == 0) m.points[i].median = 8.0 * m.points[i].median;  // somebody else had the core
    if (i % 7 == 0) m.points[i].median = 1.1 * m.points[i].median;   // another clock
  }
  const CpuCalibration c = calibrate_cpu(m);
  CHECK(c.fit.gemm.step[3].value == Approx(truth.gemm.step[3].value).epsilon(0.05));
  CHECK(c.fit.gemm.step[0].value == Approx(truth.gemm.step[0].value).epsilon(0.05));
  for (const FitQuality& q : c.quality) {
    CHECK(q.low < 0.97);
    CHECK(q.high > 1.03);
    CHECK(q.coverage > 0.85);
    CHECK(q.coverage < 0.95);
  }
}

TEST_CASE("thin data are warned of, and coefficients that they don't show") {
  Measured m = measured_by(known(), 0.01);
  std::erase_if(m.points, [](const auto& p) { return p.op == "gemm" && (p.at("rows") != 1 || p.at("copies") != 1); });
  const CpuCalibration c = calibrate_cpu(m);
  std::string all;
  for (const auto& w : c.quality[0].warnings) all += w + "\n";
  CHECK(all.find("points for 10 coefficients") != std::string::npos);
  CHECK(all.find("\"step_4\" is hardly seen") != std::string::npos);
  m.points.clear();
  CHECK_THROWS_AS(calibrate_cpu(m), InputErrors);
}

TEST_CASE("a measured file is read back as it was written") {
  Measured m = measured_by(known(), 0);
  m.points.push_back({"gemm", {{"rows", 99}}, {}, {}, {}, 0, 0, "needs more memory"});
  const Document d = Document::from_text(text_of(m), "m.json");
  const Measured back = read_measured(d.root());
  d.finish();
  REQUIRE(back.points.size() == m.points.size());
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    CHECK(back.points[i].same_shape(m.points[i]));
    CHECK(back.points[i].median.value == Approx(m.points[i].median.value).epsilon(1e-4));
  }
  CHECK(back.points.back().skipped == "needs more memory");
}

TEST_CASE("hostile measured files are refused with the place and the reason") {
  Measured m = measured_by(known(), 0);
  m.points.resize(2);
  const std::string good = text_of(m);
  REQUIRE(mistakes(good).empty());
  const std::string median =
      good.substr(good.find("\"median\""), good.find(',', good.find("\"median\"")) - good.find("\"median\""));
  CHECK(mistakes(with(good, median, "\"median\": \"-1 us\"")).find("#/points/0/median") != std::string::npos);
  CHECK(mistakes(with(good, median, "\"median\": \"0 us\"")).find("#/points/0/median") != std::string::npos);
  CHECK(mistakes(with(good, median, "\"median\": \"nan us\"")).find("#/points/0/median") != std::string::npos);
  CHECK(mistakes(with(good, median, "\"median\": \"5 MB\"")).find("#/points/0/median") != std::string::npos);
  CHECK(mistakes(with(good, median, "\"median\": \"900 s\"")).find("between low and high") != std::string::npos);
  CHECK(mistakes(with(good, "\"schema_version\": 1", "\"schema_version\": 2")).find("schema 1") != std::string::npos);
  CHECK(mistakes(with(good, "\"samples\"", "\"simples\"")).find("did you mean") != std::string::npos);
  m.points[1] = m.points[0];
  CHECK(mistakes(text_of(m)).find("#/points/1: this shape was measured before") != std::string::npos);
}
