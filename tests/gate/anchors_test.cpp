// SPDX-License-Identifier: Apache-2.0
// Predictions beside measurements, which only report.
#include "gate/anchors.h"

#include <sstream>

#include "api/answer.h"
#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

std::string anchor(const std::string& measured, const std::string& more = "") {
  return R"({"schema_version": 1, "anchors": [{"group": "g", "source": "someone", )" + more +
         R"("verb": "run", "scenario": )" + std::string(kScenario) + R"(, "measured": [)" + measured + "]}]}";
}
std::string at_batch(int batch, const char* figure, double value, const char* more = "") {
  return R"({"at": {"batch_size": )" + std::to_string(batch) + R"(}, "figure": ")" + figure + R"(", "value": )" +
         std::to_string(value) + more + "}";
}
Anchored first(const Rig& rig) {
  return predict(read_anchors(rig.path("anchors.json"), "").anchors.front(), rig.data());
}

// The figure as `run` predicts it now.
double predicted(const Rig& rig, int batch, const std::string& figure) {
  Question q;
  q.verb = "run";
  q.file = rig.path("s.json");
  for (const PointFigures& p : figures_of(Json::parse(answer(q, rig.data()).document)))
    if (identity_of(p.key).find("batch_size\n" + std::to_string(batch) + "\n") != std::string::npos)
      for (const auto& [name, value] : p.figures)
        if (name == figure) return value.get<double>();
  FAIL("no " << figure);
  return 0;
}

}  // namespace

TEST_CASE("an alert needs both: two points more, and a tenth more") {
  const auto alert = [](double pinned, double now) {
    Anchored a;
    a.pinned_median = pinned;
    a.errors = summarize({now});
    return a.alert();
  };
  CHECK(alert(0.10, 0.13));
  CHECK(!alert(0.10, 0.115));  // more than a tenth, less than two points
  CHECK(!alert(0.40, 0.43));   // three points, less than a tenth
  CHECK(alert(0.40, 0.45));
  CHECK(alert(0, 0.021));
  CHECK(!alert(0.13, 0.10));  // nearer
  Anchored unpinned;
  unpinned.errors = summarize({5.0});
  CHECK(!unpinned.alert());
}

TEST_CASE("an error is predicted over measured, less one; a share is one figure over another") {
  const Rig rig;
  const double one = predicted(rig, 1, "step_time"), eight = predicted(rig, 8, "step_time"),
               verify = predicted(rig, 8, "breakdown.verify");
  rig.write("anchors.json", anchor(R"({"at": {"batch_size": 1}, "figure": "step_time", "value": )" +
                                   Json(one / 1.6).dump() + R"(}, {"at": {"batch_size": 8, "method": "eagle3"},
                                   "figure": "step_time", "value": )" +
                                   Json(eight / 0.5).dump() + R"(}, {"at": {"batch_size": 8},
                                   "figure": "breakdown/verify", "of": "step_time", "value": )" +
                                   Json(verify / eight / 1.2).dump() + "}"));
  const Anchored a = first(rig);
  CHECK(a.errors.cells == 3);
  CHECK(a.errors.median.value_or(0) == Approx(0.5));
  CHECK(a.errors.largest.value_or(0) == Approx(0.6));
  CHECK(a.coverage.known == 2);   // a share has no interval
  CHECK(a.coverage.inside == 0);  // steps that are 38 % shorter and twice as long
  CHECK(!a.left_out);
}

TEST_CASE("points of a committed measured file stand beside their device, op by op") {
  const Rig rig;
  std::filesystem::copy(kShippedData / "measured/cpu-xeon-2.5ghz.json", rig.path("m.json"));
  const auto file = [](const std::string& device, const std::string& kind) {
    return R"({"schema_version": 1, "anchors": [{"group": "g", "source": "we", "measured_file": "m.json", "device": ")" +
           device + R"(", "kind": ")" + kind + R"("}]})";
  };
  rig.write("anchors.json", file("cpu", "gemm"));
  const Anchored gemm = first(rig);
  CHECK(gemm.errors.cells > 100);
  CHECK(gemm.errors.median.value_or(1) < 0.15);
  rig.write("anchors.json", file("cpu", "attention, decode"));
  CHECK(first(rig).errors.cells < gemm.errors.cells);
  rig.write("anchors.json", file("cpu", "gem"));
  CHECK(contains(mistake_of([&] { first(rig); }), "no point of kind \"gem\""));
  rig.write("anchors.json", file("h100-sxm", "gemm"));
  CHECK(contains(mistake_of([&] { first(rig); }), "was measured on a CPU"));
}

