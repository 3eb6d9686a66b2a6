// SPDX-License-Identifier: Apache-2.0
// The fit of the CPU form, on times that a known CPU made up; hostile measured files.
#include "model/calibration/cpu_fit.h"

#include <cmath>
#include <map>
#include <sstream>

#include "core/rng.h"
#include "model/calibration/memory_drift.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

constexpr double kNanosecond = 1e-9;

CpuModel known() {
  CpuModel f;
  f.caches = {Bytes{32768}, Bytes{1 << 20}, Bytes{32 << 20}};
  f.gemm.fixed = Seconds{100 * kNanosecond};
  f.gemm.tile = Seconds{5 * kNanosecond};
  f.gemm.step = {Seconds{10 * kNanosecond}, Seconds{12 * kNanosecond}, Seconds{18 * kNanosecond},
                 Seconds{20 * kNanosecond}};
  f.gemm.reach = {{Seconds{0.03 * kNanosecond}, Seconds{0.08 * kNanosecond}, Seconds{0.15 * kNanosecond}}, 0.9, 0.6};
  f.gemm.memory_stall = 0.4;
  f.gemm.blend = 1.5;
  f.co_runner_traffic = BytesPerSecond{3e9};
  f.attention.fixed = Seconds{100 * kNanosecond};
  f.attention.row = Seconds{50 * kNanosecond};
  f.attention.pair = Seconds{6 * kNanosecond};
  f.attention.step = Seconds{2 * kNanosecond};
  f.attention.reach = {
      {Seconds{0.006 * kNanosecond}, Seconds{0.03 * kNanosecond}, Seconds{0.2 * kNanosecond}}, 0.8, 0.5};
  f.attention.llc_start = Seconds{90 * kNanosecond};
  f.attention.memory_start = Seconds{400 * kNanosecond};
  f.attention.blend = 1.5;
  f.elements.byte = Seconds{0.02 * kNanosecond};
  f.elements.beyond_l1_byte = Seconds{0.02 * kNanosecond};
  f.elements.beyond_l2_byte = Seconds{0.03 * kNanosecond};
  f.elements.slow_for = Seconds{3e-4};
  f.elements.slow_clock = 1.25;
  f.elements.lines = f.attention.reach;
  f.elements.lines.byte = {Seconds{0.004 * kNanosecond}, Seconds{0.05 * kNanosecond}, Seconds{0.3 * kNanosecond}};
  for (std::size_t op = 0; op < f.elements.of.size(); ++op)  // adding is nothing beside its bytes
    f.elements.of[op] = {Seconds{50 * kNanosecond}, Seconds{static_cast<double>(op) * kNanosecond}};
  return f;
}

// A grid timed by `truth`, each time off by up to `noise`.
Measured measured_by(const CpuModel& truth, double noise, const char* stream = "noise") {
  Measured m;
  m.device = "cpu";
  m.title = "a known CPU";
  m.commit = "none";
  m.source = "none";
  m.locator = "a test";
  m.machine = {{"l1_cache", 32768}, {"l2_cache", 1 << 20}, {"last_level_cache", 32 << 20}, {"memory", 1e9}};
  Rng rng(1, stream);
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
  for (const int sequences : {1, 8})
    for (const int context : {15, 64, 257})
      for (const int reuse_kib : {2000, 10000, 70000})
        add("attention", {{"sequences", sequences},
                          {"rows", 1},
                          {"context", context},
                          {"heads", 8},
                          {"kv_heads", 4},
                          {"head_dim", 64},
                          {"tree", 0},
                          {"copies", 6},
                          {"reuse_kib", reuse_kib}});
  m.points.push_back({"read", {{"kib", 262144}}, Seconds{0.05}, Seconds{0.05}, Seconds{0.05}, 5, 0, {}});
  for (const int rows : {1, 2, 5, 8, 16, 40})
    for (const int columns : {64, 150, 300, 700, 1000, 2500, 20000}) {
      for (const char* op : {"add", "rms_norm", "silu_mul", "argmax", "sample"})
        add(op, {{"rows", rows}, {"columns", columns}});
      add("top_k", {{"rows", rows}, {"columns", columns}, {"k", 4}});
      add("rope_append", {{"rows", rows}, {"heads", columns / 50}, {"kv_heads", 1}, {"head_dim", 64}});
    }
  for (const int rows : {1, 4})
    for (const int sequences : {1, 8})
      for (const int dim : {32, 64, 128})
        for (const int reuse_kib : {100, 2000, 10000, 70000})
          add("rope_append", {{"rows", rows},
                              {"heads", 4},
                              {"kv_heads", 2},
                              {"head_dim", dim},
                              {"sequences", sequences},
                              {"copies", 6},
                              {"reuse_kib", reuse_kib}});
  for (const int in : {64, 200, 512})
    for (const int out : {96, 512, 1536})
      for (const int rows : {1, 2, 6})
        for (const double share : {0.1, 0.3, 0.6, 1.0}) {
          const int copies = static_cast<int>(share * m.of_machine("last_level_cache") / (4.0 * in * out));
          if (copies > 1 && copies != 40) add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", copies}});
        }
  for (const int in : {500, 1000, 2000})
    for (const int pause : {1000, 3000, 10000})
      for (const int rows : {1, 6})
        add("gemm", {{"rows", rows}, {"in", in}, {"out", 1100}, {"copies", 1}, {"pause_us", pause}});
  return m;
}

