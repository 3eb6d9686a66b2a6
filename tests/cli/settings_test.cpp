// SPDX-License-Identifier: Apache-2.0
// Where a scenario comes from and where its answer goes: `--set`, standard input, comments, and files in several
// formats.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const std::string kSettingsScenario = R"({
  // a comment, with "quotes"
  "device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", /* and
  another */ "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": [1, 3], "acceptance": {"rate": 0.7}}],
  "batch_size": 4
})";

Json resolved(const Program& draftline, const std::string& arguments) {
  const Ran r = draftline("run s.json --dry-run " + arguments);
  INFO(r.err);
  REQUIRE(r.code == 0);
  return Json::parse(r.out);
}

}  // namespace

TEST_CASE("--set replaces values of a scenario by dotted paths or pointers, with JSON or text") {
  const Program draftline;
  draftline.write("s.json", kSettingsScenario);
  CHECK(resolved(draftline, "").at("batch_size") == Json{4});
  CHECK(resolved(draftline, "--set batch_size=[1,8]").at("batch_size") == Json{1, 8});
  CHECK(resolved(draftline, "--set device=h200 --set batch_size=2").at("batch_size") == Json{2});
  CHECK(contains(resolved(draftline, "--set /method/1/draft_length=7").at("method").dump(), R"("draft_length":7)"));
  const Ran run = draftline("run s.json --set batch_size=2 --set method.1.acceptance.rate=0.9 --json");
  REQUIRE(run.code == 0);
  const Json question = Json::parse(run.out).at("question");
  CHECK(question.at("scenario").at("batch_size") == 2);
  CHECK(question.at("scenario").at("method").at(1).at("acceptance").at("rate") == 0.9);
  draftline.write("was.json", run.out);
  CHECK(draftline("check --against was.json").code == 0);
  const Ran simulated = draftline(
      "simulate s.json --set 'workload.arrivals={\"process\": \"poisson\"}' --set 'workload.arrivals.rate=5 /s' "
      "--set workload.requests=20 --set batch_size=1");
  CHECK(simulated.code == 2);  // of the last
  CHECK(contains(simulated.err, "s.json#/batch_size: is not allowed with a workload"));
  CHECK(contains(simulated.err, "(--set batch_size=1)"));
}

