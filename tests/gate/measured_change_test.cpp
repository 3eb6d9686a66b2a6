// SPDX-License-Identifier: Apache-2.0
// Two measurements of the same things: same, faster, slower, ambiguous.
#include "gate/measured_change.h"

#include <map>
#include <sstream>

#include "measure/validation.h"
#include "model/calibration/measured.h"
#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

MeasuredPoint timed(const char* op, int rows, double median, double spread = 0.001, int samples = 25) {
  return {op,
          {{"rows", rows}, {"columns", 64}},
          Seconds{median},
          Seconds{median * (1 - spread)},
          Seconds{median * (1 + spread)},
          samples,
          0,
          {}};
}

void head(Provenance& p) {
  p.device = "cpu";
  p.title = "a machine";
  p.commit = "0123";
  p.source = "draftline";
  p.locator = "test";
  p.arguments = {"probe"};
}

void write_probe(const Rig& rig, const std::string& name, std::vector<MeasuredPoint> points) {
  Measured m;
  head(m);
  m.points = std::move(points);
  std::ostringstream text;
  write_measured(text, m);
  rig.write(name, text.str());
}

std::vector<MeasuredTurn> turns(double time, int n, double spread = 0.01) {
  std::vector<MeasuredTurn> all;
  for (int i = 0; i < n; ++i) all.push_back({Seconds{time * (1 + spread * (i - n / 2) / n)}, 1, 1, {}});
  return all;
}

void write_steps(const Rig& rig, const std::string& name, double plain, double method, int n = 12) {
  MeasuredSteps m;
  head(m);
  MeasuredCell c;
  c.transformer = "qwen3-4b";
  c.method = MethodSpec(Document::from_text(R"({"name":"prompt_lookup"})", "test").root());
  c.batch_size = 2;
  c.context = 100;
  c.plain = turns(plain, n);
  c.turns = turns(method, n);
  m.cells = {c};
  std::ostringstream text;
  write_measured_steps(text, m);
  rig.write(name, text.str());
}

// "gemm rows 1: slower", ... of points.
std::map<std::string, std::string> verdicts(const std::vector<MeasuredChange>& changes) {
  std::map<std::string, std::string> all;
  for (const MeasuredChange& c : changes) all[c.what] = verdict_name(c.verdict);
  return all;
}

}  // namespace

TEST_CASE("a verdict: the interval beyond the band and a rank test that agrees") {
  CHECK(verdict_of({1.10, 1.20}, {}, 0.05) == Verdict::slower);
  CHECK(verdict_of({0.80, 0.90}, {}, 0.05) == Verdict::faster);
  CHECK(verdict_of({0.97, 1.04}, {}, 0.05) == Verdict::same);
  CHECK(verdict_of({1.02, 1.20}, {}, 0.05) == Verdict::ambiguous);  // it may be the same
  CHECK(verdict_of({0.80, 1.20}, {}, 0.05) == Verdict::ambiguous);
  CHECK(verdict_of({1.10, 1.20}, 0.009, 0.05) == Verdict::slower);
  CHECK(verdict_of({1.10, 1.20}, 0.011, 0.05) == Verdict::ambiguous);
  CHECK(verdict_of({0.97, 1.04}, 0.0001, 0.05) == Verdict::same);  // different for sure, by too little to matter
}

