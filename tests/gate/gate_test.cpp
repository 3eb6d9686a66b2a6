// SPDX-License-Identifier: Apache-2.0
// From an approved file to what moved, and to the input that moved it.
#include "gate/gate.h"

#include <algorithm>
#include <set>

#include "core/build_info.h"
#include "tests/gate/rig.h"

using namespace draftline;
using namespace draftline::gate;

namespace {

std::string causes(const Checked& c) {
  std::string text;
  for (const std::string& cause : c.causes) text += (text.empty() ? "" : "\n") + cause;
  return text;
}
std::set<std::string> figures_that_moved(const Checked& c) {
  std::set<std::string> names;
  for (const Change& change : c.changes) names.insert(change.figure);
  return names;
}

}  // namespace

TEST_CASE("what was just approved is as approved, to the last bit, and a second approval writes the same bytes",
          "[once]") {
  const Rig rig;
  const PinFile file = rig.approve(std::string(kRunPin) + R"(, {"verb": "advise", "scenario": "s.json"})");
  REQUIRE(file.pins.size() == 2);
  CHECK(file.model == build_model());
  CHECK(file.pins[0].points.size() == 2);
  CHECK(count_figures(file.pins[0].points) >= 20);
  for (std::size_t i = 0; i < 2; ++i) {
    const Checked c = compare(file, file.pins[i], recompute(file.pins[i], file.path, rig.data()), true);
    CHECK(c.fine());
    CHECK(c.figures > 10);
    CHECK(c.causes.empty());
  }
  const std::string bytes = rig.read("pins.json");
  rig.approve_again();
  CHECK(rig.read("pins.json") == bytes);
}

TEST_CASE("a device whose bandwidth changed is named, with what it was and what it is") {
  const Rig rig;
  rig.approve(kRunPin);
  rig.replace("data/devices/h100-sxm.json", "3.35 TB/s", "3.2 TB/s");
  const Checked c = rig.check();
  CHECK(!c.fine());
  CHECK(causes(c) == "data/devices/h100-sxm.json: datasheet/0/bandwidth 3.35 TB/s -> 3.2 TB/s");
  CHECK(figures_that_moved(c).contains("step_time"));
  CHECK(!figures_that_moved(c).contains("verified_rows"));
  for (const Change& change : c.changes)
    if (change.figure == "breakdown.verify") {  // most of it waits for memory, nothing for more than that
      CHECK(change.relative.value_or(0) > 0.03);
      CHECK(change.relative.value_or(0) < 3.35 / 3.2 - 1);
    }
}

TEST_CASE("a device that another one borrows from is an input too") {
  const Rig rig;
  rig.replace("s.json", "h100-sxm", "a100-pcie");
  const PinFile file = rig.approve(kRunPin);
  CHECK(file.inputs.contains("data/devices/a100-sxm.json"));
  Json device = json(rig.read("data/devices/a100-sxm.json"));
  Json& share = device.at("fits").at("gemm").at("bandwidth_share");
  const std::string was = share.dump();
  share = 0.5;
  rig.write("data/devices/a100-sxm.json", device.dump());
  const Checked c = rig.check();
  CHECK(!c.fine());
  CHECK(causes(c) == "data/devices/a100-sxm.json: fits/gemm/bandwidth_share " + was + " -> 0.5");
}

TEST_CASE("a changed scenario is named; its new, lost and skipped points count") {
  const Rig rig;
  rig.approve(kRunPin);
  rig.replace("s.json", "[1, 8]", "[1, 9]");
  const Checked c = rig.check();
  REQUIRE(c.changes.size() == 2);
  CHECK(c.changes[0].kind == Change::Kind::lost);
  CHECK(text_of(distinguishing_parts(c.changes[0].point, c.keys, 60)) == "batch_size 8");
  CHECK(c.changes[1].kind == Change::Kind::appeared);
  CHECK(text_of(distinguishing_parts(c.changes[1].point, c.keys, 60)) == "batch_size 9");
  CHECK(causes(c) == "s.json: batch_size [1,8] -> [1,9]");

  rig.replace("s.json", "[1, 9]", "[1, 8], \"prompt_tokens\": 100000");
  const Checked longer = rig.check();
  CHECK(!longer.fine());
  rig.replace("s.json", "100000", "512");
  CHECK(rig.check().fine());  // a default that is said changes nothing
  rig.replace("s.json", "[1, 8]", "[1, 60000]");
  CHECK(contains(causes(rig.check()), "s.json: batch_size [1,8] -> [1,60000]"));
}

