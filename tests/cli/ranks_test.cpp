// SPDX-License-Identifier: Apache-2.0
// One command on several ranks: what they print and write is what one prints and writes, and no failure leaves them
// waiting.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/cli/mpirun.h"

namespace draftline {

namespace {

std::string on(const std::string& more, const std::string& device = "h100-sxm") {
  return R"({"device": ")" + device + R"(", "transformer": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": 200,
    "output_tokens": 60, "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": [1, 3], "acceptance": {"rate": 0.7}}], )" +
         more + "}";
}

struct RanksFolder : Program {
  RanksFolder() {
    std::string prompts;
    for (int n = 1; n <= 60; ++n) prompts += (n == 1 ? "" : ", ") + std::to_string(40 * n);
    write("run.json",  // more than one block of points; those of the last batch don't fit
          R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": [)" + prompts +
              R"(], "method": [{"name": "autoregressive"}, {"name": "eagle3", "draft_length": [1, 3],
              "acceptance": {"rate": 0.7}}], "batch_size": [1, 2, 4, 8, 4000]})");
    write("served.json",
          on(R"("workload": {"arrivals": {"process": "poisson", "rate": ["4 /s", "20 /s"]}, "requests": 40},
                "replications": 2, "slo": {"ttft_p99": "1 s"}, "prices": {"h100-sxm": 3.6})"));
    write("one.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
      "method": {"name": "autoregressive"}, "workload": {"arrivals": {"process": "poisson", "rate": "5 /s"}, "requests": 40}})");
    write("wrong.json", on(R"("batch_size": 0)"));
    write("pins.json", R"({"schema_version": 1, "pins": [{"verb": "simulate", "scenario": "served.json"},
      {"verb": "simulate", "scenario": "one.json"}, {"verb": "plan", "scenario": "served.json"}]})");
  }
};

int times(const std::string& what, const std::string& in) {
  int n = 0;
  for (auto at = in.find(what); at != std::string::npos; at = in.find(what, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("several ranks print what one prints", "[once]") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const RanksFolder draftline;
  const std::string asked = GENERATE("run run.json --json", "run run.json --csv --from 700", "simulate served.json",
                                     "simulate served.json --json --jobs 2", "simulate served.json --csv --from 2",
                                     "plan served.json --json", "advise served.json --json", "list devices");
  const int ranks = GENERATE(2, 3);
  if (ranks == 2 && asked.find("--json") == std::string::npos) return;  // the other way has been seen
  const Ran one = draftline(asked), several = mpirun(draftline, {{ranks, asked}});
  INFO(asked << "\n" << several.err);
  REQUIRE(one.code == 0);
  CHECK(several.code == 0);
  CHECK(without_words_of_mpi(draftline, several.err).empty());
  CHECK(several.out == one.out);
}

TEST_CASE("records of a simulation are written by one rank, as if it were alone") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const RanksFolder draftline;
  const Ran one = draftline("simulate one.json --json --requests a.csv --steps a.jsonl --timeline a.json");
  const Ran two =
      mpirun(draftline, {{2, "simulate one.json --json --requests b.csv --steps b.jsonl --timeline b.json"}});
  INFO(two.err);
  REQUIRE(one.code == 0);
  CHECK(two.code == 0);
  CHECK(two.out == one.out);
  for (const char* ending : {".csv", ".jsonl", ".json"}) {
    CHECK(!draftline.read(std::string("a") + ending).empty());
    CHECK(draftline.read(std::string("b") + ending) == draftline.read(std::string("a") + ending));
  }
  const Ran many = mpirun(draftline, {{2, "simulate served.json --requests c.csv"}});
  CHECK(many.code == 2);
  CHECK(times("records and the timeline require a scenario with a single point", many.err) == 1);
  CHECK(!std::filesystem::exists(draftline.path("c.csv")));
}

TEST_CASE("pins are checked and approved by several ranks as by one; what moved is exit 1 on any number of them",
          "[once]") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const RanksFolder draftline;
  REQUIRE(draftline("check pins.json --approve").code == 0);
  const std::string pins = draftline.read("pins.json");
  REQUIRE(mpirun(draftline, {{2, "check pins.json --approve"}}).code == 0);
  CHECK(draftline.read("pins.json") == pins);

  std::string other = draftline.read("one.json");
  draftline.write("one.json", other.replace(other.find("5 /s"), 4, "6 /s"));
  const Ran one = draftline("check pins.json --junit one.xml --markdown one.md");
  const Ran several = mpirun(draftline, {{3, "check pins.json --junit three.xml --markdown three.md"}});
  INFO(several.err);
  CHECK(one.code == 1);
  CHECK(several.code == 1);
  CHECK(several.out == one.out);
  CHECK(draftline.read("three.xml") == draftline.read("one.xml"));
  CHECK(draftline.read("three.md") == draftline.read("one.md"));
  CHECK(draftline.read("pins.json") == pins);
}

