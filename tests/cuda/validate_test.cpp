// SPDX-License-Identifier: Apache-2.0
// `validate --device cuda` as a user runs it; the program is linked to the emulated device, whose times mean nothing:
// the loop is tested, not its figures.
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "model/calibration/gpu_calibration.h"
#include "tests/cli/program.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;
using Json = nlohmann::json;

namespace {

// A measured file of a GPU that takes what the datasheet's own fits say, and of its host.
std::string measured() {
  const Device truth = known_device("h100-sxm");
  Measured m;
  m.device = "cuda";
  m.title = "emulated on the CPU";
  m.commit = "abc";
  m.source = "draftline-probe";
  m.locator = "made up";
  m.machine = {{"l2_cache", 5e7}, {"memory", 8e10}};
  const auto add = [&](const char* op, std::map<std::string, int> shape, double us = 0) {
    Measured one;
    one.points = {{op, std::move(shape), Seconds{1}, Seconds{1}, Seconds{1}, 9, 0, {}}};
    const KernelTimes k = kernel_times(one, truth);
    MeasuredPoint& p = one.points.front();
    p.median = p.low = p.high = !k.gemms.empty()       ? predicted(truth, k.gemms[0])
                                : !k.attention.empty() ? predicted(truth, k.attention[0])
                                : !k.copies.empty()    ? predicted(truth, k.copies[0])
                                                       : Seconds{1e-6 * us};
    m.points.push_back(p);
  };
  for (const int rows : {1, 16, 128})
    for (const int in : {1024, 4096})
      for (const int out : {1024, 4096, 8192}) add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", 6}});
  for (const auto& [heads, kv_heads] : {std::pair{32, 8}, {32, 32}, {16, 2}})
    for (const int rows : {1, 8, 512})
      for (const int context : {64, 1024, 8192})
        add("attention", {{"sequences", 2},
                          {"rows", rows},
                          {"context", context},
                          {"heads", heads},
                          {"kv_heads", kv_heads},
                          {"head_dim", 128},
                          {"tree", 0},
                          {"copies", 8}});
  for (const int rows : {1, 16, 256})
    for (const char* op : {"add", "rms_norm", "silu_mul"}) add(op, {{"rows", rows}, {"columns", 4096}});
  add("copy", {{"kib", 1 << 19}});
  for (const int ops : {20, 60, 220})
    for (const int sequences : {1, 4}) {
      const std::map<std::string, int> shape{{"layers", ops / 10}, {"sequences", sequences}, {"ops", ops}};
      const double host = 2 + 0.1 * ops + 0.05 * sequences;
      add("step_host", shape, host);
      for (const int graphs : {0, 1}) {
        auto with = shape;
        with["graphs"] = graphs;
        const double issue = graphs == 1 ? 4 : 2.0 * ops;
        add("step_issue", with, issue);
        add("step_exposed", with, host + issue + 8);
      }
    }
  std::ostringstream out;
  write_measured(out, m);
  return out.str();
}

const std::string kLoop = "validate --device cuda --grid small --measured m.json --datasheet h100-sxm --out v ";
const std::string kOneTurn = kLoop + "--turns 1 --time-budget 0.0001 --parts calibrate,decode --batch-sizes ";
const std::string kShort = kOneTurn + "1", kBatch = kOneTurn + "4";

void check_compared(const Json& c) {
  CHECK(c.at("predicted").get<double>() > 0);
  CHECK(c.at("measured").get<double>() > 0);
}

}  // namespace

