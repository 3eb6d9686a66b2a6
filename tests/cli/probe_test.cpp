// SPDX-License-Identifier: Apache-2.0
// `probe` and `calibrate` as a user meets them, on the smallest grid of this machine's CPU.
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const std::string kProbe = "probe --grid small --seconds 0.5 --out m.json";

std::size_t files_in(const Program& draftline) {
  std::size_t n = 0;
  for (const auto& entry : std::filesystem::directory_iterator(draftline.path(".")))
    n += entry.path().filename() != "out" && entry.path().filename() != "err";
  return n;
}

void add_point(Json& m, const char* op, Json shape, double us) {
  const std::string t = std::to_string(us) + " us";
  m["points"].push_back({{"op", op},
                         {"shape", std::move(shape)},
                         {"median", t},
                         {"low", t},
                         {"high", t},
                         {"samples", 5},
                         {"discarded", 0}});
}

// Times of a CPU that does 1 ns a step and a byte: a measured file for those tests that need no machine.
Json made_up() {
  Json m{{"schema_version", 1},
         {"device", "cpu"},
         {"title", "a made-up CPU"},
         {"commit", "none"},
         {"source", "draftline-probe"},
         {"locator", "a test"},
         {"arguments", Json::array()},
         {"machine",
          {{"l1_cache", 32768}, {"l2_cache", 1048576}, {"last_level_cache", 8388608}, {"memory", 1e9}, {"cores", 1}}},
         {"points", Json::array()}};
  const auto add = [&](const char* op, Json shape, double us) { add_point(m, op, std::move(shape), us); };
  add("read", {{"kib", 65536}}, 6000);
  for (const int rows : {1, 2, 3, 4, 7})
    for (const int in : {64, 256, 500})
      for (const int out : {64, 320})
        add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", 1}}, 1e-4 * rows * in * out);
  for (const int rows : {1, 4})
    for (const int context : {10, 100, 400})
      for (const int heads : {2, 4})
        add("attention",
            {{"sequences", 1},
             {"rows", rows},
             {"context", context},
             {"heads", heads},
             {"kv_heads", 2},
             {"head_dim", 64},
             {"tree", 0}},
            0.2 * rows * context * heads);
  for (const int rows : {1, 5, 9})
    for (const int columns : {64, 256}) {
      for (const char* op : {"add", "silu_mul", "rms_norm", "argmax"})
        add(op, {{"rows", rows}, {"columns", columns}}, 1e-3 * rows * columns);
      add("rope_append", {{"rows", rows}, {"heads", columns / 32}, {"kv_heads", 2}, {"head_dim", 32}},
          1e-2 * rows * columns);
    }
  return m;
}

}  // namespace

TEST_CASE("a probe says what it measured and with what, and a calibration of it is a device that `run` takes") {
  const Program draftline;
  const Ran probe = draftline(kProbe);
  REQUIRE(probe.code == 0);
  CHECK(contains(probe.out, "m.json: "));
  const Json m = Json::parse(draftline.read("m.json"));
  CHECK(m.at("schema_version") == 1);
  CHECK(m.at("device") == "cpu");
  for (const char* key : {"title", "commit", "source", "locator"}) CHECK(!m.at(key).get<std::string>().empty());
  CHECK(m.at("model").get<std::string>().size() == 16);
  CHECK(m.at("input_files") == Json::object());  // shapes stand in the program
  CHECK(m.at("arguments").at(0) == "probe");
  CHECK(m.at("arguments").at(4) == "small");
  for (const char* key : {"l1_cache", "l2_cache", "last_level_cache", "memory", "cores"})
    CHECK(m.at("machine").at(key).get<double>() > 0);
  REQUIRE(m.at("points").size() > 30);
  for (const Json& p : m.at("points")) {
    if (p.contains("skipped")) continue;
    CHECK(p.at("samples").get<int>() >= 1);
    CHECK(p.at("median").get<std::string>().find(" us") != std::string::npos);
  }

  const Ran calibrate = draftline("calibrate m.json --out mine.json");
  INFO(calibrate.err);
  REQUIRE(calibrate.code == 0);
  for (const char* op : {"gemm", "attention", "add", "silu_mul", "rms_norm", "rope_append", "argmax"})
    CHECK(contains(calibrate.out, std::string("\n") + op));
  const Json d = Json::parse(draftline.read("mine.json"));
  const Json& fit = d.at("fits").at("cpu").at("gemm");
  CHECK(fit.at("kind") == "calibrated");
  CHECK(fit.at("locator") == "m.json");
  CHECK(fit.at("interval").at("low").get<double>() <= 1);
  CHECK(fit.at("covariance").at("step_4").size() == fit.at("covariance").size());
  draftline.write("s.json", R"({"device": "./mine.json", "transformer": "qwen2.5-0.5b", "engine": "draftline",
    "method": {"name": "autoregressive"}, "prompt_tokens": 16, "output_tokens": 8})");
  const Ran run = draftline("run s.json --json");
  REQUIRE(run.code == 0);
  const Json step = Json::parse(run.out).at("results").at(0).at("step_time");
  CHECK(step.at("value").get<double>() > 0);
  CHECK(step.at("low").get<double>() < step.at("value").get<double>());
  CHECK(step.at("high").get<double>() > step.at("value").get<double>());
}

