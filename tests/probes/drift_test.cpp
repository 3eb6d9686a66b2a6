// SPDX-License-Identifier: Apache-2.0
#include "probes/drift.h"

#include "tests/catch.h"

using namespace draftline;

namespace {

MeasuredPoint product(int rows, int in, int out, int copies, int pause_us, double took) {
  MeasuredPoint p{.op = "gemm", .shape = {{"rows", rows}, {"in", in}, {"out", out}, {"copies", copies}}, .samples = 1};
  if (pause_us > 0) p.shape["pause_us"] = pause_us;
  p.low = p.median = p.high = Seconds{took};
  return p;
}

}  // namespace

TEST_CASE("products of one row are timed again, by where their weights lie") {
  constexpr double kNever = 1e3, kAtOnce = 1e-12;  // seconds
  Measured m;
  m.machine = {{"l2_cache", 1e5}, {"last_level_cache", 1e6}, {"memory", 1e9}};
  m.points = {product(1, 32, 64, 1, 0, kNever),    product(1, 64, 64, 1, 0, kNever),  // 8, 16 KB: within L2
              product(1, 256, 512, 1, 0, kAtOnce),                                    // 0.5 MB
              product(1, 128, 128, 64, 0, kNever),                                    // 4 MB
              product(4, 64, 64, 1, 0, kAtOnce),                                      // more rows
              product(1, 64, 64, 1, 100, kAtOnce),                                    // behind a pause
              product(1, 256, 128, 1, 0, kAtOnce)};                                   // half in one, half in the other
  m.points.push_back(product(1, 64, 32, 1, 0, kAtOnce));
  m.points.back().skipped = "no room";
  ClockReference reference(Seconds{1e-3});
  const auto all = drift_since(m, Seconds{1e-4}, reference);
  REQUIRE(all.size() == 3);
  CHECK(all[0].kind == "L2");
  CHECK(all[0].points == 2);
  CHECK(all[0].ratio < 1);
  CHECK(all[1].kind == "LLC");
  CHECK(all[1].points == 1);
  CHECK(all[1].ratio > 1);
  CHECK(all[2].kind == "memory");
  CHECK(all[2].points == 1);
  CHECK(all[2].ratio < 1);
  m.points.clear();
  CHECK(drift_since(m, Seconds{1e-4}, reference).empty());
}