std::string text_of_measured(const Measured& m) {
  std::ostringstream out;
  write_measured(out, m);
  return out.str();
}
std::string mistakes_of_measured(const std::string& text) {
  return mistake_of([&] {
    const Document d = Document::from_text(text, "m.json");
    (void)read_measured(d.root());
    d.finish();
  });
}
std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a fit gives back the CPU that made the times") {
  const CpuModel truth = known();
  const CpuCalibration c = calibrate_cpu(measured_by(truth, 0));
  CHECK(c.fit.gemm.step[3].value == Approx(truth.gemm.step[3].value).epsilon(0.01));
  CHECK(c.fit.gemm.reach.byte[2].value == Approx(truth.gemm.reach.byte[2].value).epsilon(0.03));
  CHECK(c.fit.gemm.memory_stall == Approx(truth.gemm.memory_stall).epsilon(0.03));
  CHECK(c.fit.co_runner_traffic.value == Approx(truth.co_runner_traffic.value).epsilon(0.03));
  CHECK(c.fit.attention.pair.value == Approx(truth.attention.pair.value).epsilon(0.03));
  CHECK(c.fit.attention.step.value == Approx(truth.attention.step.value).epsilon(0.03));
  CHECK(c.fit.attention.reach.byte[2].value == Approx(truth.attention.reach.byte[2].value).epsilon(0.03));
  CHECK(c.fit.attention.llc_start.value == Approx(truth.attention.llc_start.value).epsilon(0.03));
  CHECK(c.fit.attention.memory_start.value == Approx(truth.attention.memory_start.value).epsilon(0.03));
  CHECK(c.fit.elements.byte.value == Approx(truth.elements.byte.value).epsilon(0.02));
  CHECK(c.fit.elements.slow_for.value == Approx(truth.elements.slow_for.value).epsilon(0.03));
  CHECK(c.fit.elements.slow_clock == Approx(truth.elements.slow_clock).epsilon(0.01));
  CHECK(c.fit.elements.lines.byte[1].value == Approx(truth.elements.lines.byte[1].value).epsilon(0.03));
  CHECK(c.fit.elements.lines.byte[2].value == Approx(truth.elements.lines.byte[2].value).epsilon(0.03));
  for (std::size_t op = 1; op < truth.elements.of.size(); ++op)
    CHECK(c.fit.elements.of[op].element.value == Approx(truth.elements.of[op].element.value).epsilon(0.02));
  for (const FitQuality& q : c.quality) CHECK(q.median < 0.01);
  CHECK(c.read_bandwidth == Approx((256 << 20) / 0.05));
}