TEST_CASE("white space and the order of keys are no change of an input") {
  const Rig rig;
  const PinFile file = rig.approve(kRunPin);
  rig.write("s.json", R"({ "batch_size":[1,8],"engine":"vllm","transformer":"llama-3.1-8b",
    "method":{"acceptance":{"rates":[0.8,0.7,0.6]},"draft_length":3,"name":"eagle3"}, "device":"h100-sxm" })");
  const Recomputed now = recompute(file.pins[0], file.path, rig.data());
  CHECK(now.inputs.at("s.json").fingerprint == file.inputs.at("s.json").fingerprint);
  CHECK(rig.check().fine());
}

TEST_CASE("where no input differs it was the program, or the machine") {
  const Rig rig;
  rig.approve(kRunPin);
  rig.replace("pins.json", "\"verified_rows\":4", "\"verified_rows\":5");
  CHECK(contains(causes(rig.check()), "model changed: a different compiler, C library or CPU computed it"));
  const PinFile file = read_pins(rig.path("pins.json"));
  rig.replace("pins.json", file.commit, "1111111111111111111111111111111111111111");
  rig.replace("pins.json", file.model, "0000000000000000");
  const std::string here(build_commit());
  CHECK(starts_with(causes(rig.check()), "the program changed: commit 1111111111 -> " + here.substr(0, 10)));
}

TEST_CASE("where no input differs, figures and points come and go by an edit of the pin") {
  const Rig rig;
  rig.approve(R"({"verb": "run", "scenario": "s.json", "figures": ["throughput", "step_time"]})");
  rig.replace("pins.json", "\"step_time\"", "\"ttft\"");
  const Checked c = rig.check();
  CHECK(figures_that_moved(c) == std::set<std::string>{"step_time", "ttft"});
  CHECK(causes(c) == "neither the inputs nor the program's model changed: the pin was edited after its approval");
}

TEST_CASE("a plan's pin says which fleet is recommended") {
  const Rig rig;
  rig.write("served.json", R"({"device": ["h100-sxm", "a100-sxm"], "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}, "slo": {"ttft_p99": "10 s"}, "prices": {"h100-sxm": 2, "a100-sxm": 1},
    "workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 30}})");
  rig.approve(R"({"verb": "plan", "scenario": "served.json", "figures": ["recommended"]})");
  CHECK(rig.check().fine());
  rig.replace("served.json", R"("h100-sxm": 2, "a100-sxm": 1)", R"("h100-sxm": 1, "a100-sxm": 2)");
  const Checked c = rig.check();
  REQUIRE(c.changes.size() == 2);
  CHECK(c.changes[0].was != c.changes[1].was);  // true and false change places
  CHECK(contains(text_of(c.changes[0].point), "device "));
}

TEST_CASE("each of two inputs with one name is pinned") {
  const Rig rig;
  for (const char* folder : {"before", "after"}) {
    std::filesystem::create_directories(rig.path(folder));
    rig.write(std::string(folder) + "/card.json", rig.read("data/devices/h100-sxm.json"));
  }
  rig.replace("s.json", "\"h100-sxm\"", R"(["./before/card.json", "./after/card.json"])");
  rig.approve(kRunPin);
  CHECK(rig.check().fine());
  rig.replace("after/card.json", "3.35 TB/s", "3.2 TB/s");
  const Checked c = rig.check();
  CHECK(figures_that_moved(c).contains("step_time #2"));
  CHECK(causes(c) == "after/card.json: datasheet/0/bandwidth 3.35 TB/s -> 3.2 TB/s");
}

