// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/memory_drift.h"

#include "model/devices/device.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

MeasuredPoint reading(int kib, double seconds) {
  MeasuredPoint p{.op = "memory_reference", .shape = {{"kib", kib}}};
  p.low = p.median = p.high = Seconds{seconds};
  return p;
}

}  // namespace

TEST_CASE("the larger of a file's two memory references is that of memory; a file without both has none") {
  Measured m;
  CHECK_FALSE(memory_times(m));
  m.points = {reading(54000, 5e-3)};
  CHECK_FALSE(memory_times(m));
  m.points.push_back(reading(6000, 3e-4));
  REQUIRE(memory_times(m));
  CHECK(memory_times(m)->llc == Seconds{3e-4});
  CHECK(memory_times(m)->memory == Seconds{5e-3});
  const MemoryDrift d = drift({Seconds{6e-4}, Seconds{4e-3}}, *memory_times(m));
  CHECK(d.llc == Approx(2));
  CHECK(d.memory == Approx(0.8));
  CHECK(mean(*memory_times(m), {Seconds{5e-4}, Seconds{}}).llc.value == Approx(4e-4));
  m.points.back().skipped = "no room";
  CHECK_FALSE(memory_times(m));
}

TEST_CASE("a burst in one reading is not taken for the machine's speed, a lasting change is") {
  std::vector<MemoryTimes> read;
  for (const double memory : {2.0, 2.2, 60.0, 2.1, 2.0, 2.3, 4.0, 4.2, 4.1})
    read.push_back({Seconds{1}, Seconds{memory}});
  const auto steady = without_bursts(read);
  REQUIRE(steady.size() == read.size());
  CHECK(steady[0].memory == Seconds{2.2});
  CHECK(steady[2].memory == Seconds{2.1});
  CHECK(steady[3].memory == Seconds{2.2});
  CHECK(steady[8].memory == Seconds{4.1});
  CHECK(steady[2].llc == Seconds{1});
  CHECK(without_bursts({}).empty());
}

TEST_CASE("a drifted machine pays more for a byte of that level alone") {
  const auto device = read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data" / "devices" / "cpu.json",
                                [](const Reader& in) { return read_device(in); });
  const CpuModel& before = *device.cpu();
  const CpuModel after = drifted(before, {2, 3});
  CHECK(after.gemm.reach.byte[0] == before.gemm.reach.byte[0]);
  CHECK(after.gemm.reach.byte[1] == 2 * before.gemm.reach.byte[1]);
  CHECK(after.attention.reach.byte[2] == 3 * before.attention.reach.byte[2]);
  CHECK(after.elements.lines.byte[2] == 3 * before.elements.lines.byte[2]);
  CHECK(after.attention.llc_start == 2 * before.attention.llc_start);
  CHECK(after.gemm.step == before.gemm.step);
  CHECK(drifted(before, {}).gemm.reach.byte == before.gemm.reach.byte);
}