namespace {

std::map<std::string, double> coefficients_of(const CpuModel& f, const std::string& op) {
  const auto reach = [](std::map<std::string, double> all, const CpuByteCost& r) {
    all["l2_byte"] = r.byte[0].value;
    all["llc_byte"] = r.byte[1].value;
    all["memory_byte"] = r.byte[2].value;
    all["cache_share"] = r.cache_share;
    all["llc_share"] = r.llc_share;
    return all;
  };
  const CpuGemmFit& g = f.gemm;
  const CpuAttentionFit& a = f.attention;
  if (op == "gemm")
    return reach({{"fixed", g.fixed.value},
                  {"tile", g.tile.value},
                  {"step_1", g.step[0].value},
                  {"step_2", g.step[1].value},
                  {"step_3", g.step[2].value},
                  {"step_4", g.step[3].value},
                  {"memory_stall", g.memory_stall},
                  {"blend", g.blend},
                  {"co_runner_traffic", f.co_runner_traffic.value}},
                 g.reach);
  if (op == "attention")
    return reach({{"fixed", a.fixed.value},
                  {"row", a.row.value},
                  {"pair", a.pair.value},
                  {"step", a.step.value},
                  {"llc_start", a.llc_start.value},
                  {"memory_start", a.memory_start.value},
                  {"blend", a.blend}},
                 a.reach);
  if (const auto known = value_named(kElementOps, op))
    return {{"fixed", f.elements.of[*known].fixed.value}, {"element", f.elements.of[*known].element.value}};
  std::map<std::string, double> all{{"byte", f.elements.byte.value},
                                    {"beyond_l1_byte", f.elements.beyond_l1_byte.value},
                                    {"beyond_l2_byte", f.elements.beyond_l2_byte.value},
                                    {"slow_for", f.elements.slow_for.value},
                                    {"slow_clock", f.elements.slow_clock},
                                    {"line_l2_byte", f.elements.lines.byte[0].value},
                                    {"line_llc_byte", f.elements.lines.byte[1].value},
                                    {"line_memory_byte", f.elements.lines.byte[2].value}};
  for (const auto& [name, of] : kElementOps)
    for (const auto& [coefficient, value] : coefficients_of(f, std::string(name)))
      all[std::string(name) + "_" + coefficient] = value;
  return all;
}

}  // namespace

TEST_CASE("noise, outliers and points of two minds move no coefficient by more than its interval", "[once]") {
  const CpuModel truth = known();
  Measured m = measured_by(truth, 0.05);
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    if (i % 20 == 0) m.points[i].median = 8.0 * m.points[i].median;                      // somebody else had the core
    if (i % 7 == 0) m.points[i].median = (i % 2 == 0 ? 1.1 : 0.9) * m.points[i].median;  // another clock
  }
  const CpuCalibration c = calibrate_cpu(m);
  // Some forty coefficients with a 90 % interval each: a few may be outside of it, none beyond the 99.9 %.
  constexpr double kOf90 = 1.645, kOf999 = 3.29;
  int all = 0, outside = 0;
  std::vector<FitQuality> judged{c.quality[0], c.quality[1], c.elements};
  for (const FitQuality& q : judged) {
    const auto right = coefficients_of(truth, q.op), fitted = coefficients_of(c.fit, q.op);
    for (std::size_t i = 0; i < q.spread.names.size(); ++i) {
      const std::string& name = q.spread.names[i];
      const double moved = std::abs(std::log(fitted.at(name) / right.at(name)));
      const double deviation = std::sqrt(q.spread.covariance[i][i]);
      INFO(q.op << " " << name << " " << fitted.at(name) << " for " << right.at(name) << ", deviation " << deviation);
      CHECK(moved < kOf999 * deviation);
      ++all;
      outside += moved > kOf90 * deviation;
    }
  }
  CHECK(all == 14 + 12 + 8 + 1 + 6 * 2);
  CHECK(outside <= all / 5);
}