TEST_CASE("a probe that was killed keeps its points, and goes on with the others") {
  const Program draftline;
  // The file appears with the first point; patience for the rest is longer than this test has.
  const Ran killed = draftline.killed_after("m.json", "probe --grid small --seconds 300 --out m.json");
  CHECK(killed.code == 137);
  const Json before = Json::parse(draftline.read("m.json"));
  REQUIRE(before.at("points").size() >= 1);
  const Ran resumed = draftline(kProbe);
  INFO(killed.err << resumed.err);
  REQUIRE(resumed.code == 0);
  const auto kept = std::to_string(before.at("points").size());
  CHECK(contains(resumed.err, "m.json: " + kept + " of "));
  CHECK(contains(resumed.err, " points are there already"));
  const Json after = Json::parse(draftline.read("m.json"));
  CHECK(after.at("points").size() > before.at("points").size());
  for (std::size_t i = 0; i < before.at("points").size(); ++i)
    CHECK(after.at("points").at(i) == before.at("points").at(i));
  const Ran nothing_left = draftline(kProbe);
  CHECK(nothing_left.code == 0);
  CHECK(Json::parse(draftline.read("m.json")).at("points") == after.at("points"));
}

TEST_CASE("points of another machine or commit are not mixed in, and the file stays as it is") {
  const Program draftline;
  const std::string other = made_up().dump();
  draftline.write("m.json", other);
  const Ran r = draftline(kProbe);
  CHECK(r.code == 2);
  CHECK(contains(r.err, "was measured on a made-up CPU; name another --out"));
  CHECK(draftline.read("m.json") == other);
}

TEST_CASE("without a GPU the CUDA probe says so in one line, and leaves no file") {
  const Program draftline;
  const Ran r = draftline("probe --device cuda --grid small --seconds 0.5 --out g.json");
  if (r.code == 0) SKIP_TEST("there is a GPU");
  INFO(r.err);
  CHECK(r.code == 3);
  CHECK(r.out.empty());
  CHECK(std::count(r.err.begin(), r.err.end(), '\n') == 1);
  CHECK(files_in(draftline) == 0);
}

TEST_CASE("a measured file of a GPU is calibrated against its datasheet") {
  const Program draftline;
  Json m = made_up();
  m["device"] = "cuda";
  m["machine"] = {{"l2_cache", 5e7}};
  m["points"] = Json::array();
  const auto add = [&](const char* op, Json shape, double us) { add_point(m, op, std::move(shape), us); };
  // 4 us, and 2 TB/s or 500 TFLOP/s, whatever takes longer.
  for (const int rows : {1, 16, 64, 256, 1024})
    for (const int in : {1024, 4096, 5120})
      for (const int out : {1024, 4096, 14336})
        add("gemm", {{"rows", rows}, {"in", in}, {"out", out}, {"copies", 20}},
            4 + std::max(2e-6 * in * out / 2, 2e-6 * rows * in * out / 500));
  for (const int sequences : {1, 16, 64})
    for (const int context : {1023, 4095, 16383})
      for (const int kv_heads : {4, 8, 32})
        for (const int rows : {1, 16}) {
          const double bytes = 512.0 * sequences * context * kv_heads;
          add("attention",
              {{"sequences", sequences},
               {"rows", rows},
               {"context", context},
               {"heads", 32},
               {"kv_heads", kv_heads},
               {"head_dim", 128},
               {"tree", 0}},
              5 + bytes / 2e6);
        }
  add("graph", {{"kernels", 4}}, 9);
  draftline.write("m.json", m.dump());
  const Ran no_sheet = draftline("calibrate m.json --out d.json");
  CHECK(no_sheet.code == 2);
  CHECK(contains(no_sheet.err, "--device"));
  const Ran of_cpu = draftline("calibrate m.json --device cpu --out d.json");
  CHECK(of_cpu.code == 2);
  CHECK(contains(of_cpu.err, "--device: cpu is a CPU, and m.json holds times of a GPU"));
  const Ran r = draftline("calibrate m.json --device h100-sxm --out d.json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json d = Json::parse(draftline.read("d.json"));
  CHECK(d.at("fits").at("gemm").at("source") == "draftline-probe");
  CHECK(d.at("fits").at("attention").at("kernels").at(0).at("decode").at("locator") == "m.json");
}

TEST_CASE("a made-up measured file is calibrated") {
  const Program draftline;
  draftline.write("m.json", made_up().dump());
  const Ran r = draftline("calibrate m.json --out d.json");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(Json::parse(draftline.read("d.json")).at("fits").contains("cpu"));
}

TEST_CASE("a GPU's measured file and a datasheet are a device that `run` takes") {
  Json m = made_up();
  m["device"] = "cuda";
  const Program draftline;
  draftline.write("m.json", m.dump());
  Ran r = draftline("calibrate m.json --out gpu.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "--device: kernel times say nothing of the datasheet"));
  CHECK(files_in(draftline) == 1);
  r = draftline("calibrate m.json --device h200 --out gpu.json");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "elementwise"));
  const Json device = Json::parse(draftline.read("gpu.json"));
  for (const char* op : {"gemm", "copy"}) CHECK(device.at("fits").at(op).at("locator") == "m.json");
  const Json attention = device.at("fits").at("attention").at("kernels").at(0);
  for (const char* regime : {"decode", "prefill"}) CHECK(attention.at(regime).at("locator") == "m.json");
  draftline.write("s.json", R"({"device": "gpu.json", "transformer": "llama-3.1-8b", "precision": "bf16",
    "engine": "draftline", "method": {"name": "autoregressive"}, "batch_size": 1, "prompt_tokens": 100, "output_tokens": 10})");
  r = draftline("run s.json");
  INFO(r.err);
  CHECK(r.code == 0);
}

