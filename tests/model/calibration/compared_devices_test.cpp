// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/compared_devices.h"

#include <cmath>

#include "model/calibration/cpu_fit.h"
#include "model/calibration/gpu_calibration.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

MeasuredPoint point(const char* op, std::map<std::string, int> shape) {
  return {op, std::move(shape), Seconds{1}, Seconds{1}, Seconds{1}, 5, 0, {}};
}
MeasuredPoint attention(int rows, int context) {
  return point("attention", {{"sequences", 2},
                             {"rows", rows},
                             {"context", context},
                             {"heads", 32},
                             {"kv_heads", 8},
                             {"head_dim", 128},
                             {"tree", 0}});
}

}  // namespace

TEST_CASE("two GPUs over the same points: errors of each, and how far they are apart") {
  Device a = known_device("h100-sxm");
  a.gpu().copy.of = {};
  Device b = a;
  b.gpu().copy.bandwidth_share = a.gpu().copy.bandwidth_share / 2;
  b.gpu().copy.fixed = 2.0 * a.gpu().copy.fixed;
  b.links = {};
  Measured m;
  m.device = "cuda";
  m.points = {point("gemm", {{"rows", 4}, {"in", 4096}, {"out", 4096}, {"copies", 6}}),
              point("copy", {{"kib", 1 << 20}}),
              point("copy", {{"kib", 1 << 10}}),
              attention(1, 1000),
              attention(8, 1000),
              attention(512, 0),
              point("all_reduce", {{"ranks", 2}, {"kib", 64}}),
              point("graph", {{"kernels", 4}}),
              point("sample", {{"rows", 1}, {"columns", 32000}})};
  m.points.push_back(point("add", {{"rows", 1}, {"columns", 64}}));
  m.points.back().skipped = "a reason";
  for (ComparedPoint& c : compare_devices(m, a, a))
    for (MeasuredPoint& p : m.points)
      if (p.same_shape(c.point)) p.median = c.predicted[0];

  // The first is right; the second takes twice as long to copy, knows no link, and agrees about the rest.
  const auto points = compare_devices(m, a, b);
  CHECK(points.size() == 6);
  const auto kinds = by_kind(points);
  std::vector<std::string> names;
  for (const ComparedKind& k : kinds) {
    names.push_back(k.kind);
    CHECK(k.median[0] < 1e-9);
    CHECK(k.bias[0] == Approx(1));
    if (k.kind == "all") continue;
    const double factor = k.kind == "copy" ? 2 : 1;
    CHECK(k.median[1] == Approx(factor - 1).margin(1e-9));
    CHECK(k.p90[1] == Approx(factor - 1).margin(1e-9));
    CHECK(k.bias[1] == Approx(factor));
    CHECK(k.ratio == Approx(1 / factor));
    CHECK(k.apart == Approx(1 - 1 / factor).margin(1e-9));
  }
  CHECK(names == std::vector<std::string>{"gemm", "copy", "attention, decode", "attention, verify",
                                          "attention, prefill", "all"});
  CHECK(kinds.back().points == 6);
  CHECK(kinds.back().bias[1] == Approx(std::pow(2.0, 2.0 / 6)));
  CHECK(compare_devices(m, a, a).size() == 7);  // with the link
}

TEST_CASE("two GPUs over tables: kinds by use, format and library; what one of them does not know is left out") {
  const Device a = known_device("h100-sxm");
  Device b = a;
  b.links.tables.erase(b.links.tables.begin() + 1, b.links.tables.end());  // NCCL's all-reduce alone
  b.gpu().experts.reset();
  KernelTimes t;
  t.gemms = {{16, 4096, 4096, {}, 6}};
  t.narrow_gemms[static_cast<std::size_t>(NarrowFormat::fp8)] = {
      {.rows = 16, .in = 4096, .out = 4096, .time = {}, .copies = 6, .operands = operands_of(NarrowFormat::fp8)}};
  t.attention = {{2, 1, 1000, 32, 8, 128, {}}, {2, 512, 0, 32, 8, 128, {}}, {2, 1, 1000, 32, 8, 128, {}}};
  t.attention[2].format = DType::fp8;
  t.experts = {{.rows = 4, .hidden = 4096, .intermediate = 1024, .experts = 8, .per_token = 2, .load = {}, .time = {}}};
  for (auto* points : {&t.gemms, &t.narrow_gemms[static_cast<std::size_t>(NarrowFormat::fp8)]})
    for (GemmPoint& p : *points) p.time = 2.0 * predicted(a, p);
  for (AttentionPoint& p : t.attention) p.time = 2.0 * predicted(a, p);
  for (const auto c : {Collective::all_reduce, Collective::all_gather})
    t.links.push_back({"nccl", c, {{2, Bytes{4096}, 2.0 * a.links.find("nccl", c, 2)->time(2, Bytes{4096})}}, {}});
  const auto points = compare_devices(t, "tables", a, b);
  std::vector<std::string> kinds;
  for (const ComparedKind& k : by_kind(points)) {
    kinds.push_back(k.kind);
    CHECK(k.bias[0] == Approx(0.5));  // each takes twice as long as the device says
    CHECK(k.bias[1] == Approx(0.5));
  }
  CHECK(kinds == std::vector<std::string>{"gemm", "attention, decode", "attention, prefill",
                                          "attention, decode, cache in fp8", "gemm, fp8", "all_reduce", "all"});
  CHECK(points.back().point.shape == std::map<std::string, int>{{"ranks", 2}, {"bytes", 4096}});
  CHECK_THROWS_AS(compare_devices(t, "tables", a, known_device("cpu")), InputErrors);
}

TEST_CASE("a CPU is compared with processors") {
  const Device cpu = known_device("cpu");
  Measured m;
  m.device = "cpu";
  m.points = {point("gemm", {{"rows", 4}, {"in", 256}, {"out", 256}, {"copies", 1}}), point("read", {{"kib", 64}}),
              point("add", {{"rows", 4}, {"columns", 256}})};
  const auto points = compare_devices(m, cpu, cpu);
  REQUIRE(points.size() == 2);
  CHECK(points[0].predicted[0] == predicted(*cpu.cpu(), m.points[0]));
  CHECK_THROWS_AS(compare_devices(m, cpu, known_device("h100-sxm")), InputErrors);
  m.device = "cuda";
  CHECK_THROWS_AS(compare_devices(m, known_device("h100-sxm"), cpu), InputErrors);
  CHECK(by_kind({}).empty());
}
