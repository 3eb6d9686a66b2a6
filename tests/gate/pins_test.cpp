// SPDX-License-Identifier: Apache-2.0
// Pin files: what is read, what is refused and where, and that writing loses nothing.
#include "gate/pins.h"

#include <algorithm>
#include <sstream>

#include "reports/figure_lists.h"
#include "reports/plan_figures.h"
#include "reports/run_figures.h"
#include "reports/simulate_figures.h"
#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

std::string file_with(const std::string& pin, const std::string& more = "") {
  return R"({"schema_version": 1, )" + more + R"("pins": [)" + pin + "]}";
}

}  // namespace

TEST_CASE("a pin file that was written and read again says the same, and is written as the same bytes") {
  const Rig rig;
  PinFile f;
  f.path = rig.path("pins.json");
  f.commit = "abc";
  f.model = "0123456789abcdef";
  f.tolerance = {0.01, "because"};
  Pin run;
  run.question.verb = "run";
  run.question.file = rig.path("s.json");
  run.figures = pinned_figures("run");
  run.tolerance = f.tolerance;
  run.inputs = {"s.json", "data/devices/h100-sxm.json"};
  const double third = 1.0 / 3;
  run.points = {{{{"device", "h100-sxm"}, {"batch_size", "1"}},
                 {{"throughput", third},
                  {"steps", 7},
                  {"seed", std::uint64_t{18446744073709551615U}},
                  {"skipped", "quote \" line\nend é"},
                  {"diverges", true},
                  {"none", nullptr}}},
                {{{"device", "h100-sxm"}, {"batch_size", "8"}}, {{"throughput", 5e-324}}}};
  Pin papers;
  papers.question.verb = "papers";
  papers.question.papers = {"s3d", "clover"};
  papers.question.seed = 18446744073709551615U;
  papers.figures = {"ours", "printed."};
  papers.tolerance = {0.5, "its own"};
  papers.own_tolerance = true;
  f.pins = {run, papers};
  f.inputs["data/devices/h100-sxm.json"] = {"feed", {{"datasheet/0/bandwidth", "3.35 TB/s"}}};
  f.inputs["log.gz"] = {"beef", {}};
  write_pins(f);
  const std::string bytes = rig.read("pins.json");

  const PinFile back = read_pins(f.path);
  CHECK(back.commit == f.commit);
  CHECK(back.model == f.model);
  CHECK(back.tolerance.relative == 0.01);
  REQUIRE(back.pins.size() == 2);
  const Pin& first = back.pins[0];
  CHECK(first.question.name() == "run s.json");
  CHECK(first.figures == run.figures);
  CHECK(first.inputs == run.inputs);
  REQUIRE(first.points.size() == 2);
  CHECK(identity_of(first.points[1].key) == identity_of(run.points[1].key));
  CHECK(first.points[0].figures == run.points[0].figures);
  CHECK(first.points[1].figures[0].second.get<double>() == 5e-324);
  CHECK(back.pins[1].question.papers == papers.question.papers);
  CHECK(back.pins[1].question.seed == papers.question.seed);
  CHECK(back.pins[1].tolerance.because == "its own");
  CHECK(back.pins[1].figures == papers.figures);
  CHECK(back.inputs.at("data/devices/h100-sxm.json").values == f.inputs.at("data/devices/h100-sxm.json").values);
  CHECK(back.inputs.at("log.gz").fingerprint == "beef");
  write_pins(back);
  CHECK(rig.read("pins.json") == bytes);
}

TEST_CASE("figures are named with points or, as docs/reference/output.md writes them, with slashes") {
  const Rig rig;
  rig.write("pins.json",
            file_with(R"({"verb": "run", "scenario": "s.json", "figures": ["breakdown/", "ttft/p99", "e2e.mean"]})"));
  const Pin pin = read_pins(rig.path("pins.json")).pins.at(0);
  CHECK(pin.figures == std::vector<std::string>{"breakdown.", "ttft.p99", "e2e.mean"});
  CHECK(ends_with(pin.place, "pins.json#/pins/0"));
}

