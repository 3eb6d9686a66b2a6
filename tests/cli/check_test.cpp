// SPDX-License-Identifier: Apache-2.0
// `draftline check` as a user and a CI system meet it: exit codes, what is written, and what is not.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "tests/cli/edited_folder.h"

namespace draftline {

using OrderedJson = nlohmann::ordered_json;
namespace fs = std::filesystem;

static const char* const kPins = R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "s.json"}]})";

namespace {

struct PinnedScenario : EditedFolder {
  PinnedScenario() {
    write("s.json", kScenario);
    write("pins.json", kPins);
  }
};

}  // namespace

TEST_CASE("approved pins pass; a changed scenario is exit 1 with a table; approving it passes again") {
  const PinnedScenario draftline;
  const Ran unapproved = draftline("check pins.json");
  CHECK(unapproved.code == 1);
  CHECK(contains(unapproved.out, "run s.json: has no approved figures yet: the same command with --approve"));

  const Ran first = draftline("check pins.json --approve");
  CHECK(first.code == 0);
  CHECK(first.out.empty());
  CHECK(first.err == "approved pins.json: 1 pin, " + std::to_string(30) + " figures\n");
  const std::string approved = draftline.read("pins.json");
  const Ran fine = draftline("check pins.json");
  CHECK(fine.code == 0);
  CHECK(fine.out == "30 figures of 1 pin are as approved.\n");
  CHECK(fine.err.empty());
  CHECK(draftline("check pins.json --exact").code == 0);

  draftline.replace("s.json", "\"draft_length\": 3", "\"draft_length\": 2");
  const Ran moved = draftline("check pins.json");
  CHECK(moved.code == 1);
  CHECK(contains(moved.out, "s.json: method/draft_length 3 -> 2"));
  CHECK(contains(moved.err, "repeat the command with --approve"));
  std::istringstream lines(moved.out);
  for (std::string line; std::getline(lines, line);) CHECK(line.size() <= 120);
  CHECK(draftline.read("pins.json") == approved);

  const Ran again = draftline("check pins.json --approve");
  CHECK(again.code == 0);
  CHECK(again.out == moved.out);
  CHECK(draftline("check pins.json").code == 0);
}

TEST_CASE("check without a question prints its help and is no success") {
  const Program draftline;
  const Ran r = draftline("check");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, "--scenarios"));
  CHECK(contains(r.err, "--against"));
}