TEST_CASE("steps beside a GPU become the engine of our decoder, which `run` takes") {
  Json m = made_up();
  m["device"] = "cuda";
  const auto add = [&](const char* op, Json shape, double us) { add_point(m, op, std::move(shape), us); };
  const Program draftline;
  std::erase_if(m["points"].get_ref<Json::array_t&>(), [](const Json& p) { return p.at("op") == "step_host"; });
  draftline.write("m.json", m.dump());
  Ran r = draftline("calibrate m.json --device h200 --out gpu.json --engine-out engine.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "m.json#/points: an engine needs three measured points of step_host"));
  CHECK(files_in(draftline) == 1);

  for (const int ops : {20, 60, 220})
    for (const int sequences : {1, 16, 64}) {
      const Json shape{{"layers", ops / 10}, {"sequences", sequences}, {"ops", ops}};
      add("step_host", shape, 3 + 0.05 * ops + 0.2 * sequences);
      for (const int graphs : {0, 1}) {
        Json with = shape;
        with["graphs"] = graphs;
        const double issue = graphs == 1 ? 5 : 4 + 2.0 * ops;
        add("step_issue", with, issue);
        add("step_exposed", with, 3 + 0.05 * ops + 0.2 * sequences + issue + 9);
      }
    }
  for (const int kib : {1, 16, 256, 4096}) add("all_reduce", {{"ranks", 2}, {"kib", kib}}, 7 + 0.01 * kib);
  for (const int rows : {2, 64, 128}) add("sample", {{"rows", rows}, {"columns", 32000}}, 40 + 1e-4 * rows * 32000);
  draftline.write("m.json", m.dump());
  r = draftline(
      "calibrate m.json --device h200 --out gpu.json --engine-out engine.json --compare h200 --compare-out c.csv");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "a graph 5.00 us"));
  CHECK(contains(r.out, "\nsample"));
  CHECK(contains(r.out, "A: this calibration, fitted to these points; B: h200"));
  CHECK(contains(r.out, "\nattention, verify"));
  CHECK(contains(draftline.read("c.csv"), "\nall_reduce,kib=256 ranks=2,9.5600e-06,9.5600e-06,"));
  const Json engine = Json::parse(draftline.read("engine.json"));
  CHECK(engine.at("sync").at("value") == "9000.0 ns");
  CHECK(engine.at("issue").at("value") == "2000.0 ns");
  CHECK(engine.at("record").at("value") == "50.000 ns");
  CHECK(engine.at("record").at("kind") == "measured");
  CHECK(engine.at("ops").contains("expert_mlp"));
  const Json device = Json::parse(draftline.read("gpu.json"));
  CHECK(device.at("links").at("tables").at(0).at("groups").at(0).at("points").size() == 4);
  CHECK(device.at("links").at("tables").at(0).at("source") == "draftline-probe");
  draftline.write("s.json", R"({"device": "gpu.json", "transformer": "llama-3.1-8b", "precision": "bf16",
    "engine": "./engine.json", "method": {"name": "autoregressive"}, "tensor_parallel": 2, "batch_size": 1,
    "prompt_tokens": 100, "output_tokens": 10})");
  r = draftline("run s.json");
  INFO(r.err);
  CHECK(r.code == 0);
}