TEST_CASE("the usual figures are all that a verb prints in its table, but for sentences about them") {
  const auto left_out = [](const auto& figures, const std::string& verb) {
    const std::vector<std::string> usual = pinned_figures(verb);
    std::string all;
    for (const auto& f : figures) {
      const std::string name = dotted(f.json.text());
      if (name.empty() || f.title.empty()) continue;
      const bool pinned = std::any_of(usual.begin(), usual.end(), [&](const std::string& u) {
        return name == u || (u.ends_with('.') && name.starts_with(u));
      });
      if (!pinned) all += name + " ";
    }
    return all;
  };
  CHECK(left_out(run_figures(), "run").empty());
  CHECK(left_out(simulate_figures(), "simulate").empty());
  CHECK(left_out(plan_figures(), "plan") == "why ");
}

TEST_CASE("each point and each value of an input stands on a line of its own, for people who read a diff") {
  const Rig rig;
  rig.approve(kRunPin);
  std::istringstream lines(rig.read("pins.json"));
  int points = 0, bandwidths = 0;
  for (std::string line; std::getline(lines, line);) {
    points += line.find("{\"at\":{\"batch_size\":") != line.npos ? 1 : 0;
    bandwidths += line.find("\"datasheet/0/bandwidth\": \"3.35 TB/s\"") != line.npos ? 1 : 0;
  }
  CHECK(points == 2);
  CHECK(bandwidths == 1);
}