TEST_CASE("wrong input of check is exit 2 with its place, and nothing is written") {
  struct Case {
    std::string file, arguments, message;
  };
  const std::string pin = R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "s.json")";
  const auto c = GENERATE_COPY(
      Case{R"({"schema_version": 1, "pins": []})", "check pins.json", "pins.json#/pins: at least one pin is required"},
      Case{R"({"schema_version": 1, "anchors": []})", "check --anchors pins.json",
           "pins.json#/anchors: at least one anchor is required"},
      Case{"{}", "check --against pins.json pins.json", "pins.json#: is not an output of a verb: missing key"},
      Case{R"({"schema_version": 1})", "check --against pins.json pins.json", "pins.json#: contains no figures"},
      Case{kPins, "check --against s.json s.json", "s.json#: is not an output of a verb"},
      Case{kPins, "check pins.json --tolerance 0.5", "--tolerance requires --against"},
      Case{kPins, "check pins.json --within 0.3", "--within requires --measured"},
      Case{kPins, "check pins.json --reference-data .", "--reference-data requires --anchors"},
      Case{kPins, "check --against s.json s.json --exact --tolerance 0.1",
           "--exact and --tolerance exclude each other"},
      Case{kPins, "check --measured s.json s.json --exact", "--exact applies to predictions"},
      Case{kPins, "check --measured s.json s.json", "--junit applies to predictions"},
      Case{"{", "check pins.json", "pins.json#"}, Case{"[1]", "check pins.json", "pins.json#: "},
      Case{std::string(20000, '['), "check pins.json", "pins.json#"},
      Case{pin + R"(, "points": [{"at": {}, "x": 1e999}]}]})", "check pins.json", "pins.json#/pins/0/points/0/x: "},
      Case{pin + R"(, "seed": [1]}]})", "check pins.json", "pins.json#/pins/0/seed: "},
      Case{pin + R"(, "figures": ["nonsense"]}]})", "check pins.json",
           "pins.json#/pins/0/figures/0: no figure \"nonsense\" in this output"},
      Case{pin + R"(, "figures": ["ttft", "breakdown/draff"]}]})", "check pins.json --approve",
           "pins.json#/pins/0/figures/1: no figure \"breakdown.draff\" in this output; did you mean "
           "\"breakdown.draft\"?"},
      Case{R"({"schema_version": 1, "pins": [{"verb": "simulat", "scenario": "s.json"}]})", "check pins.json --approve",
           "pins.json#/pins/0/verb: unknown value \"simulat\"; did you mean \"simulate\"?"},
      Case{R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "gone.json"}]})", "check pins.json --approve",
           "pins.json#/pins/0/scenario: no such file"},
      Case{kPins, "check none.json", "none.json"}, Case{kPins, "check --scenarios none", "none"},
      Case{kPins, "check pins.json --against pins.json", "or --against, or --measured"},
      Case{kPins, "check pins.json --jobs 0", "jobs"}, Case{kPins, "check --measured pins.json", "measured"},
      Case{kPins, "check --against pins.json", "holds no \"question\""},
      Case{kPins, "check --against s.json s.json --approve", "--approve excludes"},
      Case{R"({"question": {"verb": "run", "file": 3, "scenario": {}}})", "check --against pins.json",
           "pins.json#/question/file: "},
      Case{R"({"question": {"verb": "run", "file": "x", "seed": "y", "scenario": {}}})", "check --against pins.json",
           "pins.json#/question/seed: "},
      Case{R"({"question": {"verb": "papers", "names": 4}})", "check --against pins.json",
           "pins.json#/question/names: "},
      Case{R"({"question": {"verb": "dance", "file": "x", "scenario": {}}})", "check --against pins.json",
           "\"dance\" is no verb"},
      Case{R"({"a": 1, "a": 2})", "check --against pins.json pins.json", "pins.json#"},
      Case{R"({"schema_version": 1, "anchors": [{"group": 3}]})", "check --anchors pins.json",
           "pins.json#/anchors/0/group: "});
  const PinnedScenario draftline;
  draftline.write("pins.json", c.file);
  const Ran r = draftline(c.arguments + " --junit junit.xml --markdown summary.md");
  INFO(c.arguments << "\n" << c.file.substr(0, 200) << "\n" << r.err.substr(0, 2000));
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
  CHECK(draftline.read("pins.json") == c.file);
  CHECK(!fs::exists(draftline.path("junit.xml")));
  CHECK(!fs::exists(draftline.path("summary.md")));
}

TEST_CASE("where one question of several files fails, none of the files is approved") {
  const PinnedScenario draftline;
  draftline.write("bad.json", R"({"device": "no-such", "method": {"name": "autoregressive"}})");
  draftline.write("bad_pins.json", R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "bad.json"}]})");
  const std::string before = draftline.read("bad_pins.json");
  const Ran r = draftline("check pins.json bad_pins.json --approve");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "run bad.json: "));
  CHECK(contains(r.err, "unknown name \"no-such\""));
  CHECK(draftline.read("pins.json") == kPins);
  CHECK(draftline.read("bad_pins.json") == before);
  const Ran told = draftline("check bad_pins.json pins.json --json");  // and only told where nothing is written
  CHECK(told.code == 2);
  CHECK(OrderedJson::parse(told.out).at("pins").size() == 2);
  CHECK(!contains(told.err, "--approve"));  // which would not do
  draftline.write("bad.json", R"({"device": "no-such", "engine": "no-such", "method": {"name": "autoregressive"}})");
  const Ran several = draftline("check bad_pins.json --approve");  // each mistake on a line of its own
  CHECK(contains(several.err, "\nrun bad.json: "));
  CHECK(!contains(several.err, "u000a"));
}

