// SPDX-License-Identifier: Apache-2.0
// The built program as a user meets it: exit codes, messages, and what stands on standard output.
#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;
static const std::string kRoot = DRAFTLINE_SOURCE_DIR;

static std::string run_scenario(const std::string& more = "", const std::string& device = "h100-sxm") {
  return R"({"device": ")" + device +
         R"(", "transformer": "llama-3.1-8b", "engine": "vllm", "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": [1, 3], "acceptance": {"rate": 0.7}}])" +
         (more.empty() ? "" : ", " + more) + "}";
}

TEST_CASE("wrong input is exit code 2, one clear message on standard error and nothing on standard output") {
  struct Case {
    std::string file, message;
  };
  const Case c = GENERATE(
      Case{"", "s.json"},  // no such file
      Case{"{\"device\": ", "s.json#/device: line 1, column 12: "}, Case{"{\"device\": 1, \"device\": 2}", "device"},
      Case{run_scenario("\"batch_size\": NaN"), "s.json#/batch_size: line 2, "},
      Case{run_scenario("\"batch_size\": 0"), "s.json#/batch_size: must be at least 1, got 0"},
      Case{run_scenario("\"batch_size\": [1, -4]"), "s.json#/batch_size/1: must be at least 1, got -4"},
      Case{run_scenario("\"batch_size\": 1e99"), "s.json#/batch_size: "},
      Case{run_scenario("\"batch\": 1"), "s.json#/batch: unknown key"},
      Case{run_scenario("", "h100"),
           "s.json#/device: unknown name \"h100\"; did you mean \"h100-nvl\", \"h100-pcie\" or \"h100-sxm\"?"},
      Case{run_scenario("\"prompt_tokens\": 1000000"), "s.json#: no point can run; the first: a text of "},
      Case{run_scenario("\"batch_size\": 60000"), "s.json#: no point can run; the first: needs "});
  const Program draftline;
  if (!c.file.empty()) draftline.write("s.json", c.file);
  const std::string format = GENERATE("", " --json", " --csv");
  const Ran r = draftline("run s.json" + format);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
  CHECK(!contains(r.err, "bug"));
}

TEST_CASE("a folder, an empty file and a wrong option are wrong input too") {
  const Program draftline;
  draftline.write("empty.json", "");
  draftline.write("s.json", run_scenario());
  for (const char* arguments :
       {"run .", "run empty.json", "run", "", "runn s.json", "run s.json --jobs 0", "run s.json --seed -1",
        "run s.json --json --csv", "list nothing", "--data /nowhere run s.json", "papers nobody"}) {
    const Ran r = draftline(arguments);
    INFO(arguments);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(!r.err.empty());
  }
}

