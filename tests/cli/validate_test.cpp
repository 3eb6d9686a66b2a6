// SPDX-License-Identifier: Apache-2.0
// `validate` as a user meets it: the closed loop on this machine in its short form, which prints its figures. Limits
// are such that a busy machine keeps them; docs/explanation/accuracy.md has what a quiet one reaches.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>

#include "core/text_file.h"
#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const std::string kShort =
    "validate --grid small --probe-seconds 1 --turns 3 --time-budget 0.004 --requests 12 --batch-sizes 1,4 --out v";

// Under a sanitizer, or without an optimizer, there is no price that could hold.
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
constexpr bool kJudged = true;
#else
constexpr bool kJudged = false;
#endif

void check_compared(const Json& c) {
  CHECK(c.at("predicted").get<double>() > 0);
  CHECK(c.at("measured").get<double>() > 0);
  CHECK(c.at("error").get<double>() ==
        Approx(c.at("predicted").get<double>() / c.at("measured").get<double>() - 1).margin(1e-12));
  CHECK(c.at("noise").get<double>() >= 0);
}

struct Errors {
  double speedup, step, served;
  bool hold() const { return speedup < 0.5 && step < 0.5 && served < 1; }
};
Errors errors_of(const Json& j) {
  Errors e{j.at("summary").at("median_abs_error"), j.at("step_summary").at("median_abs_error"), 0};
  std::cout << "closed loop: speedup off by " << e.speedup << " in the median, step time by " << e.step << "; served:";
  for (const Json& s : j.at("serving")) {
    const double error = s.at("tpot_mean").at("error");
    std::cout << " " << s.at("batching").get<std::string>() << " " << s.at("method").get<std::string>() << " " << error;
    e.served = std::max(e.served, std::abs(error));
  }
  std::cout << "\n";
  return e;
}

}  // namespace

TEST_CASE("steps that were measured on an H100 are predicted anew, without a GPU") {
  const Program draftline;
  const std::string measured = kData + "/measured/h100-sxm";
  const std::string loop = "validate --device cuda --datasheet h100-sxm --measured " + measured + ".json --out v ";
  const Ran r = draftline(loop + "--steps " + measured + "-steps.json --json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json j = Json::parse(r.out);
  CHECK(j.at("title") == "NVIDIA H100 80GB HBM3, measured with 9934905a");
  CHECK(j.at("cells").size() == 262);
  for (const Json& c : j.at("cells")) check_compared(c);
  CHECK(j.at("serving").empty());
  // docs/explanation/accuracy.md says how well they are met; the aims are 3 % and 8 %.
  CHECK(j.at("summary").at("median_abs_error").get<double>() < 0.035);
  CHECK(j.at("summary").at("p90_abs_error").get<double>() < 0.08);
  CHECK(j.at("plain_step_summary").at("median_abs_error").get<double>() < 0.02);

  // Of another device's steps, or of a network that the grid doesn't have, there is nothing to compare.
  const Ran cpu = draftline("validate --measured " + measured + ".json --out v --steps " + measured + "-steps.json");
  CHECK(cpu.code == 2);
  CHECK(contains(cpu.err, "#/device: is cuda, but --device is cpu"));
  Json other = Json::parse(read_text_file(measured + "-steps.json"));
  other.at("cells").at(0).at("transformer") = "gpt-5";
  draftline.write("other.json", other.dump());
  const Ran unknown = draftline(loop + "--steps other.json");
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "#/cells/0/transformer: \"gpt-5\" is not a network of data/validation/grid.json"));
  other.at("cells").at(0).at("transformer") = "llama-3.1-8b";
  other.at("arguments").back() = "often";
  draftline.write("other.json", other.dump());
  CHECK(contains(draftline(loop + "--steps other.json").err, "#/arguments: --acceptance-rate is not a rate"));
  other.at("arguments").back() = "";
  draftline.write("other.json", other.dump());
  CHECK(contains(draftline(loop + "--steps other.json").err, "#/arguments: --acceptance-rate is not a rate"));
  other.at("arguments") = {"validate"};
  draftline.write("other.json", other.dump());
  CHECK(contains(draftline(loop + "--steps other.json").err, "#/arguments: have no --acceptance-rate with its rate"));

  const std::string steps = "--steps " + measured + "-steps.json";
  CHECK(contains(draftline(loop + steps + " --acceptance-rate 0.5").err, "these steps were measured with 0.700000"));
  CHECK(contains(draftline(loop + steps + " --parts decode").err, "--steps: can't be combined with --parts"));
  CHECK(contains(draftline("validate --device cuda --datasheet h100-sxm --out w " + steps).err, "--measured FILE"));
  CHECK(contains(draftline("validate --device cuda --measured " + measured + ".json --out w " + steps).err,
                 "--datasheet"));
}