TEST_CASE("a changed event stream of a simulation counts, though its figures may be alike") {
  const PinnedScenario draftline;
  draftline.write("served.json", kServed);
  draftline.write("pins.json",
                  R"({"schema_version": 1, "pins": [{"verb": "simulate", "scenario": "served.json", "seed": 3}]})");
  REQUIRE(draftline("check pins.json --approve").code == 0);
  CHECK(draftline("check pins.json").code == 0);
  draftline.replace("pins.json", "\"seed\": 3", "\"seed\": 4");
  const Ran r = draftline("check pins.json");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "event_fingerprint"));

  fs::copy_file(kData + "/devices/h100-sxm.json", draftline.path("mine.json"));
  draftline.replace("served.json", "\"h100-sxm\"", "\"./mine.json\"");
  REQUIRE(draftline("check pins.json --approve").code == 0);
  draftline.replace("mine.json", "3.35 TB/s", "3.350001 TB/s");  // by 3e-7
  CHECK(draftline("check pins.json").code == 1);
  draftline.replace("pins.json", "\"relative\": 1e-09", "\"relative\": 0.01");
  CHECK(draftline("check pins.json").code == 0);
  CHECK(draftline("check pins.json --exact").code == 1);
}

TEST_CASE("--json, --junit and --markdown say what the table says") {
  const PinnedScenario draftline;
  REQUIRE(draftline("check pins.json --approve").code == 0);
  draftline.replace("s.json", "h100-sxm", "h200");
  const Ran r = draftline("check pins.json --json --junit junit.xml --markdown summary.md");
  CHECK(r.code == 1);
  const OrderedJson j = OrderedJson::parse(r.out);
  CHECK(j.at("fine") == false);
  CHECK(!j.at("pins")[0].at("changes").empty());
  CHECK(contains(draftline.read("junit.xml"), "failures=\"1\""));
  CHECK(contains(draftline.read("junit.xml"), "device h100-sxm -&gt; h200"));
  CHECK(contains(draftline.read("summary.md"), "## draftline check: predictions changed"));
}

TEST_CASE("--against asks an output's own question again, with its seed and options") {
  const PinnedScenario draftline;
  draftline.write("served.json", kServed);
  for (const char* asked : {"run s.json", "run s.json --from 1", "advise s.json --no-load", "advise s.json --seed 5",
                            "simulate served.json --seed 18446744073709551615", "simulate served.json --no-oracle",
                            "simulate served.json --from 1", "plan served.json --max-devices 3", "papers s3d"}) {
    INFO(asked);
    REQUIRE(draftline(std::string(asked) + " --json", "> old.json").code == 0);
    const Ran r = draftline("check --against old.json");
    CHECK(r.code == 0);
    CHECK(contains(r.out, "are as approved"));
  }
}

TEST_CASE("--against two outputs reports what moved between them, and whose input differs") {
  const PinnedScenario draftline;
  REQUIRE(draftline("run s.json --json", "> old.json").code == 0);
  draftline.replace("s.json", "0.6]", "0.5]");
  REQUIRE(draftline("run s.json --json", "> new.json").code == 0);
  CHECK(draftline("check --against old.json old.json").code == 0);
  const Ran r = draftline("check --against old.json new.json");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "s.json: its content differs"));
  CHECK(contains(r.out, "speedup"));
  CHECK(r.err.empty());  // nothing to approve
  CHECK(draftline("check --against old.json new.json --tolerance 1").code == 0);
  draftline.replace("s.json", "\"draft_length\": 3", "\"draft_length\": 2");
  REQUIRE(draftline("run s.json --json", "> new.json").code == 0);
  CHECK(draftline("check --against old.json new.json --tolerance 1").code == 1);  // points have no tolerance
}

TEST_CASE("every verb prints the same bytes each time, and which files it read") {
  const PinnedScenario draftline;
  draftline.write("served.json", kServed);
  for (const char* asked :
       {"run s.json", "simulate served.json", "advise s.json", "plan served.json", "papers space"}) {
    INFO(asked);
    const Ran one = draftline(std::string(asked) + " --json"), two = draftline(std::string(asked) + " --json");
    REQUIRE(one.code == 0);
    CHECK(one.out == two.out);
    const OrderedJson j = OrderedJson::parse(one.out);
    CHECK(j.contains("commit"));
    CHECK(j.contains("model"));
    REQUIRE(j.contains("input_files"));
    CHECK(j.at("input_files").size() >= 3);
    for (const auto& [name, fingerprint] : j.at("input_files").items()) {
      CHECK(!name.starts_with('/'));
      CHECK(fingerprint.get<std::string>().size() == 16);
    }
  }
}

