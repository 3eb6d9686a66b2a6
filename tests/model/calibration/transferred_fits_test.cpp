// SPDX-License-Identifier: Apache-2.0
// A GPU's datasheet alone is enough to be calibrated; what it borrows by name is found wherever its file lies.
#include "model/calibration/transferred_fits.h"

#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

const std::filesystem::path kShippedData = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
const std::filesystem::path kShipped = kShippedData / "devices";

std::string datasheet(const std::string& more) {
  return R"({"title": "mine", "datasheet": [{"kind": "quoted", "source": "v", "locator": "l",
    "peak": {"fp32": "90 TFLOP/s", "bf16": "360 TFLOP/s", "fp16": "360 TFLOP/s"}, "bandwidth": "900 GB/s",
    "memory": "48 GB", "l2": "96 MB", "multiprocessors": 140}])" +
         more + "}";
}

// Sums alone, which fit nothing: quick to calibrate.
CalibratedDevice calibrated(const std::filesystem::path& folder, const std::string& device) {
  std::filesystem::create_directories(folder / "tables");
  write_text_file(folder / "tables/nccl.csv",
                  "op_name,nccl_dtype,num_gpus,message_size,latency\nall_reduce,half,2,512,0.02\n"
                  "all_reduce,half,2,1024,0.03\nall_reduce,half,4,1024,0.04\n");
  CalibrationInput o;
  o.measured = folder / "tables";
  o.data = kShippedData;
  o.device = device;
  o.source = "own-tables";
  o.locator = "here";
  return calibrated_from_tables(o);
}

Device read_back(const CalibratedDevice& r) {
  const Document d = Document::from_text(text_of(r.device), "written.json");
  return read_whole(d, [](const Reader& in) { return read_device(in); });  // without any relative in reach
}

}  // namespace

TEST_CASE("a datasheet alone is calibrated; the nearest shipped device stands in for what was not measured") {
  const FreshFolder folder;
  write_text_file(folder.path() / "mine.json", datasheet(""));
  const DatasheetFile read = read_datasheet_file(folder.path() / "mine.json", kShipped);
  CHECK(read.transferred == std::vector<std::string>{"gemm", "attention", "copy"});
  CHECK(read.relative == "l40s");  // 864 GB/s and 362 TFLOP/s
  CHECK(read.device.gpu().gemm.origin.borrowed_from == "l40s");

  const CalibratedDevice r = calibrated(folder.path(), (folder.path() / "mine.json").string());
  REQUIRE(r.transferred.size() == 3);
  CHECK(contains(r.transferred[0], "gemm: not measured, and no fit of "));
  CHECK(contains(r.transferred[0], "that of l40s stands in"));
  const Device d = read_back(r);
  CHECK(d.links.connects(4));
  const OrderedJson& gemm = r.device.at("fits").at("gemm");
  CHECK(contains(gemm.at("because").get<std::string>(), "of l40s: not measured"));
  CHECK(contains(d.gpu().attention.fits.at(0).decode.origin.because, "of l40s: not measured"));
  CHECK_FALSE(gemm.contains("interval"));  // nobody knows the error of a relative's fit
  CHECK_FALSE(r.device.at("fits").at("attention").at("kernels").at(0).at("decode").contains("interval"));
}