TEST_CASE("the closed loop holds on this machine: probed, calibrated, decoded, predicted") {
  const Program draftline;
  const Ran r = draftline(kShort + " --json --markdown r.md --html r.html");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json j = Json::parse(r.out);
  CHECK(j.at("schema_version") == 1);
  CHECK(j.at("device") == "cpu");
  CHECK(!j.at("commit").get<std::string>().empty());
  CHECK(j.at("model").get<std::string>().size() == 16);
  const Json files = j.at("input_files");
  for (const char* file : {"data/validation/grid.json", "data/validation/cpu-small.json"}) CHECK(files.contains(file));
  for (const char* file : {"measured.json", "device.json", "engine.json", "steps.json"})
    CHECK(std::any_of(files.items().begin(), files.items().end(),
                      [&](const auto& named) { return named.key().ends_with(file); }));
  REQUIRE(j.at("cells").size() == 6);
  for (const Json& c : j.at("cells")) {
    CHECK(c.at("transformer") == "cpu-small");
    for (const char* key : {"method", "batch_size", "draft_length", "context", "low", "high", "acceptance_length"})
      CHECK(c.contains(key));
    check_compared(c);
    check_compared(c.at("step_time"));
    check_compared(c.at("plain_step_time"));
  }
  REQUIRE(j.at("ops").size() > 5);
  double share = 0;
  for (const Json& op : j.at("ops")) share += op.at("share").get<double>();
  CHECK(share == Approx(1).margin(1e-9));  // the host takes what the ops leave
  CHECK(j.at("error_budget").size() > 5);
  REQUIRE(j.at("serving").size() == 4);
  for (const Json& s : j.at("serving"))
    for (const char* figure : {"throughput", "ttft_mean", "tpot_mean"}) check_compared(s.at(figure));
  for (const char* summary : {"summary", "step_summary"})
    for (const char* key : {"median_abs_error", "p90_abs_error", "max_abs_error"})
      CHECK(j.at(summary).at(key).get<double>() >= 0);

  // A grid of a tenth, a second of probing, other tests before and after: an order of magnitude above a quiet
  // machine's. A core whose twin others use is 1.7 times slower, and if they begin between probing and decoding, that
  // is the error: of three runs one must hold.
  Errors e = errors_of(j);
  for (int again = 0; kJudged && again < 2 && !e.hold(); ++again) {
    const Program another;
    const Ran one = another(kShort + " --json");
    INFO(one.err);
    REQUIRE(one.code == 0);
    e = errors_of(Json::parse(one.out));
  }
  if (kJudged) CHECK(e.hold());
  CHECK(contains(draftline.read("r.md"), "Error budget"));
  CHECK(contains(draftline.read("r.html"), ">Error budget"));

  // What was measured is kept: the same command measures no step again, and asked for one part it does one.
  const Ran again = draftline(kShort + " --parts decode");
  INFO(again.err);
  REQUIRE(again.code == 0);
  CHECK(contains(again.err, "6 of 6 cells are there already"));
  for (const char* title : {"Predicted against measured", "All cells", "Ops, timed inside"})
    CHECK(contains(again.out, title));

  // Steps are normalised to the clock that was probed; that of another machine is refused.
  Json probed = Json::parse(draftline.read("v/measured.json"));
  Json& clock = probed.at("points").back();
  REQUIRE(clock.at("op") == "clock_reference");
  for (const char* time : {"low", "median", "high"}) clock[time] = "3 ms";
  draftline.write("v/measured.json", probed.dump());
  const Ran elsewhere = draftline(kShort + " --parts decode");
  CHECK(elsewhere.code == 2);
  CHECK(contains(elsewhere.err, "from another machine"));
}