TEST_CASE("calibrations say which program made them from which files, and are the same bytes each time") {
  const PinnedScenario draftline;
  fs::copy_file(kData + "/measured/cpu-xeon-2.5ghz.json", draftline.path("m.json"));
  const std::string asked = "calibrate m.json --json --engine-out engine.json --out ";
  const Ran one = draftline(asked + "one.json");
  INFO(one.err);
  REQUIRE(one.code == 0);
  const std::string engine = draftline.read("engine.json");
  REQUIRE(draftline(asked + "two.json").out == one.out);
  CHECK(draftline.read("one.json") == one.out);
  CHECK(draftline.read("two.json") == one.out);
  CHECK(draftline.read("engine.json") == engine);
  for (const std::string& text : {one.out, engine}) {
    const OrderedJson j = OrderedJson::parse(text);
    CHECK(j.at("model").get<std::string>().size() == 16);
    REQUIRE(j.at("input_files").size() == 1);
    CHECK(j.at("input_files").at("m.json").get<std::string>().size() == 16);
  }
  draftline.write("mine.json", one.out);  // and are still devices and engines
  draftline.replace("s.json", "\"h100-sxm\"", "\"./mine.json\"");
  draftline.replace("s.json", "\"vllm\"", "\"./engine.json\"");
  draftline.replace("s.json", "llama-3.1-8b", "llama-68m");
  draftline.replace("s.json",
                    "{\"name\": \"eagle3\", \"draft_length\": 3, \"acceptance\": {\"rates\": [0.8, 0.7, 0.6]}}",
                    "{\"name\": \"autoregressive\"}");
  const Ran run = draftline("run s.json --json");
  INFO(run.err);
  REQUIRE(run.code == 0);
  CHECK(OrderedJson::parse(run.out).at("input_files").contains("mine.json"));
}

TEST_CASE("decode names the files that it read") {
  const PinnedScenario draftline;
  fs::copy_file(kData + "/transformers/llama-68m.json", draftline.path("tiny.json"));
  draftline.replace("tiny.json", "\"vocab_size\": 32000", "\"vocab_size\": 320");
  const std::string asked =
      "decode --transformer ./tiny.json --prompts 1 --prompt-tokens 4 --new-tokens 4 --limits cpu --json";
  const Ran one = draftline(asked);
  INFO(one.err);
  REQUIRE(one.code == 0);
  const OrderedJson files = OrderedJson::parse(one.out).at("input_files");
  CHECK(OrderedJson::parse(one.out).at("model").get<std::string>().size() == 16);
  CHECK(files.size() == 2);
  CHECK(files.contains("data/devices/cpu.json"));
  REQUIRE(files.contains("tiny.json"));
  draftline.replace("tiny.json", "320", "321");
  CHECK(OrderedJson::parse(draftline(asked).out).at("input_files").at("tiny.json") != files.at("tiny.json"));
}

TEST_CASE("a key's old name is read, and said on standard error once for each file, whichever verb reads it") {
  const PinnedScenario draftline;
  fs::copy_file(kData + "/devices/cpu.json", draftline.path("mine.json"));
  draftline.replace("mine.json", "\"beyond_l2_byte\": \"", "\"far_byte\": \"");
  draftline.write("cpu.json", R"({"device": "./mine.json", "transformer": "llama-68m", "engine": "draftline",
    "batch_size": [1, 2, 3], "method": {"name": "autoregressive"}})");
  draftline.write("pins.json", R"({"schema_version": 1, "pins": [{"verb": "run", "scenario": "cpu.json"}]})");
  const std::string note =
      "mine.json#/fits/cpu/elementwise/far_byte: is called \"beyond_l2_byte\" now; the old name is still read\n";
  draftline.write("anchors.json", R"({"schema_version": 1, "anchors": [{"group": "g", "source": "me", "verb": "run",
    "scenario": {"device": "./mine.json", "transformer": "llama-68m", "engine": "draftline",
                 "method": {"name": "autoregressive"}},
    "measured": [{"at": {"batch_size": 1}, "figure": "step_time", "value": 1}]}]})");
  for (const char* asked : {"run cpu.json --jobs 2", "advise cpu.json --no-load", "check pins.json --approve",
                            "check --anchors anchors.json --reference-data ."}) {
    const Ran r = draftline(asked);
    INFO(asked << "\n" << r.err);
    const auto first = r.err.find(note);
    CHECK(first != std::string::npos);
    CHECK(r.err.find(note, first + 1) == std::string::npos);
    CHECK(!contains(r.out, "far_byte"));
  }
}