TEST_CASE("two probes: each point by medians and quartiles, each op by signed ranks over its points") {
  const Rig rig;
  std::vector<MeasuredPoint> before, after;
  for (int rows = 1; rows <= 12; ++rows) {
    before.push_back(timed("add", rows, 1e-3 * rows));
    after.push_back(timed("add", rows, 1.2e-3 * rows));
    before.push_back(timed("silu_mul", rows, 2e-3));
    after.push_back(timed("silu_mul", rows, 2e-3 * (rows % 2 == 0 ? 1.01 : 0.99)));
  }
  before.push_back(timed("rms_norm", 1, 1e-3, 0.5, 5));
  after.push_back(timed("rms_norm", 1, 1.1e-3, 0.5, 5));
  before.push_back(timed("argmax", 1, 2e-3));
  after.push_back(timed("argmax", 1, 1e-3));
  before.push_back(timed("rms_norm", 9, 1e-3));
  after.push_back(timed("sample", 1, 1e-3));
  after.push_back(timed("sample", 2, 1e-3));
  write_probe(rig, "before.json", before);
  write_probe(rig, "after.json", after);
  const auto c = compare_measured(rig.path("before.json"), rig.path("after.json"), 0.05);
  CHECK(c.only_before == 1);
  CHECK(c.only_after == 2);
  auto points = verdicts(c.points);
  CHECK(points["add columns 64 rows 3"] == "slower");
  CHECK(points["silu_mul columns 64 rows 3"] == "same");
  CHECK(points["rms_norm columns 64 rows 1"] == "ambiguous");  // quartiles of +-50 %
  CHECK(points["argmax columns 64 rows 1"] == "faster");
  CHECK(c.points.front().what == "argmax columns 64 rows 1");  // halved: moved most
  CHECK(c.points.front().ratio == Approx(0.5));
  // McGill, Tukey and Larsen's notch: 1.57 * 0.002 / 5 = 0.000628 of the median to either side, of both medians.
  CHECK(c.points.front().interval.high == Approx(0.5 * 1.000628 / 0.999372).epsilon(1e-6));
  auto kinds = verdicts(c.kinds);
  CHECK(kinds["add"] == "slower");
  CHECK(kinds["silu_mul"] == "same");
  CHECK(kinds["argmax"] == "faster");       // one point: no rank test is significant, but its 25 samples are
  CHECK(kinds["rms_norm"] == "ambiguous");  // one point, whose samples are not
  CHECK(c.lost.empty());
  CHECK(!c.fine());
  const std::string text = measured_text(c, 0);
  CHECK(contains(text, "1 point stands only in the first file, 2 only in the second"));
  std::ostringstream out;
  write_measured_json(out, c);
  CHECK(json(out.str()).at("kinds").size() == 4);
}

TEST_CASE("an op with too few points for a rank test is slower where every point is, and one of them surely") {
  const Rig rig;
  const auto verdict = [&](std::vector<double> ratios, int samples) {
    std::vector<MeasuredPoint> before, after;
    for (std::size_t i = 0; i < ratios.size(); ++i) {
      const int rows = static_cast<int>(i) + 1;
      before.push_back(timed("add", rows, 1e-3, 0.001, i == 0 ? samples : 3));
      after.push_back(timed("add", rows, 1e-3 * ratios[i], 0.001, i == 0 ? samples : 3));
    }
    write_probe(rig, "before.json", before);
    write_probe(rig, "after.json", after);
    return compare_measured(rig.path("before.json"), rig.path("after.json"), 0.05).kinds.at(0).verdict;
  };
  CHECK(verdict({2, 2.1, 1.9}, 20) == Verdict::slower);
  CHECK(verdict({0.5, 0.4, 0.6}, 20) == Verdict::faster);
  CHECK(verdict({2, 2.1, 1.9}, 19) == Verdict::ambiguous);  // notches of few samples err too often
  CHECK(verdict({2, 2.1, 1.0}, 20) == Verdict::ambiguous);
  CHECK(verdict({2, 2.1, 0.5}, 20) == Verdict::ambiguous);
  CHECK(verdict({1, 1, 1}, 20) == Verdict::same);
}

TEST_CASE("an op that the second file lacks is no success; files without a common point are refused") {
  const Rig rig;
  write_probe(rig, "both.json", {timed("add", 1, 1e-3), timed("argmax", 1, 1e-3)});
  write_probe(rig, "one.json", {timed("add", 1, 1e-3), timed("argmax", 2, 1e-3)});
  write_probe(rig, "other.json", {timed("sample", 1, 1e-3)});
  const auto c = compare_measured(rig.path("both.json"), rig.path("one.json"), 0.05);
  CHECK(c.lost == std::vector<std::string>{"argmax"});
  CHECK(!c.fine());
  CHECK(contains(measured_text(c, 0), "lost: the second file has no points of argmax.\n"));
  CHECK(compare_measured(rig.path("both.json"), rig.path("both.json"), 0.05).fine());
  CHECK(contains(mistake_of([&] { compare_measured(rig.path("both.json"), rig.path("other.json"), 0.05); }),
                 "other.json: has no point in common with "));
}