TEST_CASE("a wrong --set is exit code 2 with its place") {
  struct Case {
    std::string setting, message;
  };
  const Case c = GENERATE(
      Case{"batch_size", "--set batch_size: must be KEY=VALUE"}, Case{"=3", "must be KEY=VALUE"},
      Case{"a..b=3", "has a key without a name"}, Case{"batch_size=[1,", "the value is not JSON (line 1, column "},
      Case{"method.draft_length=3", "#/method is a list of 2: an element's number, from 0 on, must follow it"},
      Case{"method.2.draft_length=3", "#/method is a list of 2"},
      Case{"method.99999999999999999999.draft_length=3", "#/method is a list of 2"},
      Case{"device.name=3", "#/device is a text, which has no keys"},
      Case{"batchsize=3", "s.json#/batchsize: unknown key; did you mean \"batch_size\"? (--set batchsize=3)"},
      Case{"method.1.acceptance.rate=2", "s.json#/method/1/acceptance/rate: must be at most 1, got 2 (--set "},
      Case{"batch_size=many", "s.json#/batch_size: "});
  const Program draftline;
  draftline.write("s.json", kSettingsScenario);
  const std::string verb = GENERATE("run", "advise");
  const Ran r = draftline(verb + " s.json --set " + c.setting);
  CAPTURE(c.setting, r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
  std::string deep = "a";
  for (int i = 0; i < 5000; ++i) deep += ".a";
  CHECK(draftline("run s.json --set " + deep + "=1").code == 2);
}

TEST_CASE("a scenario comes from standard input, with paths from the current folder") {
  const Program draftline;
  draftline.write("s.json", kSettingsScenario);
  const Ran file = draftline("run s.json"), input = draftline("run - < s.json", "> out");
  INFO(input.err);
  CHECK(input.code == 0);
  CHECK(input.out.empty() == false);
  CHECK(input.out == file.out);
  CHECK(draftline("run - --set batch_size=8 < s.json", "> out").out != file.out);
  const Ran wrong = draftline("run - --set batch_size=0 < s.json", "> out");
  CHECK(wrong.code == 2);
  CHECK(contains(wrong.err, "standard input#/batch_size: must be at least 1, got 0"));
  CHECK(draftline("run - < /dev/null", "> out").code == 2);
}

TEST_CASE("comments leave the places of mistakes right") {
  const Program draftline;
  draftline.write("s.json", "{\n  // one\n  /* two\n  */ \"device\": ?}");
  const Ran r = draftline("run s.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "s.json#/device: line 4, column 16: "));
  draftline.write("s.json", "{ /* no end ");
  CHECK(contains(draftline("run s.json").err, "line 1, column "));
}

TEST_CASE("one run writes several formats, equal to those on standard output") {
  const Program draftline;
  draftline.write("s.json", kSettingsScenario);
  const Ran r = draftline("run s.json --html p.html --csv t.csv --json a.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.out == draftline("run s.json").out);
  CHECK(draftline.read("t.csv") == draftline("run s.json --csv").out);
  CHECK(draftline.read("a.json") == draftline("run s.json --json").out);
  CHECK(draftline.read("p.html").starts_with("<!"));
  CHECK(draftline("advise s.json --no-load --json v.json").code == 0);
  CHECK(Json::parse(draftline.read("v.json")).contains("verdicts"));
  CHECK(draftline("papers clover --csv c.csv").code == 0);
  CHECK(draftline.read("c.csv").starts_with("paper,"));
}

TEST_CASE("kernels and a chart as text exclude formats on standard output that have no place for them, but no files") {
  const Program draftline;
  draftline.write("s.json", kSettingsScenario);
  CHECK(draftline("run s.json --json a.json --csv b.csv --explain").code == 0);
  CHECK(contains(draftline.read("a.json"), "\"kernels\""));
  const Ran plotted = draftline("run s.json --plot --html p.html --json a.json");
  CHECK(plotted.code == 0);
  CHECK(plotted.out == draftline("run s.json --plot").out);
  CHECK(plotted.out != draftline("run s.json").out);
  CHECK(contains(draftline("run s.json --explain --csv").err, "--explain excludes --csv"));
  for (const std::string format : {"--csv", "--json", "--html"}) {
    const Ran r = draftline("run s.json --plot " + format);
    CHECK(r.code == 2);
    CHECK(contains(r.err, "--plot excludes " + format));
  }
}

TEST_CASE("a word behind --json is the scenario where that is missing; no input is overwritten") {
  const Program draftline;
  draftline.write("s.json", kSettingsScenario);
  const std::string json = draftline("run s.json --json").out;
  CHECK(draftline("run --json s.json").out == json);
  CHECK(draftline("run --json s.json --jobs 2").out == json);
  CHECK(draftline("papers --csv clover").out == draftline("papers clover --csv").out);
  for (const char* wrong : {"run s.json --json s.json", "run s.json --csv t --html t", "run s.json --json --csv",
                            "run --json", "run s.json --dry-run --csv t.csv", "run s.json --csv nowhere/t.csv"}) {
    CAPTURE(wrong);
    CHECK(draftline(std::string(wrong)).code == 2);
  }
  CHECK(draftline.read("s.json") == kSettingsScenario);
  CHECK(!std::filesystem::exists(draftline.path("t")));
  draftline.write("bad.json", R"({"device": "h100-sxm"})");
  CHECK(draftline("run bad.json --csv t.csv").code == 2);
  CHECK(!std::filesystem::exists(draftline.path("t.csv")));
}

TEST_CASE("a wrong verb is answered with the verbs") {
  const Program draftline;
  const Ran near = draftline("simulat s.json"), far = draftline("frobnicate");
  CHECK(near.code == 2);
  CHECK(contains(near.err, "unknown verb \"simulat\"; did you mean \"simulate\"?"));
  CHECK(far.code == 2);
  CHECK(contains(far.err, "unknown verb \"frobnicate\""));
  CHECK(contains(far.err, "calibrate"));
}

TEST_CASE("list with a name prints figures, origins, guesses and sources of one entry") {
  const Program draftline;
  struct Case {
    std::string entry;
    std::vector<std::string> words;
  };
  const Case c =
      GENERATE(Case{"devices h100-sxm",
                    {"989 TFLOP/s", "quoted, nvidia-h100: ", "fits/gemm/peak_share", "Guesses", "Sources", "NVIDIA"}},
               Case{"transformers qwen3-8b", {"num_hidden_layers", "36", "Sources", "qwen2025"}},
               Case{"engines vllm-0.24", {"graph_launch", "Sources", "draftline-engines"}},
               Case{"methods eagle3", {"eagle3", "lossless", "Sources"}},
               Case{"papers clover", {"clover: ", "Sources", "xiao2024"}});
  const Ran r = draftline("list " + c.entry);
  INFO(r.err);
  CHECK(r.code == 0);
  for (const std::string& word : c.words) {
    CAPTURE(word);
    CHECK(contains(r.out, word));
  }
  const Ran json = draftline("list " + c.entry + " --json");
  CHECK(json.code == 0);
  CHECK(Json::parse(json.out).is_array());
  for (const char* wrong :
       {"devices h1000", "methods eagel3", "papers nobody", "transformers nothing", "engines nothing"}) {
    CAPTURE(wrong);
    CHECK(draftline(std::string("list ") + wrong).code == 2);
  }
}

}  // namespace draftline