TEST_CASE("the output does not depend on the number of jobs of a check", "[once]") {
  const PinnedScenario draftline;
  draftline.write("served.json", kServed);
  draftline.write("pins.json", R"({"schema_version": 1, "pins": [{"verb": "simulate", "scenario": "served.json"},
    {"verb": "run", "scenario": "s.json"}, {"verb": "advise", "scenario": "s.json"}]})");
  REQUIRE(draftline("check pins.json --approve --jobs 3").code == 0);
  const std::string bytes = draftline.read("pins.json");
  REQUIRE(draftline("check pins.json --approve").code == 0);
  CHECK(draftline.read("pins.json") == bytes);
  draftline.replace("s.json", "h100-sxm", "h200");
  CHECK(draftline("check pins.json --json").out == draftline("check pins.json --json --jobs 3").out);
}

TEST_CASE("anchors report, alert and approve, and are never exit 1") {
  const PinnedScenario draftline;
  draftline.write("anchors.json",
                  R"({"schema_version": 1, "anchors": [{"group": "steps", "source": "me",
    "verb": "run", "scenario": )" +
                      std::string(kScenario) +
                      R"(, "measured": [{"at": {"batch_size": 1}, "figure": "step_time", "value": 0.1}]},
    {"group": "elsewhere", "source": "me", "needs": "gone.json", "verb": "run", "scenario": {},
     "measured": [{"at": {}, "figure": "x", "value": 1}]}]})");
  CHECK(draftline("check --anchors anchors.json --reference-data .").code == 0);
  CHECK(draftline("check --anchors anchors.json --reference-data . --approve").code == 0);
  const OrderedJson pinned = OrderedJson::parse(draftline.read("anchors.json"));
  CHECK(pinned.at("anchors")[0].at("median_error").get<double>() > 0.8);
  CHECK(!pinned.at("anchors")[1].contains("median_error"));
  const Ran same = draftline("check --anchors anchors.json --reference-data .");
  CHECK(same.code == 0);
  CHECK(!contains(same.out, "ALERT"));
  CHECK(contains(same.out, "needs ./gone.json of the reference data"));
  draftline.replace("anchors.json", "\"value\": 0.1", "\"value\": 0.001");
  const Ran alert = draftline("check --anchors anchors.json --reference-data . --markdown summary.md");
  CHECK(alert.code == 0);
  CHECK(contains(alert.out, "ALERT"));
  CHECK(contains(draftline.read("summary.md"), "ALERT"));
}

TEST_CASE("two measurements: the same is exit 0, a slower op exit 1") {
  const Program draftline;
  const std::string file = kData + "/measured/cpu-xeon-2.5ghz.json";
  CHECK(draftline("check --measured '" + file + "' '" + file + "'").code == 0);
  OrderedJson slower = OrderedJson::parse(read_text_file(file));
  for (OrderedJson& point : slower.at("points"))
    if (point.at("op") == "gemm" && point.contains("median"))
      for (const char* time : {"median", "low", "high"}) {
        const std::string was = point[time];  // "1.492 us"
        point[time] = std::to_string(1.5 * std::stod(was)) + was.substr(was.find(' '));
      }
  draftline.write("slower.json", slower.dump());
  const Ran r = draftline("check --measured '" + file + "' slower.json");
  CHECK(r.code == 1);
  CHECK(contains(r.out, "slower"));
  CHECK(OrderedJson::parse(draftline("check --measured '" + file + "' slower.json --json").out).at("kinds").size() > 3);
  std::erase_if(slower.at("points").get_ref<OrderedJson::array_t&>(),
                [](const OrderedJson& p) { return p.at("op") == "gemm"; });
  draftline.write("lost.json", slower.dump());
  CHECK(draftline("check --measured '" + file + "' lost.json").code == 1);
  CHECK(draftline("check --measured '" + file + "' lost.json --junit j.xml").code == 2);
}

}  // namespace draftline
