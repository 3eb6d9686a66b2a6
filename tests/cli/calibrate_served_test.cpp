// SPDX-License-Identifier: Apache-2.0
// A server's benchmark in, the profile of its engine out, and the question it was for, as a user asks them.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

static const std::string kServer = " --engine vllm-0.19 --device h100-sxm --transformer llama-3.1-8b";
// Steps that are 1.2 ms longer than vllm-0.19's on this card.
static const std::string kTable =
    "batch,context,tpot_ms\n1,600,7.8\n8,600,8.05\n32,600,8.75\n64,600,9.7\n128,600,12.0\n";

TEST_CASE("a benchmark becomes a profile, and a scenario that names it is answered for that server") {
  const Program draftline;
  draftline.write("steps.csv", kTable);
  const Ran r = draftline("calibrate --served steps.csv" + kServer + " --engine-out mine.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "As shipped, a run is"));
  CHECK(contains(r.out, "steps.csv:6"));
  const Json profile = Json::parse(draftline.read("mine.json"));
  CHECK(profile.at("name") == "mine");
  CHECK(profile.at("step").at("kind") == "calibrated");
  CHECK(profile.at("step").at("source") == "own-benchmark");
  CHECK(profile.at("step").at("locator") == "steps.csv");
  CHECK(profile.at("step").contains("low"));

  draftline.write("s.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": ["./mine.json", "vllm"],
      "method": {"name": "autoregressive"}, "batch_size": 48, "prompt_tokens": 500, "output_tokens": 202})");
  const Ran answer = draftline("run s.json --json");
  REQUIRE(answer.code == 0);
  const Json results = Json::parse(answer.out).at("results");
  const double mine = results.at(0).at("step_time").at("value"), vllm = results.at(1).at("step_time").at("value");
  CHECK(mine == Approx(9.2e-3).epsilon(0.03));  // between batches of 32 and 64
  CHECK(vllm < 8.5e-3);
}

TEST_CASE("--json prints the profile alone") {
  const Program draftline;
  draftline.write("steps.csv", kTable);
  const Ran r = draftline("calibrate --served steps.csv" + kServer + " --json");
  CHECK(r.code == 0);
  CHECK(Json::parse(r.out).at("name") == "my-vllm");
}

TEST_CASE("what is wrong with a benchmark, or was not said of its server, is exit code 2") {
  struct Case {
    std::string arguments, message;
  };
  const Case c = GENERATE(
      Case{"--served steps.csv --device h100-sxm --transformer llama-3.1-8b", "--engine: is required by --served"},
      Case{"--served steps.csv --engine vllm --transformer llama-3.1-8b", "--device: is required by --served"},
      Case{"--served steps.csv --engine vllm --device h100 --transformer llama-3.1-8b",
           "#/device: unknown name \"h100\""},
      Case{"--served none.csv" + kServer, "none.csv: no such file"},
      Case{"--served steps.csv --out device.json" + kServer, "--out: is the file of a device"},
      Case{"steps.csv --engine vllm", "--engine: requires --served"},
      Case{"", "calibrate: give a measured file, a folder of tables, or benchmarks with --served"},
      Case{"--served spec.csv" + kServer, "spec.csv:2: is a speculative run (2.50 tokens per step)"},
      Case{"--served steps.csv spec.csv --method '{\"name\": \"eagle\"}'" + kServer, "#/method/name: "},
      Case{"--served steps.csv spec.csv --method '{\"name\": '" + kServer, "--method: line 1"},
      Case{"--served steps.csv --tensor-parallel 3" + kServer, "#/tensor_parallel: "});
  const Program draftline;
  draftline.write("steps.csv", kTable);
  draftline.write("spec.csv", "batch,context,step_ms,acceptance_length,draft_length\n1,600,9.2,2.5,3\n");
  const Ran r = draftline("calibrate " + c.arguments);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
}

