// SPDX-License-Identifier: Apache-2.0
// `decode --device cuda` and `probe --device cuda` as a user runs them; the program is linked to the emulated device.
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "probes/cuda_grid.h"
#include "tests/catch.h"
#include "tests/cli/program.h"

using namespace draftline;

namespace {

const std::string kTiny = R"({"architectures": ["LlamaForCausalLM"], "hidden_size": 32, "num_hidden_layers": 4,
  "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 48, "vocab_size": 64,
  "max_position_embeddings": 512, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false})";
const std::string kDraft = R"(--method '{"name": "draft_model", "draft": "./tiny.json", "draft_length": 3}')";

nlohmann::json json_of(const Ran& r) {
  INFO(r.err);
  REQUIRE(r.code == 0);
  return nlohmann::json::parse(r.out);
}

}  // namespace

TEST_CASE("decode emits the same text in fp32 on cuda as on the cpu, and says what its steps took") {
  const Program draftline;
  draftline.write("tiny.json", kTiny);
  const std::string run =
      "decode --transformer ./tiny.json --prompts 3 --new-tokens 16 --batch-size 2 --json " + kDraft;
  const auto cpu = json_of(draftline(run)),
             cuda = json_of(draftline(run + " --device cuda --precision fp32 --warm-up 1"));
  CHECK(cpu["texts"] == cuda["texts"]);
  CHECK(cuda["resolved"]["device_name"] == "emulated on the CPU");
  CHECK(cuda["resolved"]["graphs"] == true);
  for (const auto& timing : {cpu["timing"], cuda["timing"]}) {
    CHECK(timing["steps"].get<int>() > 2);
    CHECK(timing["step_time"]["kind"] == "measured");
    CHECK(timing["step_time"]["value"].get<double>() > 0);
    CHECK(timing["device"]["value"].get<double>() <= timing["step_time"]["value"].get<double>());
    CHECK(timing["bytes_per_step"]["value"].get<double>() > 1e4);
  }
  CHECK(cpu["timing"].contains("verify"));
  CHECK_FALSE(cuda["timing"].contains("verify"));  // a graph is one piece
  CHECK(cuda["timing"]["steps_left_out"] == 1);

  const auto eager = json_of(draftline(run + " --device cuda --precision fp32 --no-graphs --limits h100-sxm"));
  CHECK(eager["texts"] == cuda["texts"]);
  const auto& t = eager["timing"];
  const double phases =
      t["draft"]["value"].get<double>() + t["verify"]["value"].get<double>() + t["commit"]["value"].get<double>();
  CHECK(phases == Approx(t["device"]["value"].get<double>()));
  CHECK(t["bandwidth_share"]["value"].get<double>() > 0);
}

TEST_CASE("algorithms of products that are kept in a file are not timed again") {
  const Program draftline;
  draftline.write("tiny.json", kTiny);
  const std::string run =
      "decode --transformer ./tiny.json --prompts 2 --new-tokens 8 --batch-size 2 --json --device cuda ";
  const auto timed = [&](const std::string& more) {
    return json_of(draftline(run + more))["resolved"]["products_timed"].get<int>();
  };
  const int all = timed("");
  CHECK(all > 5);
  CHECK(timed("--algorithms kept.json") == all);
  const std::string kept = draftline.read("kept.json");
  CHECK(timed("--algorithms kept.json") == 0);
  CHECK(draftline.read("kept.json") == kept);

  // Those of another device, or of another cuBLASLt, are left as they are.
  auto other = nlohmann::json::parse(kept);
  if (GENERATE(true, false)) other["algorithms"][0]["device"] = "another, 1 multiprocessors";
  else other["algorithms"][0]["cublaslt"] = 1;
  draftline.write("other.json", other.dump());
  CHECK(timed("--algorithms other.json") == all);
  const auto both = nlohmann::json::parse(draftline.read("other.json"));
  REQUIRE(both["algorithms"].size() == 2);
  CHECK((both["algorithms"][0] == other["algorithms"][0] || both["algorithms"][1] == other["algorithms"][0]));

  other["algorithms"][0]["products"][0]["rows"] = 0;
  draftline.write("wrong.json", other.dump());
  const Ran wrong = draftline(run + "--algorithms wrong.json");
  CHECK(wrong.code == 2);
  CHECK(wrong.err.find("wrong.json#/algorithms/0/products/0/rows") != std::string::npos);
  CHECK(draftline("decode --transformer ./tiny.json --algorithms kept.json").code == 2);  // the CPU has none
}