TEST_CASE("an anchor whose reference data are not at hand is left out, and keeps its median") {
  const Rig rig;
  rig.write("anchors.json",
            anchor(at_batch(1, "step_time", 1), R"("needs": "serving/log.jsonl", "median_error": 0.25, )"));
  const AnchorFile file = read_anchors(rig.path("anchors.json"), rig.path("reference"));
  const Anchored a = predict(file.anchors.front(), rig.data());
  CHECK(contains(a.left_out.value_or(""), "serving/log.jsonl"));
  CHECK(!a.alert());
  approve_anchors(file, {a});
  CHECK(read_anchors(rig.path("anchors.json"), "").anchors.front().pinned_median == 0.25);
  std::filesystem::create_directories(rig.path("reference/serving"));
  rig.write("reference/serving/log.jsonl", "");
  CHECK(!predict(file.anchors.front(), rig.data()).left_out);
}

TEST_CASE("medians are pinned where they stand, and nothing else of the file changes") {
  const Rig rig;
  rig.write("anchors.json", anchor(at_batch(1, "step_time", 0.001), R"("median_error": 0.5, )"));
  const AnchorFile file = read_anchors(rig.path("anchors.json"), "");
  const Anchored now = predict(file.anchors.front(), rig.data());
  Json before = json(rig.read("anchors.json"));
  approve_anchors(file, {now});
  const std::string bytes = rig.read("anchors.json");
  before["anchors"][0]["median_error"] = now.errors.median.value();
  CHECK(json(bytes).dump() == before.dump());
  approve_anchors(file, {now});
  CHECK(rig.read("anchors.json") == bytes);
  std::istringstream lines(bytes);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 120);
}

TEST_CASE("mistakes in a file of anchors are told") {
  struct Case {
    std::string file, message;
  };
  const auto c = GENERATE_COPY(
      Case{"[]", "anchors.json#: "}, Case{R"({"schema_version": 1, "anchors": [1]})", "anchors.json#/anchors/0: "},
      Case{anchor(""), "#/anchors/0/measured: at least one figure is required"},
      Case{anchor(at_batch(1, "step_time", 0)), "#/anchors/0/measured/0/value: must not be 0"},
      Case{anchor(at_batch(1, "step_time", 1, R"(, "unit": "s")")), "#/anchors/0/measured/0/unit: unknown key"},
      Case{anchor(at_batch(1, "step_tim", 1)),
           "g: no figure \"step_tim\" at batch_size 1; did you mean \"step_time\"?"},
      Case{anchor(at_batch(3, "step_time", 1)), "g: no point at batch_size 3; of batch_size there are \"1\", \"8\""},
      Case{anchor(R"({"at": {"rate": "2"}, "figure": "step_time", "value": 1})"),
           "g: no point at rate 2; none has a rate"},
      Case{R"({"schema_version": 1, "anchors": []})", "#/anchors: at least one anchor is required"},
      Case{R"({"schema_version": 1, "anchors": [{"group": "g", "source": "s", "verb": "rum", "scenario": {},
               "measured": []}]})",
           "#/anchors/0/verb: \"rum\" is no verb"},
      Case{anchor(at_batch(1, "step_time", 1), R"("median_error": -1, )"), "#/anchors/0/median_error: "},
      Case{anchor(at_batch(1, "step_time", 1), R"("needs": 4, )"), "#/anchors/0/needs: "});
  const Rig rig;
  rig.write("anchors.json", c.file);
  INFO(c.file);
  CHECK(contains(mistake_of([&] { first(rig); }), c.message));
}
