// SPDX-License-Identifier: Apache-2.0
#include "model/memory_drift.h"

#include "model/cpu_fit.h"
#include "model/device.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

MeasuredPoint reading(int kib, double seconds) {
  MeasuredPoint p{.op = "memory_reference", .shape = {{"kib", kib}}};
  p.low = p.median = p.high = Seconds{seconds};
  return p;
}

}  // namespace

TEST_CASE("the largest of a file's memory references is that of memory; a file with one has none") {
  Measured m;
  CHECK_FALSE(memory_times(m));
  m.points = {reading(54000, 5e-3)};
  CHECK_FALSE(memory_times(m));
  m.points.push_back(reading(6000, 3e-4));
  REQUIRE(memory_times(m));
  CHECK(memory_times(m)->llc == Seconds{3e-4});
  CHECK(memory_times(m)->memory == Seconds{5e-3});
  const MemoryDrift d = drift({Seconds{6e-4}, Seconds{4e-3}}, *memory_times(m), CpuModel{});
  CHECK(d.llc == Approx(2));
  CHECK(d.memory == Approx(0.8));
  CHECK(d.capacity == 1);
  m.points.push_back(reading(32000, 2e-3));
  CHECK(memory_times(m)->memory == Seconds{5e-3});
  CHECK(memory_times(m)->whole_llc == Seconds{2e-3});
  CHECK(mean(*memory_times(m), {{}, {}, Seconds{4e-3}}).whole_llc == Seconds{3e-3});
  m.points = {reading(6000, 3e-4), reading(54000, 5e-3)};
  m.points.back().skipped = "no room";
  CHECK_FALSE(memory_times(m));
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

TEST_CASE("what the LLC keeps is found from the time to read as much as it holds again") {
  const auto device = read_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data" / "devices" / "cpu.json",
                                [](const Reader& in) { return read_device(in); });
  const CpuModel& before = *device.cpu();
  const MeasuredPoint again{
      .op = "gemm", .shape = {{"rows", 1}, {"in", 512}, {"out", 512}, {"copies", matrices_of_llc(before.caches[2])}}};
  const MemoryTimes probed{Seconds{1e-3}, Seconds{1e-2}, predicted(before, again)};
  for (const MemoryDrift& is : {MemoryDrift{1, 1, 1}, {1.2, 0.9, 0.7}, {0.9, 1.1, 1.6}}) {
    const MemoryDrift found =
        drift({is.llc * probed.llc, is.memory * probed.memory, predicted(drifted(before, is), again)}, probed, before);
    CHECK(found.capacity == Approx(is.capacity));
    CHECK(drifted(before, found).gemm.reach.llc_share == Approx(is.capacity * before.gemm.reach.llc_share));
  }
  const MemoryDrift stolen = drift({probed.llc, probed.memory, 100 * *probed.whole_llc}, probed, before);
  CHECK(stolen.capacity == Approx(0.5));
}
