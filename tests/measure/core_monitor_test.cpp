// SPDX-License-Identifier: Apache-2.0
#include "measure/core_monitor.h"

#include <limits>

#include "tests/catch.h"

using namespace draftline;
using namespace draftline::measure;

namespace {

// Readings of a core that co-runners share during the first so many.
struct Shared {
  std::size_t until = 0;
  ClockReference::Readings so_far;
  ClockReference::Readings operator()(int more) {
    for (int i = 0; i < more; ++i)
      if (++so_far.all > until) ++so_far.free;
    return so_far;
  }
};

}  // namespace

TEST_CASE("co-runners are waited for until they leave the core") {
  Shared core{1000, {}};
  int calls = 0;
  CoreMonitor monitor([&](int more) { return core(more); }, Seconds{1e3});
  monitor.wait([&] { ++calls; });
  CHECK(calls > 1);
  CHECK(core.so_far.all > 1000);
  CHECK(core.so_far.all < 1200);
  CHECK(monitor.stayed_free());
  core(50);
  CHECK(monitor.stayed_free());
  core.until = core.so_far.all + 50;  // they come again
  core(50);
  CHECK_FALSE(monitor.stayed_free());
  core(300);  // for a moment
  CHECK(monitor.stayed_free());
}

TEST_CASE("all waits together take no longer than they may") {
  Shared core{std::numeric_limits<std::size_t>::max(), {}};
  CoreMonitor monitor([&](int more) { return core(more); }, Seconds{0.6});
  monitor.wait();
  CHECK(core.so_far.all > 0);
  const std::size_t before = core.so_far.all;
  monitor.wait();
  CHECK(core.so_far.all == before);
  core(1);
  CHECK_FALSE(monitor.stayed_free());
}

TEST_CASE("without time there is no wait, and a device without a clock reference is always free") {
  Shared core{std::numeric_limits<std::size_t>::max(), {}};
  for (const double at_most : {0.0, std::numeric_limits<double>::quiet_NaN()}) {
    CoreMonitor monitor([&](int more) { return core(more); }, Seconds{at_most});
    monitor.wait();
  }
  CHECK(core.so_far.all == 0);
  CoreMonitor none({}, Seconds{1e3});
  none.wait();
  CHECK(none.stayed_free());
}