TEST_CASE("a tolerance lets the last digits go, --exact does not") {
  const Rig rig;
  rig.approve(kRunPin);
  PinFile file = read_pins(rig.path("pins.json"));
  auto& figures = file.pins[0].points[0].figures;
  const auto step = std::find_if(figures.begin(), figures.end(), [](const auto& f) { return f.first == "step_time"; });
  REQUIRE(step != figures.end());
  step->second = step->second.get<double>() * (1 + 1e-12);
  write_pins(file);
  CHECK(rig.check().fine());
  const Checked exact = rig.check("pins.json", true);
  CHECK(figures_that_moved(exact) == std::set<std::string>{"step_time"});
}

TEST_CASE("a question that can't be answered any more is a failure that says why, and approves nothing") {
  const Rig rig;
  rig.write("t.json", kScenario);
  rig.approve(std::string(kRunPin) + R"(, {"verb": "run", "scenario": "t.json"})");
  const std::string bytes = rig.read("pins.json");
  rig.replace("t.json", "h100-sxm", "h100-sx");
  rig.replace("data/devices/h100-sxm.json", "3.35 TB/s", "3.2 TB/s");  // the first pin could be approved
  const PinFile file = read_pins(rig.path("pins.json"));
  const auto now = rig.recomputed(file);
  CHECK(!now[0].failure);
  const Checked c = compare(file, file.pins[1], now[1], false);
  CHECK(!c.fine());
  CHECK(c.wrong_input);
  CHECK(contains(c.failure.value_or(""), "t.json#/device: unknown name \"h100-sx\"; did you mean \"h100-sxm\"?"));
  CHECK(contains(mistake_of([&] { approved(file, now); }), "run t.json: "));
  CHECK(rig.read("pins.json") == bytes);
}

TEST_CASE("questions that a verb would refuse are refused here, in the same words") {
  const Rig rig;
  const std::string workload = R"("workload": {"arrivals": {"process": "closed", "concurrency": 2}, "requests": 4})";
  rig.write("served.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}, )" +
                               workload + "}");
  const auto failure = [&](const std::string& verb, const std::string& file) {
    Pin pin;
    pin.question.verb = verb;
    pin.question.file = rig.path(file);
    pin.figures = {"all"};
    return recompute(pin, rig.path("pins.json"), rig.data()).failure.value_or("");
  };
  CHECK(failure("simulate", "served.json").empty());
  CHECK(contains(failure("run", "served.json"), "has a \"workload\""));
  rig.write("pins.json", R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "served.json"}]})");
  CHECK(contains(rig.check().failure.value_or(""),
                 "\"run\" stands at " + rig.path("pins.json").string() + "#/pins/0/verb"));
  CHECK(contains(failure("simulate", "s.json"), "no \"workload\""));
  CHECK(contains(failure("plan", "served.json"), "\"slo\" is required"));
  CHECK(contains(failure("plan", "served.json"), "a plan requires arrivals with a rate"));
  CHECK(contains(failure("advise", "served.json"), "served.json"));
  CHECK(contains(failure("serve", "served.json"), "is no verb"));
  Pin papers;
  papers.question.verb = "papers";
  papers.question.papers = {"nobody"};
  CHECK(recompute(papers, rig.path("pins.json"), rig.data()).failure);
}

TEST_CASE("pins with no approved figures fail and say what to do") {
  const Rig rig;
  rig.write("pins.json", R"({"schema_version": 1, "pins": [)" + std::string(kRunPin) + "]}");
  CHECK(contains(rig.check().failure.value_or(""), "has no approved figures yet: the same command with --approve"));
}

