// SPDX-License-Identifier: Apache-2.0
// `draftline ask`: a question in a few words, its assumptions and its scenario.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const std::string kQwen = "ask --model Qwen/Qwen3-32B-FP8 --gpu h100 --tp 2 --engine vllm-0.24 --method eagle3 ";

// The scenario that stands at the end of the output.
Json printed_scenario(const Ran& r) {
  const std::size_t at = r.out.rfind("\n{\n");
  return at == r.out.npos ? Json() : Json::parse(r.out.substr(at));
}

}  // namespace

TEST_CASE("a short question has a verdict, a table and a scenario that gives the same table") {
  const Program draftline;
  const Ran r = draftline(kQwen +
                          "--k 1..5 --batch 1,8,64 --prompt 3000 --output 400 --acceptance 0.8,0.63,0.48,0.37,0.28 "
                          "--write s.json --json t.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "Use eagle3, k = "));
  CHECK(contains(r.out, "GPU: h100 is read as h100-sxm"));
  CHECK(!contains(r.out, "a guess"));
  CHECK(contains(r.err, "Qwen/Qwen3-32B-FP8 is read as qwen3-32b in fp8-block"));
  const Json s = Json::parse(draftline.read("s.json"));
  CHECK(s.at("device") == "h100-sxm");
  CHECK(s.at("tensor_parallel") == 2);
  CHECK(s.at("batch_size") == Json{1, 8, 64});
  CHECK(s.at("prompt_tokens") == 3000);
  CHECK(s.at("method").at(1) == Json{{"name", "eagle3"},
                                     {"draft_length", {1, 2, 3, 4, 5}},
                                     {"acceptance", {{"per_position", {0.8, 0.63, 0.48, 0.37, 0.28}}}}});
  const Ran run = draftline("run s.json");
  REQUIRE(run.code == 0);
  CHECK(contains(r.out, run.out));
  CHECK(Json::parse(draftline.read("t.json")).at("results").size() == 18);
}

TEST_CASE("whatever a short question does not say is stated with the option that says it") {
  const Program draftline;
  const Ran r = draftline("ask --model Qwen/Qwen3-8B --gpu l40s");
  INFO(r.err);
  REQUIRE(r.code == 0);
  for (const char* assumed :
       {"engine: vllm, the newest profile (--engine)", "method: eagle3 (--method)",
        "draft lengths of eagle3: 1 to 5 (--k)", "acceptance of eagle3: a guess, {\"rate\":0.5}",
        "batch sizes: 1,8,64 (--batch)", "prompt tokens: 512 (--prompt)", "output tokens: 256 (--output)"})
    CHECK(contains(r.out, assumed));
  CHECK(printed_scenario(r).at("method").at(1).at("acceptance") == Json{{"rate", 0.5}});
}

TEST_CASE("with a rate a short question is simulated, or planned; batches have a table of their own") {
  const Program draftline;
  const std::string few = " --k 2 --acceptance 0.7 --set workload.requests=100 --prompt 500 --output 50 ";
  const Ran served = draftline(kQwen + few + "--rate 5 --batch 1,8");
  INFO(served.err);
  REQUIRE(served.code == 0);
  CHECK(contains(served.out, "batch"));
  CHECK(contains(served.out, "util"));
  const Json s = printed_scenario(served);
  CHECK(s.at("workload").at("arrivals").at("rate") == "5 /s");
  CHECK(s.at("workload").at("requests") == 100);
  CHECK(!s.contains("batch_size"));

  const Ran plan = draftline(kQwen + few + "--rate 5 --plan");
  INFO(plan.err);
  REQUIRE(plan.code == 0);
  CHECK(contains(plan.out, "Recommended: "));
  CHECK(contains(plan.out, "latency targets: TTFT p99 2 s, TPOT p99 50 ms, which are examples (--slo)"));
  CHECK(printed_scenario(plan).at("slo").at("tpot_p99") == "50 ms");
}

TEST_CASE("acceptance comes from a server's file, which is named from the folder of the scenario") {
  const Program draftline;
  draftline.write("metrics.txt",
                  "vllm:spec_decode_num_drafts_total 1000\nvllm:spec_decode_num_draft_tokens_total 2000\n"
                  "vllm:spec_decode_num_accepted_tokens_total 1300\n"
                  "vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"0\"} 800\n"
                  "vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"1\"} 500\n");
  std::filesystem::create_directory(draftline.path("mine"));
  const Ran r =
      draftline("ask --model Qwen/Qwen3-8B --gpu l40s --k 2 --batch 1 --acceptance metrics.txt --write mine/s.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(Json::parse(draftline.read("mine/s.json")).at("method").at(1).at("acceptance") ==
        Json{{"measured", "../metrics.txt"}});
  CHECK(draftline("run mine/s.json").code == 0);
  const Ran overwrites =
      draftline("ask --model Qwen/Qwen3-8B --gpu l40s --k 2 --acceptance metrics.txt --write metrics.txt");
  CHECK(overwrites.code == 2);
  CHECK(contains(overwrites.err, "is an input and would be overwritten"));
}

TEST_CASE("a wrong word of a short question is exit code 2 with the option's name") {
  struct Case {
    std::string options, message;
  };
  const Case c = GENERATE(
      Case{"--k two", "--k: \"two\" is no count"}, Case{"--k 5..1", "--k: \"5..1\" is no count"},
      Case{"--batch 1..1000000000", "--batch: "}, Case{"--method eagel3", "did you mean \"eagle3\"?"},
      Case{"--method draft_model", "--draft: draft_model requires a draft network"},
      Case{"--draft qwen3-0.6b", "--draft: no method of these has a draft network"},
      Case{"--acceptance nowhere.txt", "--acceptance: \"nowhere.txt\" is no file"},
      Case{"--acceptance {\"rate\"", "--acceptance: "}, Case{"--acceptance 1.5", "/acceptance/rate: must be at most 1"},
      Case{"--plan", "--plan: requires the load"}, Case{"--slo ttft_p99=1s", "--slo: requires the load"},
      Case{"--rate 5 --slo ttft", "must be as ttft_p99=500ms"}, Case{"--rate fast", "/workload/arrivals/rate: "},
      Case{"--batch 0", "/batch_size: must be at least 1, got 0"},
      Case{"--set batch_size=0", "/batch_size: must be at least 1, got 0 (--set batch_size=0)"},
      Case{"--gpu2 x", "--gpu2"});
  const Program draftline;
  const Ran r = draftline("ask --model Qwen/Qwen3-8B --gpu h100 " + c.options);
  CAPTURE(c.options, r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
  const Ran model = draftline("ask --model acme/Zeta-99X --gpu h100");
  CHECK(model.code == 2);
  CHECK(contains(model.err, "download its config.json and give --model ./Zeta-99X/config.json"));
  CHECK(draftline("ask --gpu h100").code == 2);
}

TEST_CASE("a method may have its engine's name") {
  const Program draftline;
  const Ran r = draftline("ask --model Qwen/Qwen3-8B --gpu h100 --engine sglang --method EAGLE3,ngram --k 2 --batch 1");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json methods = printed_scenario(r).at("method");
  CHECK(methods.at(1).at("name") == "eagle3");
  CHECK(methods.at(2).at("name") == "prompt_lookup");
}

}  // namespace draftline