TEST_CASE("a file compared with itself is the same everywhere") {
  const Rig rig;
  const auto committed = kShippedData / "measured/cpu-xeon-2.5ghz.json";
  const auto c = compare_measured(committed, committed, 0.05);
  CHECK(c.points.size() > 50);
  for (const MeasuredChange& point : c.points) {
    INFO(point.what);
    CHECK(point.ratio == 1);
    CHECK(point.verdict != Verdict::slower);
    CHECK(point.verdict != Verdict::faster);
  }
  for (const MeasuredChange& kind : c.kinds) CHECK(kind.verdict == Verdict::same);
}

TEST_CASE("two files of steps: Mann and Whitney's test of their turns") {
  const Rig rig;
  write_steps(rig, "before.json", 0.010, 0.015);
  write_steps(rig, "after.json", 0.010, 0.018);
  const auto c = compare_measured(rig.path("before.json"), rig.path("after.json"), 0.05);
  REQUIRE(c.points.size() == 2);
  auto points = verdicts(c.points);
  CHECK(points["plain step, qwen3-4b, batch 2, context 100"] == "same");
  CHECK(points[R"({"name":"prompt_lookup"}, qwen3-4b, batch 2, context 100)"] == "slower");
  CHECK(c.points.front().p.value_or(1) < 0.001);  // all 12 above all 12
  CHECK(c.points.front().ratio == Approx(1.2));
  write_steps(rig, "few.json", 0.010, 0.018, 3);
  const auto few = compare_measured(rig.path("before.json"), rig.path("few.json"), 0.05);
  CHECK(verdicts(c.kinds)[R"({"name":"prompt_lookup"})"] == "slower");  // its one cell is
  CHECK(few.points.front().verdict == Verdict::ambiguous);              // 3 turns above 12: z = 17.5 / 6.93, p = 0.0115
}

TEST_CASE("plain steps that were timed beside several methods count together") {
  const Rig rig;
  MeasuredSteps m;
  head(m);
  MeasuredCell c;
  c.transformer = "qwen3-4b";
  c.plain = turns(0.01, 8);
  c.turns = turns(0.02, 8);
  c.method = MethodSpec(Document::from_text(R"({"name":"eagle"})", "test").root());
  m.cells.push_back(c);
  c.method = MethodSpec(Document::from_text(R"({"name":"medusa"})", "test").root());
  m.cells.push_back(c);
  std::ostringstream text;
  write_measured_steps(text, m);
  rig.write("steps.json", text.str());
  const auto compared = compare_measured(rig.path("steps.json"), rig.path("steps.json"), 0.05);
  REQUIRE(compared.points.size() == 3);
  for (const MeasuredChange& point : compared.points) CHECK(point.before == (point.what.starts_with("plain") ? 16 : 8));
}

TEST_CASE("files that are no measurements, or of different kinds, are refused") {
  const Rig rig;
  write_probe(rig, "probe.json", {timed("add", 1, 1e-3)});
  write_steps(rig, "steps.json", 0.010, 0.015);
  const auto mistake = [&](const char* a, const char* b) {
    return mistake_of([&] { compare_measured(rig.path(a), rig.path(b), 0.05); });
  };
  CHECK(
      contains(mistake("probe.json", "steps.json"), "one file is from a probe, the other contains steps of a decoder"));
  CHECK(contains(mistake("probe.json", "s.json"), "is not a measured file"));
  CHECK(contains(mistake("none.json", "probe.json"), "no such file"));
  rig.write("hostile.json", R"({"points": [{"op": 3}]})");
  CHECK(contains(mistake("probe.json", "hostile.json"), "hostile.json#"));
  rig.write("hostile.json", R"({"cells": {}})");
  CHECK(contains(mistake("steps.json", "hostile.json"), "hostile.json#"));
}
