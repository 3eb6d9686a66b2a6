// SPDX-License-Identifier: Apache-2.0
// The devices that are shipped, calibrated again by the same command from the tables they name, where the reference
// data are at hand: every coefficient and every time of a link is the shipped one. docs/explanation/accuracy.md has
// what takes longer.
#include <algorithm>

#include "model/calibration/calibrated_files.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/model/calibration/heldout.h"

using namespace draftline;

namespace {

namespace fs = std::filesystem;

const fs::path kData = fs::path(DRAFTLINE_SOURCE_DIR) / "data";

OrderedJson shipped(const std::string& device) {
  return read_file(kData / "devices" / (device + ".json"), [](const Reader& in) { return OrderedJson(in.json()); });
}

CalibrationInput input(const fs::path& tables, const std::string& device) {
  CalibrationInput o;
  o.measured = tables;
  o.data = kData;
  o.device = device;
  o.source = "aiconfigurator";
  o.locator = "again";
  return o;
}

// What is fitted of a block: not its certificate.
nlohmann::json coefficients(const OrderedJson& block) {
  nlohmann::json values;  // in whatever order a file has them
  for (const auto& [key, value] : block.items())
    if (key != "kind" && key != "source" && key != "locator" && key != "interval" && key != "covariance")
      values[key] = value.dump();
  return values;
}

// In whatever order a file has its ends; null: there is none.
nlohmann::json interval_of(const OrderedJson& table) {
  return table.contains("interval") ? nlohmann::json::parse(table.at("interval").dump()) : nlohmann::json();
}

std::string call_of(const OrderedJson& table) {
  return table.at("library").get<std::string>() + " " + table.at("collective").get<std::string>();
}

}  // namespace

TEST_CASE("links calibrated from their tables are the shipped ones, point by point") {
  const auto [device, folder, tables, points] =
      GENERATE(table<std::string, std::string, int, int>({{"a100-sxm", "a100_sxm", 6, 297},
                                                          {"h100-sxm", "h100_sxm", 7, 308},
                                                          {"h200", "h200_sxm", 7, 308},
                                                          {"b200", "b200_sxm", 7, 306}}));
  const FreshFolder copy;
  for (const char* name : {"nccl.csv.gz", "custom_allreduce.csv.gz"}) {
    const fs::path file = heldout::table_of(folder, name);
    if (const auto why = heldout::missing(file); !why.empty()) SKIP_TEST(why);
    fs::copy(file, copy.path() / name);
  }
  const CalibratedDevice r = calibrated_from_tables(input(copy.path(), device));
  const OrderedJson before = shipped(device).at("links");
  CHECK(r.device.at("links").at("switched") == before.at("switched"));
  int refitted = 0, same = 0;
  for (const OrderedJson& table : r.device.at("links").at("tables")) {
    if (table.at("locator") != "again") continue;
    ++refitted;
    const auto known = std::find_if(before.at("tables").begin(), before.at("tables").end(), [&](const OrderedJson& t) {
      return call_of(t) == call_of(table) && t.at("kind") == "measured";
    });
    REQUIRE(known != before.at("tables").end());
    INFO(device << " " << call_of(table));
    CHECK(interval_of(table) == interval_of(*known));
    REQUIRE(table.at("groups").size() == known->at("groups").size());
    for (std::size_t g = 0; g < table.at("groups").size(); ++g) {
      const OrderedJson &ours = table.at("groups").at(g), &theirs = known->at("groups").at(g);
      CHECK(ours.at("ranks") == theirs.at("ranks"));
      REQUIRE(ours.at("points").size() == theirs.at("points").size());
      for (std::size_t p = 0; p < ours.at("points").size(); ++p) {
        CHECK(ours.at("points").at(p).at("message") == theirs.at("points").at(p).at("message"));
        const auto us = [](const OrderedJson& point) { return std::stod(point.at("time").get<std::string>()); };
        CHECK(us(ours.at("points").at(p)) == us(theirs.at("points").at(p)));
        ++same;
      }
    }
  }
  CHECK(refitted == tables);
  CHECK(same == points);
}

TEST_CASE("the RTX 4090 calibrated from its step tables has the shipped coefficients") {
  const fs::path steps = fs::path(DRAFTLINE_REFERENCE_DATA) / "serving/rtx4090_llama31_8b_vllm/step_tables";
  if (const auto why = heldout::obstacle(steps / "dense.csv"); !why.empty()) SKIP_TEST(why);
  CalibrationInput o = input(steps, "rtx-4090");
  o.transformer = "llama-3.1-8b";
  const CalibratedDevice r = calibrated_from_tables(o);
  const OrderedJson before = shipped("rtx-4090").at("fits"), &after = r.device.at("fits");
  CHECK(coefficients(after.at("gemm")).size() == 12);
  CHECK(coefficients(after.at("gemm")) == coefficients(before.at("gemm")));
  const OrderedJson &ours = after.at("attention").at("kernels").at(0),
                    &theirs = before.at("attention").at("kernels").at(0);
  CHECK(ours.at("library") == theirs.at("library"));
  for (const char* use : {"decode", "prefill"}) CHECK(coefficients(ours.at(use)) == coefficients(theirs.at(use)));
  CHECK(coefficients(after.at("copy")) == coefficients(before.at("copy")));  // not measured
}