TEST_CASE("forced acceptance follows rates and traces on either device") {
  const Program draftline;
  draftline.write("tiny.json", kTiny);
  const std::string run =
      "decode --transformer ./tiny.json --prompts 4 --new-tokens 60 --batch-size 4 --json " + kDraft;
  const auto length = [&](const std::string& more) {
    return json_of(draftline(run + more))["acceptance_length"]["value"].get<double>();
  };
  CHECK(length(" --accept 1,1,1") == 4);
  CHECK(length(" --accept 0,1,1 --device cuda") == 1);
  CHECK(length(" --accept 1,1,0 --device cuda --precision fp32") == 3);
  // 1 + 0.5 + 0.25 + 0.125 = 1.875; some 130 steps of a standard deviation of 1.05
  CHECK(length(" --accept 0.5,0.5,0.5") == Approx(1.875).margin(4 * 1.05 / std::sqrt(130.0)));

  REQUIRE(
      draftline("decode --transformer ./tiny.json --prompts 4 --new-tokens 60 --batch-size 4 --trace t.gz " + kDraft)
          .code == 0);
  const auto live = json_of(draftline(run)), forced = json_of(draftline(run + " --accept-trace t.gz --device cuda"));
  for (std::size_t i = 0; i < 4; ++i)
    CHECK(live["texts"][i]["emitted_per_step"] == forced["texts"][i]["emitted_per_step"]);

  CHECK(draftline(run + " --accept 0.5").code == 2);
  CHECK(draftline(run + " --accept 0.5,0.5,1.5").code == 2);
  CHECK(draftline(run + " --accept 1,1,1 --temperature 0.7").code == 2);
  CHECK(draftline(run + " --precision bf16").code == 2);
}

TEST_CASE("a device that is not there or is lost on the way is exit 3, and keeps what is finished") {
  const Program draftline;
  draftline.write("tiny.json", kTiny);
  const std::string run =
      "decode --transformer ./tiny.json --prompts 6 --new-tokens 12 --batch-size 2 --json --device cuda";
  setenv("EMULATED_DEVICES", "0", 1);
  Ran r = draftline(run);
  unsetenv("EMULATED_DEVICES");
  CHECK(r.code == 3);
  CHECK(r.err.find("no CUDA device") != std::string::npos);

  // How many calls a run makes depends on the time that choosing algorithms takes: the latest that breaks it off.
  r.code = 0;
  for (int call = 1800; call > 100 && r.code == 0; call -= 50) {
    setenv("EMULATED_FAULT", (std::to_string(call) + " 719").c_str(), 1);
    r = draftline(run);
    unsetenv("EMULATED_FAULT");
  }
  REQUIRE(r.code == 3);
  CHECK(r.err.find("unspecified launch failure") != std::string::npos);
  const auto kept = nlohmann::json::parse(r.out);
  CHECK(kept["failed"].get<std::string>().find("launch failure") != std::string::npos);
  CHECK(kept["texts"].size() == 6);
  CHECK_FALSE(kept["texts"][0]["tokens"].empty());
  CHECK(kept["texts"][5]["tokens"].empty());
}

TEST_CASE("probe on cuda goes on with what is missing, watches the clocks and says what it took") {
  // All that would take the emulator long is there already.
  Measured m;
  m.device = "cuda", m.title = "emulated on the CPU", m.commit = build_commit(), m.source = "draftline-probe";
  m.locator = "a test";
  int left = 0;
  for (MeasuredPoint p : cuda_grid(1 << 20, GridSize::small)) {
    const bool quick = p.op != "gemm" && p.op != "attention" && p.op != "read" && p.op != "copy" &&
                       p.at("sequences", 1) * p.at("layers", 1) <= 8;
    left += quick;
    p.skipped = "left to a GPU";
    if (!quick) m.points.push_back(p);
  }
  const Program draftline;
  std::ofstream(draftline.path("g.json")) << [&] {
    std::ostringstream text;
    write_measured(text, m);
    return text.str();
  }();
  const Ran r = draftline("probe --device cuda --grid small --seconds 1 --out g.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(r.err.find("probing " + std::to_string(left) + " points of emulated on the CPU, about ") != std::string::npos);
  CHECK(r.err.find("1 points could not run; the file says why") != std::string::npos);
  const auto file = nlohmann::json::parse(draftline.read("g.json"));
  CHECK(file["points"].size() == cuda_grid(1 << 20, GridSize::small).size());
  CHECK(file["machine"]["sm_clock_mhz"] == 1980);
  CHECK(file["machine"]["devices"] == 1);
  std::map<std::string, int> measured;
  for (const auto& p : file["points"]) {
    if (!p.contains("skipped")) ++measured[p["op"]];
    else if (p["op"] == "all_reduce") CHECK(p["skipped"] == "needs 2 GPUs; this machine has 1");
    else CHECK(p["skipped"] == "left to a GPU");
  }
  for (const char* op : {"step_host", "step_issue", "step_exposed", "sample", "top_k", "upload", "kernel_replayed"})
    CHECK(measured[op] > 0);
}