TEST_CASE("a benchmark in which most steps compute prompts is excluded, with the output length that it needs") {
  const auto served = [](int sequences, int output) {
    return Json{{"completed", 10 * sequences},
                {"max_concurrency", sequences},
                {"duration", 10.0 * output / 100},
                {"total_input_tokens", 10240 * sequences},
                {"total_output_tokens", 10 * output * sequences},
                {"mean_tpot_ms", 10.0},
                {"median_tpot_ms", 10.0},
                {"median_itl_ms", 9.0},
                {"mean_ttft_ms", 50.0}}
        .dump();
  };
  const Program draftline;
  draftline.write("c8.json", served(8, 128));
  draftline.write("c128.json", served(128, 128));
  const Ran both = draftline("calibrate --served c8.json c128.json" + kServer + " --engine-out mine.json");
  INFO(both.err);
  CHECK(both.code == 0);
  CHECK(contains(both.err,
                 "c128.json: excluded: with 128 sequences and outputs of 128 tokens most steps also compute a prompt"));
  CHECK(contains(both.err, "use outputs of at least 185 tokens"));
  CHECK_FALSE(contains(both.out, "c128.json"));
  const Ran one = draftline("calibrate --served c128.json" + kServer + " --engine-out mine.json");
  CHECK(one.code == 2);
  CHECK(contains(one.err, "c128.json: excluded: "));
  draftline.write("c64.json", served(64, 256));  // 0.25 prompts a step: half of the gaps are without
  CHECK_FALSE(contains(draftline("calibrate --served c64.json" + kServer).err, ": excluded: "));
  const Ran drafted = draftline(
      "calibrate --served c8.json c64.json@acceptance_length=2 --method '{\"name\": \"eagle3\", "
      "\"draft_length\": 3}'" +
      kServer);
  CHECK(contains(drafted.err, "c64.json: about 50 of 100 steps compute a prompt, which is included in the TPOT"));
}

static std::string served(const std::string& more) {
  return R"({"completed": 100, "duration": 26.0, "total_input_tokens": 50000, "total_output_tokens": 20100,
    "mean_tpot_ms": 7.4, "median_tpot_ms": 7.4, "median_itl_ms": 7.4, "max_concurrency": 4)" +
         more + "}";
}

TEST_CASE("TTFT is predicted beside measured, and its rest is the front end of the profile") {
  const Program draftline;
  draftline.write("c4.json", served(R"(, "mean_ttft_ms": 90, "median_ttft_ms": 90)"));
  const Ran r = draftline("calibrate --served c4.json" + kServer + " --engine-out mine.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "TTFT"));
  CHECK(contains(r.out, "front_end: "));
  const Json profile = Json::parse(draftline.read("mine.json"));
  CHECK(profile.at("front_end").at("kind") == "calibrated");
  draftline.write("s.json", R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "./mine.json",
      "method": {"name": "autoregressive"}, "batch_size": 4, "prompt_tokens": 500, "output_tokens": 201})");
  const Ran answer = draftline("run s.json --json");
  REQUIRE(answer.code == 0);
  CHECK(Json::parse(answer.out).at("results").at(0).at("ttft").at("value").get<double>() == Approx(0.09).epsilon(0.01));
}

TEST_CASE("a result of another network or format than is priced is refused, unless its file is told so") {
  const Program draftline;
  draftline.write("other.json", served(R"(, "model_id": "Qwen/Qwen3-8B")"));
  const Ran other = draftline("calibrate --served other.json" + kServer);
  CHECK(other.code == 2);
  CHECK(contains(other.err, "the network qwen3-8b, but would be priced as llama-3.1-8b: give --transformer qwen3-8b"));
  CHECK(draftline("calibrate --served other.json@transformer=llama-3.1-8b" + kServer).code == 0);
  draftline.write("narrow.json", served(R"(, "model_id": "RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic")"));
  const Ran narrow = draftline("calibrate --served narrow.json" + kServer);
  CHECK(narrow.code == 2);
  CHECK(contains(narrow.err, "whose name states fp8, but would be priced in bf16: give --precision fp8"));
  CHECK(draftline("calibrate --served narrow.json --precision fp8" + kServer).code == 0);
}

}  // namespace draftline