TEST_CASE("wrong arguments of validate are refused with a reason, and nothing is measured") {
  const Program draftline;
  struct Case {
    const char *arguments, *message;
  };
  const Case c = GENERATE(
      Case{"--device fpga", "fpga"}, Case{"--parts guess", "guess"}, Case{"--turns 0", "0"},
      Case{"--time-budget nan", "nan"}, Case{"--seconds -1", "-1"}, Case{"--acceptance-rate 1.5", "1.5"},
      Case{"--batch-sizes 0", "0"}, Case{"--batch-sizes 1,x", "x"}, Case{"--networks gpt-9", "gpt-9"},
      Case{"--methods eagel3", "no cell of the small grid of cpu has \"eagel3\"; did you mean \"eagle3\"?"},
      Case{"--batch-sizes 3,4", "--batch-sizes: no cell of the small grid of cpu has 3"},
      Case{"--full --batch-sizes 64 --methods eagle3,nothing", "no cell of the full grid of cpu has \"nothing\""},
      Case{"--serving-seconds nan", "nan"}, Case{"--measured nowhere.json", "nowhere.json"},
      Case{"--grid huge", "huge"}, Case{"--requests 1", "1"}, Case{"--device cuda", "--datasheet"});
  const Ran r = draftline(std::string("validate --grid small --probe-seconds 1 ") + c.arguments);
  INFO(c.arguments << ": " << r.err);
  CHECK(r.code == 2);
  CHECK(contains(r.err, c.message));
  CHECK(r.out.empty());
}

TEST_CASE("--patience, the former name of --time-budget, still works and says so") {
  const Program draftline;
  const Ran r = draftline("validate --grid small --patience 0.004 --networks gpt-9");
  INFO(r.err);
  CHECK(contains(r.err, "--patience is now called --time-budget"));
  CHECK(contains(r.err, "gpt-9"));
  CHECK(draftline("validate --patience 1e9").code == 2);
}

TEST_CASE("the standard grid of either device has every method of the table") {
  const Program draftline;
  std::set<std::string> known, in_grid;
  for (const Json& m : Json::parse(draftline("list methods --json").out)) known.insert(m.at("name"));
  REQUIRE(known.size() > 20);
  std::ifstream file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/validation/grid.json");
  const Json grid = Json::parse(file);
  for (const Json& m : grid.at("methods"))
    if (m.at("from") != "full") in_grid.insert(m.at("method").at("name"));
  in_grid.insert("autoregressive");  // the other half of each cell
  CHECK(in_grid == known);
  for (const char* device : {"cpu", "cuda"})
    for (const char* kind : {"standard", "full"}) {
      const Json& g = grid.at("devices").at(device).at(kind);
      CHECK(g.at("networks").size() == 2);
      CHECK(g.value("variants", g).at("batch_sizes").size() >= 2);
    }
}

TEST_CASE("files that validate finds in its folder are not trusted") {
  const Program draftline;
  draftline.write("m.json", "{\"schema_version\": 1");
  Ran r = draftline("validate --measured m.json --out v");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "m.json"));
  r = draftline("validate --parts decode --out w");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "device.json: no such file; the part \"calibrate\" writes it"));
}

}  // namespace draftline