TEST_CASE("a 90 % interval holds 85 to 95 % of the points that a fit has not seen", "[once]") {
  const double noise = GENERATE(0.02, 0.15);
  const CpuModel truth = known();
  const CpuCalibration c = calibrate_cpu(measured_by(truth, noise));
  std::vector<FitQuality> judged{c.quality[0], c.quality[1], c.elements};
  // Times of other noise than was fitted, and what the fit says of them.
  Measured fresh = measured_by(truth, noise, "unseen");
  std::map<std::string, std::pair<int, int>> inside;  // of all
  for (const MeasuredPoint& p : fresh.points) {
    if (p.op == "read") continue;
    const std::size_t which = p.op == "gemm" ? 0 : p.op == "attention" ? 1 : 2;
    const double ratio = p.median / predicted(c.fit, p);
    auto& [in, of] = inside[judged[which].op];
    in += ratio >= judged[which].low && ratio <= judged[which].high;
    ++of;
  }
  REQUIRE(inside.size() == 3);
  for (const auto& [op, count] : inside) {
    INFO(op << ": " << count.first << " of " << count.second);
    CHECK(count.first > 0.85 * count.second);
    CHECK(count.first < 0.95 * count.second);
  }
  for (const FitQuality& q : judged) {
    INFO(q.op);
    CHECK(q.low < 1 - noise / 2);
    CHECK(q.high > 1 + noise / 2);
    CHECK(q.coverage > 0.85);
    CHECK(q.coverage < 0.95);
  }
}

TEST_CASE("a fit to points that drifted gives back the CPU as it usually was, if memory was read beside them",
          "[once]") {
  const CpuModel truth = known();
  const MemoryTimes usual{Seconds{3e-4}, Seconds{5e-3}};
  const MemoryDrift slow{1.4, 1.9};
  Measured m = measured_by(truth, 0);
  constexpr std::size_t kStretch = 20;  // points: a neighbour comes and goes
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    MeasuredPoint& p = m.points[i];
    if (p.op == "read") continue;
    const MemoryDrift now = i / kStretch % 2 == 0 ? MemoryDrift{} : slow;
    p.low = p.median = p.high = predicted(drifted(truth, now), p);
    p.memory = {now.llc * usual.llc, now.memory * usual.memory};
  }
  for (const auto& [kib, time] : {std::pair(5000, usual.llc), {50000, usual.memory}})
    m.points.push_back(
        {.op = "memory_reference", .shape = {{"kib", kib}}, .median = time, .low = time, .high = time, .samples = 9});
  const CpuCalibration c = calibrate_cpu(m);
  CHECK(c.fit.gemm.reach.byte[2].value == Approx(truth.gemm.reach.byte[2].value).epsilon(0.03));
  CHECK(c.fit.attention.reach.byte[2].value == Approx(truth.attention.reach.byte[2].value).epsilon(0.03));
  CHECK(c.fit.attention.memory_start.value == Approx(truth.attention.memory_start.value).epsilon(0.03));
  CHECK(c.fit.elements.lines.byte[2].value == Approx(truth.elements.lines.byte[2].value).epsilon(0.03));
  CHECK(c.quality[0].p90 < 0.02);
  for (MeasuredPoint& p : m.points) p.memory.reset();
  CHECK(calibrate_cpu(m).quality[0].p90 > 0.1);  // the same points, and nothing to tell them apart
}

TEST_CASE("an op that no probe has timed is priced as a gate, if a file may lack it") {
  Measured m = measured_by(known(), 0);
  std::erase_if(m.points, [](const auto& p) { return p.op == "top_k" || p.op == "sample"; });
  const CpuCalibration c = calibrate_cpu(m);
  const auto& of = c.fit.elements.of;
  const auto& gate = of[static_cast<std::size_t>(ElementOp::silu_mul)];
  for (const ElementOp op : {ElementOp::top_k, ElementOp::sample}) {
    CHECK(of[static_cast<std::size_t>(op)].fixed == gate.fixed);
    CHECK(of[static_cast<std::size_t>(op)].element == gate.element);
  }
  CHECK(c.quality.size() == 2 + kElementOps.size() - 2);
  std::erase_if(m.points, [](const auto& p) { return p.op == "argmax"; });
  CHECK_THROWS_AS(calibrate_cpu(m), InputErrors);
}