TEST_CASE("a figure that a pin names and no point has is a mistake with its place") {
  const Rig rig;
  const auto mistakes = [&](const std::string& figures) {
    rig.write("pins.json", R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "s.json", "figures": [)" +
                               figures + "]}]}");
    const PinFile file = read_pins(rig.path("pins.json"));
    std::string all;
    for (const std::string& m : unknown_figures(file.pins[0], rig.recomputed(file)[0]))
      all += m.substr(m.find('#')) + "\n";
    return all;
  };
  CHECK(mistakes(R"("step_tim", "throughput", "breakdown/nonsense")") ==
        "#/pins/0/figures/0: no figure \"step_tim\" in this output; did you mean \"step_time\"?\n"
        "#/pins/0/figures/2: no figure \"breakdown.nonsense\" in this output\n");
  CHECK(mistakes(R"("skipped", "warnings", "ttft")").empty());  // this output has none, as most have
  CHECK(mistakes(R"("throughput", "cost_per_million_tokens")") ==
        "#/pins/0/figures/1: no figure \"cost_per_million_tokens\" in this output\n");  // usual, but asked for
  CHECK(mistakes(R"("warnings")") == "#/pins/0/figures/0: no figure \"warnings\" in this output\n");  // pins nothing
  rig.replace("s.json", "[1, 8]", "[1, 60000]");  // the second doesn't fit
  CHECK(mistakes(R"("skipped", "breakdown/", "breakdown/draft", "ttft")").empty());
  CHECK(contains(mistake_of([&] { rig.approve(R"({"verb": "run", "scenario": "s.json", "figures": ["nonsense"]})"); }),
                 "pins.json#/pins/0/figures/0: no figure \"nonsense\" in this output"));
}

TEST_CASE("a named figure that was approved and is no more is a change, and can't be approved again") {
  const Rig rig;
  PinFile file = rig.approve(R"({"verb": "run", "scenario": "s.json", "figures": ["step_time"]})");
  file.pins[0].figures.emplace_back("gone");
  file.pins[0].points[0].figures.emplace_back("gone", 1);
  const std::vector<Recomputed> now = rig.recomputed(file);
  CHECK(unknown_figures(file.pins[0], now[0]).empty());
  CHECK(figures_that_moved(compare(file, file.pins[0], now[0], false)) == std::set<std::string>{"gone"});
  CHECK(contains(mistake_of([&] { approved(file, now); }), "#/pins/0/figures/1: no figure \"gone\" in this output"));
}

TEST_CASE("pins of one file whose scenarios have one name are told apart") {
  const Rig rig;
  std::filesystem::create_directories(rig.path("other"));
  rig.write("other/s.json", kScenario);
  rig.approve(std::string(kRunPin) +
              R"(, {"verb": "run", "scenario": "other/s.json"}, {"verb": "run", "scenario": "s.json", "seed": 7})");
  const PinFile file = read_pins(rig.path("pins.json"));
  const auto name = [&](std::size_t i) {
    return compare(file, file.pins[i], recompute(file.pins[i], file.path, rig.data()), false).question;
  };
  CHECK(name(0) == "run s.json");
  CHECK(name(1) == "run other/s.json");
  CHECK(name(2) == "run s.json, seed 7");
  rig.approve(std::string(kRunPin) + ", " + kRunPin);
  const PinFile twins = read_pins(rig.path("pins.json"));
  CHECK(compare(twins, twins.pins[1], rig.recomputed(twins)[1], false).question == "run s.json, /pins/1");
}

TEST_CASE("two documents are joined point by point; their fingerprints say which input differs") {
  const Json was =
      json(R"({"commit": "aaaaaaaaaaaaaaaa", "model": "1", "input_files": {"d.json": "1", "gone.json": "2"},
    "results": [{"inputs": {"b": 1}, "x": 10}, {"inputs": {"b": 2}, "x": 20}]})");
  Json is = was;
  CHECK(compare_documents(was, is, "name", 0).fine());
  is["results"][1]["x"] = 30;
  is["input_files"] = json(R"({"d.json": "3", "new.json": "4"})");
  const Checked c = compare_documents(was, is, "name", 1e-9);
  REQUIRE(c.changes.size() == 1);
  CHECK(c.changes[0].relative.value_or(0) == Approx(0.5));
  CHECK(causes(c) == "d.json: its content differs\ngone.json: is no longer read\nnew.json: is newly read");
  is["model"] = "2";
  is["commit"] = "bbbbbbbbbbbbbbbb-dirty";
  CHECK(contains(causes(compare_documents(was, is, "name", 1e-9)),
                 "the program changed: commit aaaaaaaaaa -> bbbbbbbbbb-dirty"));
  CHECK(compare_documents(was, is, "name", 0.4).fine());  // 10 of 30
  for (const char* odd : {"[]", "3", R"({"input_files": 3, "model": 4, "commit": {}})"})
    CHECK_NOTHROW(compare_documents(was, json(odd), "name", 0));
}