TEST_CASE("what a hostile file holds does not steer the terminal") {
  const Program draftline;
  draftline.write("s.json", run_scenario("", "\\u001b[2Jh100"));
  const Ran r = draftline("run s.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "\\u001b[2Jh100"));
  CHECK(!contains(r.err, "\033"));
}

TEST_CASE("where standard output is closed, nothing of it lands in a file that is written") {
  const Program draftline;

  draftline.write("one.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}, "workload": {"arrivals": {"process": "poisson", "rate": "5 /s"}, "requests": 5}})");
  CHECK(draftline("simulate one.json --requests r.csv", ">&-").code == 3);
  CHECK(!std::filesystem::exists(draftline.path("r.csv")));
  CHECK(draftline("simulate one.json --requests r.csv").code == 0);
  CHECK(draftline.read("r.csv").starts_with("id,"));
}

// The blocks of a page that begin with ```json.
static std::vector<std::string> examples(const std::string& page) {
  std::string text = read_text_file(kRoot + "/docs/recipes/" + page);
  std::vector<std::string> all;
  const std::string begin = "```json\n", end = "```\n";
  for (auto at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
    at += begin.size();
    all.push_back(text.substr(at, text.find(end, at) - at));
  }
  return all;
}

TEST_CASE("docs/recipes/your_gpu.md: its device file runs") {
  const Program draftline;
  const auto all = examples("your_gpu.md");
  REQUIRE(all.size() == 1);
  draftline.write("my-gpu.json", all[0]);
  draftline.write("s.json", run_scenario("", "./my-gpu.json"));
  const Ran run = draftline("run s.json --csv");
  INFO(run.err);
  CHECK(run.code == 0);
  CHECK(contains(run.out, "my-gpu"));
}

TEST_CASE("docs/recipes/your_drafter.md: listed methods stand in for one that is not listed") {
  const Program draftline;
  draftline.write("stand_ins.json", examples("your_drafter.md").back());
  const Ran stand_ins = draftline("run stand_ins.json");
  INFO(stand_ins.err);
  CHECK(stand_ins.code == 0);
  for (const char* speedup : {"1.77", "2.36", "1.47", "1.56"}) CHECK(contains(stand_ins.out, speedup));  // as it says
}

TEST_CASE("docs/recipes/your_load.md: its scenario is planned") {
  const Program draftline;
  std::string rows = "TIMESTAMP,ContextTokens,GeneratedTokens\n";
  for (int i = 0; i < 30; ++i) rows += "2023-11-16 18:15:" + std::to_string(10 + i) + ".5,400,40\n";
  draftline.write("azure.csv", rows);
  std::string few = examples("your_load.md").front();
  few.replace(few.find("5000"), 4, "30");
  draftline.write("plan.json", few);
  const Ran plan = draftline("plan plan.json");
  INFO(plan.err);
  CHECK(plan.code == 0);
  CHECK(contains(plan.out, "Recommended: "));
}

TEST_CASE("a bad unit in a device's file is named with that file") {
  const Program draftline;
  std::ifstream in(kRoot + "/data/devices/h100-sxm.json");
  std::string text((std::istreambuf_iterator<char>(in)), {});
  const auto place = text.find("TB/s");
  REQUIRE(place != std::string::npos);
  text.replace(place, 4, "TB");
  draftline.write("mine.json", text);
  draftline.write("s.json", run_scenario("", "./mine.json"));
  const Ran r = draftline("run s.json");
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, "mine.json#/datasheet"));
  CHECK(contains(r.err, "bandwidth: "));
}

TEST_CASE("every scenario that is shipped answers, with a name, a question and a table of 120 columns") {
  const Program draftline;
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kRoot + "/scenarios")) {
    INFO(entry.path());
    ++count;
    const std::string file = " '" + entry.path().string() + "'", text = read_text_file(entry.path());
    const std::string verb = contains(text, "\"prices\"")     ? "plan"
                             : contains(text, "\"workload\"") ? "simulate"
                                                              : "run";
    const Ran r = draftline(verb + file);
    CHECK(r.code == 0);
    CHECK(r.err.empty());
    std::istringstream lines(r.out);
    int rows = 0;
    for (std::string line; std::getline(lines, line); ++rows) CHECK(line.size() <= 120);
    CHECK(rows >= 8);
    CHECK(!Json::parse(text).value("name", "").empty());
    CHECK(!Json::parse(text).value("question", "").empty());
  }
  CHECK(count >= 6);
}