TEST_CASE("fits that are borrowed by name are found for a file in any folder, beside it first") {
  const FreshFolder folder;
  std::filesystem::create_directories(folder.path() / "cards");
  const auto borrowed = [](const std::string& from) {
    std::string fits;
    for (const char* key : {"gemm", "attention", "copy"})
      fits += std::string(fits.empty() ? "" : ", ") + "\"" + key + "\": {\"borrowed_from\": \"" + from +
              "\", \"because\": \"why\"}";
    return ", \"fits\": {" + fits + "}";
  };
  // mine borrows from a card beside it, which borrows from one that is shipped.
  write_text_file(folder.path() / "cards/other.json", datasheet(borrowed("h200")));
  write_text_file(folder.path() / "cards/mine.json",
                  datasheet(borrowed("other") + R"(, "links": {"borrowed_from": "h100-sxm", "because": "as fast"})"));
  write_text_file(folder.path() / "cards/told.json",
                  datasheet(borrowed("other") + R"(, "links": {"borrowed_from": "h100-sxm", "because": "as fast",
                    "switched": false, "compute_capability": "8.9"})"));
  const CalibratedDevice r = calibrated(folder.path(), (folder.path() / "cards/mine.json").string());
  CHECK(r.transferred.empty());
  CHECK(r.device.at("fits").at("gemm").at("because") == "of other: why; of h200: why");
  const Device h200 = device_of(kShipped / "h200.json", kShipped);
  CHECK(read_back(r).gpu().gemm.bandwidth_share == h200.gpu().gemm.bandwidth_share);
  CHECK(read_back(r).links.tables.back().origin.because == "of h100-sxm: as fast");
  CHECK(read_back(r).links.switched);
  CHECK(read_back(r).links.compute_capability.empty());  // nobody said what mine is
  const Links told = read_back(calibrated(folder.path(), (folder.path() / "cards/told.json").string())).links;
  CHECK(told.tables.back().origin.because == "of h100-sxm: as fast");
  CHECK_FALSE(told.switched);
  CHECK(told.compute_capability == "8.9");
  CHECK(r.input_files.contains(folder.path() / "cards/other.json"));
}

TEST_CASE("mistakes of a datasheet alone are those of its own file") {
  const FreshFolder folder;
  const auto file = folder.path() / "mine.json";
  write_text_file(file, datasheet(R"(, "fit": {}, "links": {"switchd": true})"));
  const std::string mistake = mistake_of([&] { read_datasheet_file(file, kShipped); });
  CHECK(contains(mistake, "mine.json#/fit: unknown key"));
  CHECK(contains(mistake, "mine.json#/links"));
  write_text_file(file, "[1]");
  CHECK(contains(mistake_of([&] { read_datasheet_file(file, kShipped); }), "mine.json#"));
  write_text_file(file, datasheet(R"(, "fits": 7)"));
  CHECK(contains(mistake_of([&] { read_datasheet_file(file, kShipped); }), "mine.json#/fits"));
}

TEST_CASE("measured links take the place of known ones of as many ranks, and no others") {
  const FreshFolder folder;
  const CalibratedDevice r = calibrated(folder.path(), "h100-sxm");
  CHECK(r.device.at("links").at("switched") == true);
  const OrderedJson& tables = r.device.at("links").at("tables");
  CHECK(tables.at(0).at("source") == "own-tables");
  CHECK(tables.at(0).at("kind") == "measured");
  CHECK(tables.at(0).at("groups").size() == 2);
  CHECK(tables.at(0).at("groups").at(0).at("points").at(0) ==
        OrderedJson{{"message", "1024 B"}, {"time", "20.0000 us"}});
  CHECK(tables.at(1).at("library") == "nccl");  // of 8, as it was
  CHECK(tables.at(1).at("source") == "aiconfigurator");
  CHECK(tables.at(1).at("groups").size() == 1);
  CHECK(tables.at(2).at("collective") == "all_gather");
  const Device before = device_of(kShipped / "h100-sxm.json", kShipped), after = read_back(r);
  const auto time = [](const Device& d, const char* library, Collective c, int ranks) {
    return d.links.find(library, c, ranks)->time(ranks, Bytes{1024});
  };
  CHECK(time(after, "nccl", Collective::all_reduce, 2).value == Approx(20e-6));
  CHECK(time(after, "nccl", Collective::all_reduce, 4).value == Approx(40e-6));
  CHECK(time(after, "nccl", Collective::all_reduce, 8) == time(before, "nccl", Collective::all_reduce, 8));
  CHECK(time(after, "nccl", Collective::all_gather, 2) == time(before, "nccl", Collective::all_gather, 2));
  CHECK(time(after, "one_shot", Collective::all_reduce, 4) == time(before, "one_shot", Collective::all_reduce, 4));
}