TEST_CASE("what all ranks find wrong is said once, with the exit code of one") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const RanksFolder draftline;
  for (const char* asked : {"run wrong.json", "simulate nothing.json", "plan one.json", "run run.json --json --csv"}) {
    const Ran one = draftline(asked), several = mpirun(draftline, {{3, asked}});
    INFO(asked << "\n" << several.err);
    CHECK(one.code == 2);
    CHECK(several.code == 2);
    CHECK(several.out.empty());
    std::istringstream lines(one.err);
    for (std::string line; std::getline(lines, line);) {
      INFO(line);
      CHECK(times(line + "\n", several.err) == 1);  // mpirun may print its own words between two lines
    }
  }
}

TEST_CASE("a rank that fails alone ends all of them with its message and its exit code") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const RanksFolder draftline;
  draftline.write("other.json", on(R"("workload": {"arrivals": {"process": "poisson", "rate": ["4 /s", "21 /s"]},
    "requests": 40}, "slo": {"ttft_p99": "1 s"})"));
  struct Case {
    std::string first, second, message;
  };
  const Case c =
      GENERATE(Case{"simulate served.json", "simulate nothing.json", "nothing.json: no such file"},
               Case{"plan served.json", "plan other.json", "rank 1 has different input files"},
               Case{"run run.json --json", "run wrong.json --json", "wrong.json#/batch_size: must be at"},
               Case{"run run.json", "run run.json --dry-run", "rank 1 was started with a different command line"},
               Case{"simulate one.json", "simulate nothing.json", "nothing.json: no such file"},  // nothing to share
               Case{"check pins.json", "check nothing.json", "File does not exist: nothing.json"});
  const Ran r = mpirun(draftline, {{1, c.first}, {1, c.second}, {1, c.first}});
  INFO(r.err);
  CHECK(r.code == 2);
  CHECK(contains(r.err, c.message));
}

TEST_CASE("where rank 0 can't write, all ranks end with its exit code", "[once]") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const RanksFolder draftline;
  const std::string asked =
      GENERATE("simulate one.json --requests nowhere/r.csv", "check pins.json --junit nowhere/j.xml");
  const Ran one = draftline(asked), several = mpirun(draftline, {{2, asked}});
  INFO(several.err);
  CHECK(one.code != 0);
  CHECK(several.code == one.code);
  CHECK(times(one.err, several.err) == 1);
}

TEST_CASE("Ctrl-C that one rank receives ends all of them, with one message and what is finished", "[once]") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const Program draftline;
  std::string rates;
  for (int i = 1; i <= 1500; ++i) rates += (i == 1 ? "\"" : ", \"") + std::to_string(i) + " /s\"";
  draftline.write(
      "s.json", on(R"("workload": {"arrivals": {"process": "poisson", "rate": [)" + rates + R"(]}, "requests": 100})"));
  const std::string rank = GENERATE("0", "1");
  // Each rank writes down its number of process. A shell lets what it starts in the background ignore Ctrl-C.
  draftline.write("rank.sh", "echo $$ > pid$OMPI_COMM_WORLD_RANK\nexec \"$@\"\n");
  draftline.write(
      "interrupt.sh",
      "env --default-signal mpirun --oversubscribe -n 2 sh rank.sh \"$1\" simulate s.json --json > out 2> err &\n"
      "while [ ! -s out ] && kill -0 $!; do sleep 0.02; done\nkill -INT $(cat pid" +
          rank + ")\nwait $!\n");
  const int status = shell_of_ranks(draftline, "sh interrupt.sh '" DRAFTLINE_PROGRAM "'");
  const std::string err = draftline.read("err");
  INFO(err);
  CHECK(WEXITSTATUS(status) == 130);
  CHECK(times("of 4500 points; continue with --from ", err) == 1);
  const auto d = nlohmann::json::parse(draftline.read("out"));
  CHECK(d.at("results").size() > 0);
  CHECK(d.at("results").size() < 4500);
}

TEST_CASE("what measures one machine is refused under mpirun") {
  if (const std::string why = no_ranks(); !why.empty()) SKIP_TEST(why);
  const Program draftline;
  draftline.write("here", "");
  for (const char* asked : {"probe --out p.json", "decode --transformer llama-68m", "validate --out v"}) {
    const Ran r = mpirun(draftline, {{2, asked}});
    INFO(asked << "\n" << r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(times("this verb measures one machine with one process: start it without mpirun", r.err) == 1);
  }
  CHECK(!std::filesystem::exists(draftline.path("p.json")));
  CHECK(!std::filesystem::exists(draftline.path("v")));
}

}  // namespace draftline