TEST_CASE("mistakes in a pin file are told with their place") {
  struct Case {
    std::string file, message;
  };
  const std::string pin = R"({"verb": "run", "scenario": "s.json")";
  const auto c = GENERATE_COPY(
      Case{"", "pins.json#: "}, Case{"[]", "pins.json#: "}, Case{R"({"schema_version": 1})", "pins.json#: "},
      Case{R"({"schema_version": 2, "pins": []})", "pins.json#/schema_version: this draftline reads schema 1"},
      Case{file_with("3"), "pins.json#/pins/0: "},
      Case{file_with(R"({"verb": "runn", "scenario": "s.json"})"),
           "pins.json#/pins/0/verb: unknown value \"runn\"; did you mean \"run\"?"},
      Case{file_with(R"({"verb": "run"})"), "pins.json#/pins/0: missing key \"scenario\""},
      Case{file_with(R"({"verb": "run", "scenario": "none.json"})"), "pins.json#/pins/0/scenario: no such file: "},
      Case{file_with(R"({"verb": "run", "scenario": ""})"), "pins.json#/pins/0/scenario: "},
      Case{file_with(R"({"verb": "run", "scenario": "."})"), "pins.json#/pins/0/scenario: no such file: "},
      Case{file_with(pin + R"(, "scenari": 1})"), "pins.json#/pins/0/scenari: unknown key"},
      Case{file_with(pin + R"(, "tolerance": {"relative": 2, "because": "x"}})"),
           "pins.json#/pins/0/tolerance/relative: must be at most 0.5, got 2"},
      Case{file_with(pin + R"(, "tolerance": {"relative": 1e999, "because": "x"}})"),
           "pins.json#/pins/0/tolerance/relative: "},
      Case{file_with(pin + R"(, "tolerance": {"relative": 0.1}})"),
           "pins.json#/pins/0/tolerance: missing key \"because\""},
      Case{file_with(pin + R"(, "seed": -1})"), "pins.json#/pins/0/seed: must be a whole number"},
      Case{file_with(pin + R"(, "seed": "x"})"), "pins.json#/pins/0/seed: must be a whole number"},
      Case{file_with(pin + R"(, "seed": 1e30})"), "pins.json#/pins/0/seed: must be a whole number"},
      Case{file_with(pin + R"(, "figures": "all"})"), "pins.json#/pins/0/figures: "},
      Case{file_with(pin + R"(, "figures": []})"), "pins.json#/pins/0/figures: at least one figure is required"},
      Case{file_with(R"({"verb": "papers", "papers": []})"),
           "pins.json#/pins/0/papers: at least one paper is required"},
      Case{file_with(""), "pins.json#/pins: at least one pin is required"},
      Case{file_with(pin + R"(, "points": {"at": 1}})"), "pins.json#/pins/0/points: "},
      Case{file_with(pin + R"(, "points": [{"at": {"b": 1}, "x": [1]}]})"), "pins.json#/pins/0/points/0/x: must be a "},
      Case{file_with(pin + "}", R"("approved": {"commit": 1, "model": "x"}, )"), "pins.json#/approved/commit: "},
      Case{file_with(pin + "}", R"("inputs": {"a": {"fingerprint": 3}}, )"), "pins.json#/inputs/a/fingerprint: "},
      Case{file_with(pin + R"(, "verb": "run"})"), "pins.json#/pins/0/verb: "},
      Case{file_with(R"({"verb": "papers", "papers": "s3d"})"), "pins.json#/pins/0/papers: "},
      Case{file_with(R"({"verb": "calibrate", "measured": "gone.json"})"),
           "pins.json#/pins/0/measured: no such file: "},
      Case{std::string(100'000, '['), "pins.json#"});
  const Rig rig;
  rig.write("pins.json", c.file);
  INFO(c.file.substr(0, 200));
  CHECK(contains(mistake_of([&] { read_pins(rig.path("pins.json")); }), c.message));
}

TEST_CASE("every scenario of a folder that has no pin gets one, by what it asks; other files are told") {
  const Rig rig;
  const auto write = [&](const std::string& name, const std::string& text) { rig.write("f/" + name, text); };
  std::filesystem::create_directories(rig.path("f/sub/deep"));
  std::filesystem::create_directories(rig.path("f/empty"));
  write("s.json", kScenario);
  write("served.json", R"({"device": "h100-sxm", "method": {"name": "autoregressive"}, "workload": {}})");
  write("typo.json", R"({"devices": "h100-sxm", "methods": {}, "transformer": "x", "engine": "vllm"})");
  write("broken.json", "{");
  write("notes.json", R"({"title": "no scenario", "device": "x"})");
  write("output.json", R"({"schema_version": 1, "device": "x", "method": "y"})");
  write("list.json", "[1, 2]");
  write("upper.JSON", kScenario);
  write("README.md", "text");
  write("sub/deep/s.json", kScenario);
  PinFile pinned;
  pinned.path = rig.path("f/pins.json");
  const auto names = [&] {
    std::string all;
    for (const Pin& p : pinned.pins) all += p.question.name() + ", ";
    return all;
  };
  std::string others;
  for (const NotPinned& other : pin_folder(rig.path("f"), pinned))
    others += other.file.filename().string() + ": " + other.why.substr(0, 14) + "\n";
  CHECK(names() == "run broken.json, run s.json, simulate served.json, run typo.json, ");
  CHECK(others ==
        "list.json: is not a scena\nnotes.json: is not a scena\noutput.json: is not a scena\n"
        "sub: is a folder; o\nupper.JSON: its name does \n");
}

TEST_CASE("a pin of a folder's scenario follows its workload, unless it names a question of its own") {
  const Rig rig;
  std::filesystem::create_directories(rig.path("f"));
  rig.write("f/s.json", R"({"device": "h100-sxm", "method": {"name": "autoregressive"}, "workload": {}})");
  PinFile pinned;
  pinned.path = rig.path("f/pins.json");
  for (const char* verb : {"run", "plan", "run"}) {
    Pin pin;
    pin.question.verb = verb;
    pin.question.file = rig.path("f/./s.json");
    pin.figures = pinned_figures(verb);
    pinned.pins.push_back(pin);
  }
  pinned.pins[2].figures = {"throughput"};
  CHECK(pin_folder(rig.path("f"), pinned).empty());
  REQUIRE(pinned.pins.size() == 3);
  CHECK(pinned.pins[0].question.verb == "simulate");
  CHECK(pinned.pins[0].figures == pinned_figures("simulate"));
  CHECK(pinned.pins[1].question.verb == "plan");
  CHECK(pinned.pins[2].question.verb == "run");
  rig.write("f/s.json", "{");  // and stays what it is while the file is broken
  pin_folder(rig.path("f"), pinned);
  CHECK(pinned.pins[0].question.verb == "simulate");
}