TEST_CASE(
    "--json is one document, with every point, its figures' units and kinds, and skipped points without figures") {
  const Program draftline;
  draftline.write("s.json", run_scenario("\"batch_size\": [1, 2000]"));
  const Ran r = draftline("run s.json --json");
  REQUIRE(r.code == 0);
  const Json d = Json::parse(r.out);
  CHECK(d.at("schema_version") == 1);
  CHECK(d.contains("commit"));
  CHECK(d.at("resolved").at("points") == 6);
  REQUIRE(d.at("results").size() == 6);
  const Json& first = d.at("results")[0];
  CHECK(first.at("inputs").at("batch_size") == 1);
  CHECK(first.at("inputs").at("engine").get<std::string>().starts_with("vllm-"));
  CHECK(first.at("speedup").at("value") == 1.0);
  for (const char* figure : {"throughput", "throughput_with_prefill", "speedup", "step_time", "peak_memory"}) {
    CHECK(first.at(figure).at("value").get<double>() > 0);
    CHECK(first.at(figure).at("kind") == "predicted");
    CHECK(first.at(figure).contains("unit"));
  }
  double parts = 0;
  for (const auto& part : first.at("breakdown")) parts += part.at("value").get<double>();
  CHECK(parts == Approx(first.at("step_time").at("value").get<double>()).epsilon(1e-6));
  const Json& skipped = d.at("results")[1];
  CHECK(skipped.at("inputs").at("batch_size") == 2000);
  CHECK(skipped.at("skipped").get<std::string>().starts_with("needs "));
  CHECK(skipped.size() == 2);
}