TEST_CASE("the closed loop runs on a GPU: calibrated, decoded in graphs, predicted, and kept") {
  const Program draftline;
  draftline.write("m.json", measured());
  // Sequences of a batch have texts of different lengths, and room for the longest.
  const Ran r = draftline(kBatch + " --json --markdown r.md");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json j = Json::parse(r.out);
  CHECK(j.at("device") == "cuda");
  CHECK(j.at("title") == "emulated on the CPU");
  REQUIRE(j.at("cells").size() == 3);
  for (const Json& c : j.at("cells")) {
    check_compared(c);
    check_compared(c.at("step_time"));
    check_compared(c.at("plain_step_time"));
    CHECK(c.at("low").get<double>() < c.at("high").get<double>());
    CHECK(c.at("clock_mhz") == 1980);  // the emulated driver's
    // Three drafts, each accepted with 0.7: an input in both worlds.
    CHECK(c.at("acceptance_length").get<double>() == Approx(1 + 0.7 + 0.49 + 0.343));
  }
  double share = 0;
  std::map<std::string, Json> ops;
  for (const Json& op : j.at("ops")) {
    share += op.at("share").get<double>();
    ops[op.at("op")] = op;
  }
  CHECK(share == Approx(1).margin(1e-9));
  for (const char* op : {"verify/linear", "draft/linear", "commit/verify_greedy", "verify/attention.verify", "host"}) {
    INFO(op);
    REQUIRE(ops.contains(op));
    CHECK(ops[op].at("predicted").get<double>() > 0);
  }
  // Acceptance was forced: an op that no prediction has.
  REQUIRE(ops.contains("verify/force_accepted"));
  CHECK(ops["verify/force_accepted"].at("predicted") == 0);
  CHECK(j.at("skipped").empty());
  CHECK(j.at("serving").empty());
  CHECK(contains(draftline.read("r.md"), "by events"));

  const Json engine = Json::parse(draftline.read("v/engine.json"));
  CHECK(engine.at("name") == "draftline");
  const auto us = [&](const char* key) {
    CHECK(engine.at(key).at("kind") == "measured");
    return std::stod(engine.at(key).at("value").get<std::string>()) / 1000;  // ns
  };
  CHECK(us("issue") == Approx(2));
  CHECK(us("graph_launch") == Approx(4));
  CHECK(us("sync") == Approx(8));
  CHECK(us("step") == Approx(2).epsilon(0.01));
  CHECK(us("record") == Approx(0.1).epsilon(0.01));
  CHECK(us("token") == Approx(0.05).epsilon(0.01));
  CHECK(Json::parse(draftline.read("v/device.json")).at("fits").at("gemm").at("kind") == "calibrated");

  const Json steps = Json::parse(draftline.read("v/steps.json"));
  CHECK(steps.at("device") == "cuda");
  CHECK(steps.at("source") == "draftline-probe");
  const std::string algorithms = draftline.read("v/algorithms.json");
  CHECK(Json::parse(algorithms).at("algorithms").at(0).at("products").size() > 5);
  const Ran again = draftline(kBatch);
  INFO(again.err);
  CHECK(again.code == 0);
  CHECK(contains(again.err, "3 of 3 cells are there already"));
  std::filesystem::remove(draftline.path("v/steps.json"));
  CHECK(draftline(kBatch).code == 0);  // measured anew, with the same algorithms
  CHECK(draftline.read("v/algorithms.json") == algorithms);
  draftline.write("v/algorithms.json", "{");
  CHECK(contains(draftline(kBatch).err, "v/algorithms.json"));
  draftline.write("v/algorithms.json", algorithms);
  const Ran other = draftline(kBatch + " --acceptance-rate 0.5");
  CHECK(other.code == 2);
  CHECK(contains(other.err, "other arguments"));
}

TEST_CASE("on a GPU steps that differ are replayed, and lossy verification stays what it is") {
  const Program draftline;
  draftline.write("m.json", measured());
  REQUIRE(draftline(kLoop + "--parts calibrate").code == 0);
  // The tiny network with methods of the standard grid: a grid of its own in a folder of data.
  const std::filesystem::path data = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
  std::filesystem::copy(data, draftline.path("data"), std::filesystem::copy_options::recursive);
  Json grid = Json::parse(draftline.read("data/validation/grid.json"));
  grid["devices"]["cuda"]["small"]["batch_sizes"] = {1};
  for (Json& m : grid["methods"]) m["from"] = m["from"] == "full" ? "full" : "small";
  draftline.write("data/validation/grid.json", grid.dump());
  const Ran r = draftline("--data data " + kLoop + "--turns 1 --time-budget 0.0001 --parts decode --json" +
                          " --methods bild,jacobi,prompt_lookup,assisted");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json j = Json::parse(r.out);
  std::set<std::string> measured;
  for (const Json& c : j.at("cells")) {
    INFO(c.dump());
    measured.insert(c.at("method"));
    check_compared(c);
    check_compared(c.at("step_time"));
  }
  for (const Json& c : j.at("skipped")) {  // whose steps differ in every turn
    CHECK(contains(c.at("because").get<std::string>(), "few were like one before"));
    measured.insert(c.at("method").at("name"));
  }
  CHECK(measured == std::set<std::string>{"assisted", "bild", "jacobi", "prompt_lookup"});
  CHECK(j.at("skipped").size() < 3);
  std::set<std::string> ops;
  for (const Json& op : j.at("ops")) ops.insert(op.at("op"));
  CHECK(ops.contains("commit/verify_relaxed"));
}

