// SPDX-License-Identifier: Apache-2.0
// Which cells are measured, how often, and what is kept: on a device that has no memory for any of them.
#include "measure/decode_grid.h"

#include "core/errors.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

using namespace draftline;
using namespace draftline::measure;

namespace {

class FullDevice : public ValidationDevice {
 public:
  std::string title() const override { return "full"; }
  DType format() const override { return DType::fp32; }
  Pair decodings(const GridCell& c) override {
    measured.push_back(c.batch_size);
    if (c.batch_size == fails_at) throw DeviceError("lost");
    if (c.batch_size == wrong_at) raise_bug("a cell that goes wrong");
    throw OutOfDeviceMemory("no room");
  }
  std::unique_ptr<Decoding> server(const std::string&, const MethodSpec&, int, int) override { return {}; }
  void forget() override {}
  std::vector<int> measured;
  int fails_at = 0, wrong_at = 0;  // batch sizes
};

GridAsked three_cells(const FreshFolder& folder, const std::string& device) {
  GridAsked asked;
  asked.file = folder.path() / "steps.json";
  asked.device = device;
  asked.arguments = {"validate"};
  for (const int batch : {1, 2, 4}) asked.cells.push_back({"cpu-small", {}, batch, 64});
  return asked;
}

}  // namespace

TEST_CASE("cells that co-runners disturbed are measured once more at the end, and kept once") {
  const FreshFolder folder;
  const std::filesystem::path data = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";
  const Networks networks(data);
  Validation unused({}, {}, networks.all(), networks.find(), {.rate = 0.7});
  FullDevice device;
  GridAsked asked = three_cells(folder, "cpu");
  ClockReference::Readings so_far;
  CoreMonitor core(
      [&](int more) {
        const auto n = static_cast<std::size_t>(more);
        so_far.all += n;
        so_far.free += n;
        if (more == 0 && device.measured.size() == 2) so_far.all += 10;  // co-runners come with the second
        return so_far;
      },
      Seconds{1});
  const GridSteps grid = decode_grid(asked, device, unused, core);
  CHECK(device.measured == std::vector<int>{1, 2, 4, 2});
  CHECK(grid.whole);
  CHECK(grid.left_out == 0);
  REQUIRE(grid.steps.cells.size() == 3);
  CHECK(grid.steps.cells.back().batch_size == 2);
  CHECK(grid.steps.cells.back().skipped == "no room");
  // What is in the file is not measured again.
  asked.cells.push_back({"cpu-small", {}, 8, 64});
  CHECK(decode_grid(asked, device, unused, core).steps.cells.size() == 4);
  CHECK(device.measured == std::vector<int>{1, 2, 4, 2, 8});
}

TEST_CASE("a cell at which the device failed is tried last by the next run, and the file says so") {
  const FreshFolder folder;
  const Networks networks(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data");
  Validation unused({}, {}, networks.all(), networks.find(), {.rate = 0.7});
  FullDevice device;
  const GridAsked asked = three_cells(folder, "cuda");
  CoreMonitor core({}, {});
  device.fails_at = 2;
  CHECK_THROWS_AS(decode_grid(asked, device, unused, core), DeviceError);
  const MeasuredCell failed = read_file(asked.file, read_measured_steps).cells.back();
  CHECK(failed.device_failed);
  CHECK(failed.skipped == "lost");
  device.fails_at = 0;
  const GridSteps grid = decode_grid(asked, device, unused, core);
  CHECK(device.measured == std::vector<int>{1, 2, 4, 2});
  REQUIRE(grid.steps.cells.size() == 3);
  for (const MeasuredCell& c : grid.steps.cells) CHECK_FALSE(c.device_failed);
}

TEST_CASE("a bug in one cell leaves that cell out, with its reason, and no other") {
  const FreshFolder folder;
  const Networks networks(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data");
  Validation unused({}, {}, networks.all(), networks.find(), {.rate = 0.7});
  FullDevice device;
  device.wrong_at = 2;
  const GridAsked asked = three_cells(folder, "cpu");
  CoreMonitor core({}, {});
  const GridSteps grid = decode_grid(asked, device, unused, core);
  CHECK(device.measured == std::vector<int>{1, 2, 4});
  REQUIRE(grid.steps.cells.size() == 3);
  CHECK(grid.steps.cells[1].skipped.find("a cell that goes wrong") != std::string::npos);
  CHECK_FALSE(grid.steps.cells[1].device_failed);
}