TEST_CASE("the output does not depend on the number of jobs") {
  const Program draftline;
  std::string batches = "1";
  for (int i = 2; i <= 400; ++i) batches += ", " + std::to_string(i);
  draftline.write("s.json", run_scenario("\"batch_size\": [" + batches + "]"));
  for (const char* format : {"--json", "--csv", ""}) {
    const Ran one = draftline("run s.json " + std::string(format)),
              four = draftline("run s.json --jobs 4 " + std::string(format));
    CHECK(one.code == 0);
    CHECK(one.out.size() > 10'000);
    CHECK((one.out == four.out));
  }
}

TEST_CASE("--csv is a header and one line of as many fields for each point") {
  const Program draftline;
  draftline.write("s.json", run_scenario("\"batch_size\": [1, 8]"));
  const Ran r = draftline("run s.json --csv");
  REQUIRE(r.code == 0);
  std::istringstream lines(r.out);
  std::string header, line;
  std::getline(lines, header);
  CHECK(header.starts_with("device,tensor_parallel,transformer,precision,engine,method,draft_length,"));
  int rows = 0;
  for (; std::getline(lines, line); ++rows)
    CHECK(std::count(line.begin(), line.end(), ',') == std::count(header.begin(), header.end(), ','));
  CHECK(rows == 6);
}

TEST_CASE("papers prints both readings as text, and every cell as a row of CSV") {
  const Program draftline;
  const Ran text = draftline("papers clover"), csv = draftline("papers clover space --csv");
  CHECK(text.code == 0);
  CHECK(contains(text.out, " per drafted row, fitted to 10 cells (model large,"));
  CHECK(csv.code == 0);
  CHECK(csv.out.starts_with("paper,table,"));
  CHECK(contains(csv.out, "\nclover,table1,"));
  CHECK(contains(csv.out, "\nspace,table7,"));
  CHECK(draftline("papers clover --csv --json").code == 2);
  CHECK(draftline("papers clover --csv --markdown").code == 2);
}

TEST_CASE("list X --json is an array of objects with name and source") {
  const Program draftline;
  const std::string kind = GENERATE("methods", "devices", "transformers", "engines", "papers");
  const Ran r = draftline("list " + kind + " --json");
  REQUIRE(r.code == 0);
  const Json all = Json::parse(r.out);
  REQUIRE(all.is_array());
  CHECK(!all.empty());
  for (const Json& one : all) {
    CHECK(!one.at("name").get<std::string>().empty());
    CHECK(!one.at("source").get<std::string>().empty());
  }
  CHECK(draftline("list " + kind).code == 0);
}

TEST_CASE("--help names the type and the range of a number, without zeros behind it") {
  const Program draftline;
  const std::string calibrate = draftline("calibrate --help").out, decode = draftline("decode --help").out;
  CHECK(contains(calibrate, "--tensor-parallel INT:INT in [1 - 1024]=1"));
  CHECK(contains(decode, "--temperature FLOAT:FLOAT in [0 - 100]=0"));
  CHECK(contains(decode, "--top-p FLOAT:FLOAT in [1e-06 - 1]=1"));
  CHECK(draftline("calibrate nothing.json --tensor-parallel 1.5").code == 2);
}

TEST_CASE("list devices names the formats below 16 bits that a device has fits of") {
  const Program draftline;
  const Ran r = draftline("list devices --json");
  REQUIRE(r.code == 0);
  std::map<std::string, std::string> formats;
  for (const Json& one : Json::parse(r.out)) formats[one.at("name")] = one.at("narrow_formats");
  CHECK(formats.at("h100-sxm") == "fp8, fp8_block");
  CHECK(formats.at("b200") == "fp8, fp8_block, nvfp4");
  CHECK(formats.at("a100-sxm") == "none");
  CHECK(formats.at("cpu") == "none");
}

TEST_CASE("--help names every verb, and every verb has help") {
  const Program draftline;
  const Ran r = draftline("--help");
  CHECK(r.code == 0);
  for (const std::string verb : {"run", "papers", "decode", "list"}) {
    CHECK(contains(r.out, "\n  " + verb));
    const Ran help = draftline(verb + " --help");
    CHECK(help.code == 0);
    CHECK(help.out.size() > 100);
  }
  CHECK(draftline("--version").code == 0);
}

TEST_CASE("--dry-run prints the scenario with its defaults and runs nothing") {
  const Program draftline;
  draftline.write("s.json", run_scenario());
  const Ran r = draftline("run s.json --dry-run");
  REQUIRE(r.code == 0);
  const Json d = Json::parse(r.out);
  CHECK(d.at("precision") == Json::array({"bf16"}));
  CHECK(d.at("points") == 3);
}

TEST_CASE("a list or a table that can't be written is no success") {
  if (!std::filesystem::exists("/dev/full")) SKIP_TEST("no /dev/full here");
  const Program draftline;
  for (const char* arguments : {"list devices", "list engines --json", "papers specformer"}) {
    const Ran r = draftline(arguments, "> /dev/full");
    INFO(arguments);
    CHECK(r.code == 3);
    CHECK(contains(r.err, "written"));
  }
}

TEST_CASE("output that can't be written is no success, and is said unless the reader of a pipe has left", "[once]") {
  const Program draftline;
  draftline.write("s.json", run_scenario());
  const std::string format = GENERATE("", " --json", " --csv");
  if (std::filesystem::exists("/dev/full")) {
    const Ran full = draftline("run s.json" + format, "> /dev/full");
    CHECK(full.code == 3);
    CHECK(contains(full.err, "written"));
  }
  // A reader that closes the pipe at once: the program's own exit code, by way of a file.
  std::string batches = "1";
  for (int i = 2; i <= 2000; ++i) batches += ", " + std::to_string(i);
  draftline.write("long.json",
                  run_scenario("\"output_tokens\": 8, \"prompt_tokens\": 8, \"batch_size\": [" + batches + "]"));
  draftline("--version",
            "; ('" DRAFTLINE_PROGRAM "' run long.json" + format + "; echo $? > code) 2> err2 | head -c 10 > out");
  CHECK(draftline.read("code") == "3\n");
  CHECK(draftline.read("err2").empty());
}

TEST_CASE("a tree in SGLang's words is the same tree, whose words count the first pass and the root") {
  const Program draftline;
  const auto step = [&](const std::string& tree) {
    draftline.write("s.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "sglang", "method":
      {"name": "eagle3", "acceptance": {"mean_length": 2.5}, "tree": )" +
                                  tree + "}}");
    const Ran r = draftline("run s.json --json");
    INFO(r.err);
    REQUIRE(r.code == 0);
    return nlohmann::json::parse(r.out).at("results").at(0).at("step_time").at("value").get<double>();
  };
  const double ours = step(R"({"top_k": 3, "passes": 3, "nodes": 11})");
  CHECK(step(R"({"eagle_topk": 3, "num_steps": 4, "num_draft_tokens": 12})") == ours);
  CHECK(step(R"({"top_k": 3, "passes": 2, "nodes": 11})") != ours);
}

}  // namespace draftline