TEST_CASE("a GPU's live server stands beside the simulator, and what does not fit it is a row with its reason") {
  const Program draftline;
  draftline.write("m.json", measured());
  REQUIRE(draftline(kLoop + "--parts calibrate").code == 0);
  const std::filesystem::path data = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
  std::filesystem::copy(data, draftline.path("data"), std::filesystem::copy_options::recursive);
  Json network =
      Json::parse(draftline.read("data/validation/cpu-small.json"));  // smaller still: whole texts are served
  for (const auto& [key, value] : {std::pair{"hidden_size", 32},
                                   {"head_dim", 8},
                                   {"intermediate_size", 48},
                                   {"vocab_size", 64},
                                   {"num_hidden_layers", 3}})
    network[key] = value;
  draftline.write("data/validation/cpu-small.json", network.dump());
  const std::string served = "--data data " + kLoop + "--parts serving --turns 1 --acceptance-rate 1 --json ";
  const Ran r = draftline(served + "--requests 2 --serving-seconds 100000");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json all = Json::parse(r.out).at("serving");
  REQUIRE(all.size() == 4);
  for (const Json& s : all) {
    INFO(s.dump());
    for (const char* figure : {"throughput", "ttft_mean", "tpot_mean"}) check_compared(s.at(figure));
    CHECK(s.at("requests") == 2);
    CHECK(s.at("runs").get<int>() >= 1);
    CHECK(s.at("acceptance_length") == (s.at("method") == "eagle3" ? 4 : 1));  // forced: all drafts of each step
  }
  CHECK(all[3].at("method") == "eagle3");
  CHECK(all[3].at("batching") == "static");

  const Ran late = draftline(served + "--requests 2 --serving-seconds 0.1");
  INFO(late.err);
  REQUIRE(late.code == 0);
  const Json in_time = Json::parse(late.out).at("serving");
  CHECK(in_time[0].at("runs") == 1);
  for (const std::size_t i : {1U, 2U, 3U})
    CHECK(contains(in_time[i].at("skipped").get<std::string>(), "the time for live servers was over"));

  setenv("EMULATED_MEMORY", "34000000", 1);  // the products' workspace, and little more
  const Ran little = draftline(served + "--markdown r.md");
  unsetenv("EMULATED_MEMORY");
  INFO(little.err);
  REQUIRE(little.code == 0);
  const Json without_room = Json::parse(little.out).at("serving");
  for (const Json& s : without_room) {
    INFO(s.dump());
    CHECK(contains(s.at("skipped").get<std::string>(), "out of device memory"));
    CHECK_FALSE(s.contains("tpot_mean"));
  }
  CHECK(contains(draftline.read("r.md"), "Live servers that could not run"));
}

TEST_CASE("what does not fit a GPU is a row with its reason") {
  const Program draftline;
  draftline.write("m.json", measured());
  setenv("EMULATED_MEMORY", "40000000", 1);  // a decoder's workspace, and not another's
  const Ran r = draftline(kShort + " --json");
  unsetenv("EMULATED_MEMORY");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json j = Json::parse(r.out);
  CHECK(j.at("cells").empty());
  REQUIRE(j.at("skipped").size() == 3);
  for (const Json& c : j.at("skipped")) CHECK(contains(c.at("because").get<std::string>(), "out of device memory"));
}

TEST_CASE("a GPU that is not there, is lost, or is asked for what it has not, is told apart") {
  const Program draftline;
  draftline.write("m.json", measured());
  setenv("EMULATED_DEVICES", "0", 1);
  Ran r = draftline(kShort);
  unsetenv("EMULATED_DEVICES");
  CHECK(r.code == 3);
  CHECK(contains(r.err, "no CUDA device"));
  r = draftline("validate --grid small --measured m.json --out w");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "m.json#/device: is \"cuda\", not \"cpu\""));
  r = draftline("validate --device cuda --grid small --measured m.json --out w");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "--datasheet"));

  r.code = 0;  // how many calls a run makes depends on the time that choosing algorithms takes
  for (int call = 4000; call > 1000 && r.code == 0; call -= 1000) {
    std::filesystem::remove(draftline.path("v/steps.json"));
    setenv("EMULATED_FAULT", (std::to_string(call) + " 719").c_str(), 1);
    r = draftline(kShort);
    unsetenv("EMULATED_FAULT");
  }
  REQUIRE(r.code == 3);
  const std::size_t kept = Json::parse(draftline.read("v/steps.json")).at("cells").size();
  CHECK(kept < 3);
  r = draftline(kShort + " --json");
  REQUIRE(r.code == 0);
  CHECK(Json::parse(r.out).at("cells").size() == 3);
}