TEST_CASE("thin data are warned of, and coefficients that they don't show") {
  Measured m = measured_by(known(), 0.01);
  std::erase_if(m.points, [](const auto& p) { return p.op == "gemm" && (p.at("rows") != 1 || p.at("copies") != 1); });
  const CpuCalibration c = calibrate_cpu(m);
  std::string all;
  for (const auto& w : c.quality[0].warnings) all += w + "\n";
  CHECK(all.find("points for 14 coefficients") != std::string::npos);
  CHECK(all.find("\"step_4\" is hardly seen") != std::string::npos);
  m.points.clear();
  CHECK_THROWS_AS(calibrate_cpu(m), InputErrors);
}

TEST_CASE("a measured file is read back as it was written") {
  Measured m = measured_by(known(), 0);
  m.points.push_back(
      {"gemm", {{"rows", 99}, {"in", 1}, {"out", 1}, {"copies", 1}}, {}, {}, {}, 0, 0, "needs more memory"});
  const Document d = Document::from_text(text_of_measured(m), "m.json");
  const Measured back = read_measured(d.root());
  d.finish();
  REQUIRE(back.points.size() == m.points.size());
  for (std::size_t i = 0; i < m.points.size(); ++i) {
    CHECK(back.points[i].same_shape(m.points[i]));
    CHECK(back.points[i].median.value == Approx(m.points[i].median.value).epsilon(1e-4));
  }
  CHECK(back.points.back().skipped == "needs more memory");
}

TEST_CASE("files of before are read: the clock reference was a yardstick, the reuse distance was met_kib") {
  Measured m = measured_by(known(), 0);
  MeasuredPoint clock{.op = "clock_reference", .shape = {}};
  clock.low = clock.median = clock.high = Seconds{1e-4};
  clock.samples = 1;
  m.points.push_back(clock);
  std::string before = text_of_measured(m);
  const auto rename = [&](const std::string& to, const std::string& from) {
    std::size_t times = 0;
    for (auto at = before.find(from); at != std::string::npos; at = before.find(from, at + to.size()), ++times)
      before.replace(at, from.size(), to);
    return times;
  };
  REQUIRE(rename("\"met_kib\"", "\"reuse_kib\"") > 0);
  REQUIRE(rename("\"yardstick\"", "\"clock_reference\"") == 1);
  const Document d = Document::from_text(before, "m.json");
  const Measured back = read_measured(d.root());
  d.finish();
  REQUIRE(back.points.size() == m.points.size());
  for (std::size_t i = 0; i < m.points.size(); ++i) CHECK(back.points[i].same_shape(m.points[i]));
}

TEST_CASE("hostile measured files are refused with the place and the reason") {
  Measured m = measured_by(known(), 0);
  m.points.resize(2);
  const std::string good = text_of_measured(m);
  REQUIRE(mistakes_of_measured(good) == "none");
  const std::string median =
      good.substr(good.find("\"median\""), good.find(',', good.find("\"median\"")) - good.find("\"median\""));
  CHECK(mistakes_of_measured(with(good, median, "\"median\": \"-1 us\"")).find("#/points/0/median") !=
        std::string::npos);
  CHECK(mistakes_of_measured(with(good, median, "\"median\": \"0 us\"")).find("#/points/0/median") !=
        std::string::npos);
  CHECK(mistakes_of_measured(with(good, median, "\"median\": \"nan us\"")).find("#/points/0/median") !=
        std::string::npos);
  CHECK(mistakes_of_measured(with(good, median, "\"median\": \"5 MB\"")).find("#/points/0/median") !=
        std::string::npos);
  CHECK(mistakes_of_measured(with(good, median, "\"median\": \"900 s\"")).find("between low and high") !=
        std::string::npos);
  CHECK(mistakes_of_measured(with(good, "\"schema_version\": 1", "\"schema_version\": 2")).find("schema 1") !=
        std::string::npos);
  CHECK(mistakes_of_measured(with(good, "\"samples\"", "\"simples\"")).find("did you mean") != std::string::npos);
  m.points[1] = m.points[0];
  CHECK(mistakes_of_measured(text_of_measured(m)).find("#/points/1: this shape was measured before") !=
        std::string::npos);
}
