// SPDX-License-Identifier: Apache-2.0
#include "probes/memory_reference.h"

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("the memory reference reads less than the LLC, then more, and its points summarise all readings") {
  ClockReference clock(Seconds{1e-3});
  constexpr double kLlc = 12e6;
  MemoryReference reference(1e6, kLlc, clock);
  const MemoryTimes first = reference.read(), second = reference.read();
  CHECK(first.llc > Seconds{});
  const auto points = reference.points();
  REQUIRE(points.size() == 2);
  const double llc_bytes = 1024.0 * points[0].at("kib"), memory_bytes = 1024.0 * points[1].at("kib");
  CHECK(llc_bytes == Approx(4e6).epsilon(0.3));  // four times L2, in whole matrices of a MiB
  CHECK(memory_bytes == Approx(18e6).epsilon(0.1));
  for (const MeasuredPoint& p : points) {
    CHECK(p.op == "memory_reference");
    CHECK(p.samples == 2);
    CHECK(p.low <= p.median);
    CHECK(p.median <= p.high);
  }
  CHECK(points[1].median.value == Approx(0.5 * (first.memory + second.memory).value));
}