TEST_CASE("two calibrations of sms are compared over a third's points") {
  const Program draftline;
  Json m = made_up();
  draftline.write("m.json", m.dump());
  REQUIRE(draftline("calibrate m.json --out a.json").code == 0);
  for (Json& p : m["points"])  // the same machine, all twice as slow
    for (const char* time : {"median", "low", "high"})
      p[time] = std::to_string(2 * std::stod(p.at(time).get<std::string>())) + " us";
  draftline.write("slow.json", m.dump());
  REQUIRE(draftline("calibrate slow.json --out b.json").code == 0);
  const Ran r = draftline("calibrate m.json --out again.json --compare a.json b.json --compare-out c.csv");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "A: a.json; B: b.json"));
  const std::string csv = draftline.read("c.csv");
  CHECK(contains(csv, "op,shape,measured_s,A: a.json,B: b.json"));
  double points = 0, ratio = 0;
  for (auto line = csv.find('\n') + 1; line < csv.size(); line = csv.find('\n', line) + 1, ++points) {
    const auto b = csv.rfind(',', csv.find('\n', line)), a = csv.rfind(',', b - 1);
    ratio += std::stod(csv.substr(b + 1)) / std::stod(csv.substr(a + 1));
  }
  CHECK(points > 40);
  CHECK(ratio / points == Approx(2).epsilon(0.05));

  const Ran other = draftline("calibrate m.json --compare h100-sxm");
  CHECK(other.code == 2);
  CHECK(contains(other.err, "was measured on a CPU, and h100-sxm is none"));
  CHECK(draftline("calibrate m.json --compare-out c.csv").code == 2);
}

TEST_CASE("hostile measured files are refused with the place and the reason, and nothing is written") {
  struct Case {
    const char *pointer, *value, *message;
  };
  const Case c =
      GENERATE(Case{"/points/1/median", "\"nan us\"", "m.json#/points/1/median: "},
               Case{"/points/1/median", "\"0 us\"", "m.json#/points/1/median: "},
               Case{"/points/1/low", "\"-3 us\"", "m.json#/points/1/low: "},
               Case{"/points/1/median", "\"1e400 us\"", "m.json#/points/1/median: "},
               Case{"/points/1/high", "\"5 MB\"", "m.json#/points/1/high: "},
               Case{"/points/1/median", "5", "m.json#/points/1/median: "},
               Case{"/points/1/shape/rows", "0", "m.json#/points/1/shape/rows: must be at least 1"},
               Case{"/points/1/shape/rows", "1e18", "m.json#/points/1/shape/rows: "},
               Case{"/points/1/shape", "{\"rows\": 1}", "m.json#/points/1/shape: missing key \"in\""},
               Case{"/points/1/samples", "0", "m.json#/points/1/samples: "},
               Case{"/points/2",
                    "{\"op\": \"gemm\", \"shape\": {\"rows\":1,\"in\":64,\"out\":64,\"copies\":1}, "
                    "\"skipped\": \"\"}",
                    "m.json#/points/2/skipped: must say why"},
               Case{"/points", "[]", "m.json#/points: a CPU device needs "},
               Case{"/machine/last_level_cache", "0", "m.json#/machine/last_level_cache: "},
               Case{"/machine", "{}", "m.json#/machine: missing key \"last_level_cache\""},
               Case{"/schema_version", "2", "m.json#/schema_version: "},
               Case{"/device", "\"fpga\"", "m.json#/device: "}, Case{"/pionts", "[]", "m.json#/pionts: unknown key"});
  Json m = made_up();
  m[Json::json_pointer(c.pointer)] = Json::parse(c.value);
  const Program draftline;
  draftline.write("m.json", m.dump());
  const Ran r = draftline("calibrate m.json --out d.json");
  INFO(c.pointer << " " << c.value << ": " << r.err);
  CHECK(r.code == 2);
  CHECK(r.out.empty());
  CHECK(contains(r.err, c.message));
  CHECK(!contains(r.err, "bug"));
  CHECK(files_in(draftline) == 1);
}

TEST_CASE("a shape that was measured twice, and a file that breaks off, are refused too") {
  const Program draftline;
  Json twice = made_up();
  twice["points"].push_back(twice["points"][3]);
  draftline.write("m.json", twice.dump());
  Ran r = draftline("calibrate m.json --out d.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "#/points/" + std::to_string(twice["points"].size() - 1) + ": this shape was measured before"));
  const std::string whole = made_up().dump(1);
  for (const double share : {0.0, 0.3, 0.99}) {
    draftline.write("m.json", whole.substr(0, static_cast<std::size_t>(share * static_cast<double>(whole.size()))));
    r = draftline("calibrate m.json --out d.json");
    INFO(r.err);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(contains(r.err, "m.json"));
    if (share > 0) CHECK(contains(r.err, "line "));
    CHECK(files_in(draftline) == 1);
  }
}

}  // namespace draftline
