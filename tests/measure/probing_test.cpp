// SPDX-License-Identifier: Apache-2.0
// In which order points are timed, in which slices, and what is kept: on a device that times nothing.
#include "measure/probing.h"

#include <algorithm>
#include <set>
#include <sstream>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/calibration/cpu_fit.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

using namespace draftline;
using namespace draftline::measure;

namespace {

constexpr double kLlc = 32e6;

class Untimed : public ProbedDevice {
 public:
  std::string title() const override { return "untimed"; }
  std::map<std::string, double> machine() const override { return {}; }
  ProbeOrder order() const override { return spread(cpu_grid(kLlc)); }
  MeasuredPoint measure(const MeasuredPoint& asked, Seconds) override {
    if (timed == fails_at) throw DeviceError("lost");
    ++timed;
    MeasuredPoint p = asked;
    p.low = p.median = p.high = Seconds{1e-3};
    p.samples = 5;
    return p;
  }
  std::size_t timed = 0, fails_at = 100000;
};

std::size_t points_in(const std::filesystem::path& file) { return read_file(file, read_measured).points.size(); }

}  // namespace

TEST_CASE("any stretch of the order has its share of each op, and of small and large shapes") {
  const auto grid = cpu_grid(kLlc);
  const ProbeOrder order = spread(grid);
  REQUIRE(order.points.size() == grid.size());
  CHECK(at(order.enough) < grid.size() / 2);
  std::map<std::string, std::size_t> first, later, in_grid;
  for (const MeasuredPoint& p : grid) ++in_grid[p.op];
  for (std::size_t i = 0; i < order.points.size(); ++i) ++(i < at(order.enough) ? first : later)[order.points[i].op];
  for (const auto& [op, n] : in_grid) {
    CAPTURE(op);
    CHECK(first[op] >= std::min<std::size_t>(n, 12));
    CHECK(first[op] + later[op] == n);
  }
  // Of GEMMs: in each fifth of what comes later there are between half and twice a fifth of those with cold weights.
  const auto cold = [&](std::size_t from, std::size_t to) {
    std::size_t n = 0;
    for (std::size_t i = from; i < to; ++i) n += order.points[i].op == "gemm" && order.points[i].at("copies") > 1;
    return n;
  };
  const std::size_t all = cold(at(order.enough), order.points.size()),
                    length = (order.points.size() - at(order.enough)) / 5;
  for (std::size_t k = 0; k < 5; ++k) {
    const std::size_t n = cold(at(order.enough) + k * length, at(order.enough) + (k + 1) * length);
    CHECK(10 * n > all);
    CHECK(5 * n < 2 * all);
  }
}

TEST_CASE("slices go on where the last one ended, in one run or in several, and a lost device costs one point") {
  const FreshFolder folder;
  const ProbingAsked asked{folder.path() / "measured.json", "cpu", {"probe"}, Seconds{1}, {}};
  const Watcher silent;
  Untimed device;
  const ProbeOrder order = device.order();
  const std::size_t all = order.points.size();
  {
    Probing probing(asked, device, silent);
    CHECK(probing.until(0, silent));
    CHECK(device.timed == at(order.enough));
    CHECK(points_in(asked.file) == at(order.enough));  // what a calibration reads between two slices
    CHECK(probing.until(0.5, silent));
    CHECK(device.timed == at(order.enough) + (all - at(order.enough)) / 2);
    CHECK_FALSE(probing.whole());
    device.fails_at = device.timed + 7;
    CHECK_THROWS_AS(probing.until(1, silent), DeviceError);
  }
  CHECK(points_in(asked.file) == device.timed + 1);
  const MeasuredPoint failed = read_file(asked.file, read_measured).points.back();
  CHECK(failed.device_failed);
  CHECK(failed.skipped == "lost");
  device.fails_at = all - 1;  // the same point, which comes last now
  {
    Probing again(asked, device, silent);
    CHECK_THROWS_AS(again.finish(silent), DeviceError);
  }
  CHECK(points_in(asked.file) == all);
  CHECK(device.timed == all - 1);
  device.fails_at = 100000;
  Probing again(asked, device, silent);
  CHECK(again.finish(silent));
  CHECK(again.whole());
  CHECK(device.timed == all);
  CHECK(points_in(asked.file) == all);
}

TEST_CASE("an interrupted slice says so, and keeps its points") {
  const FreshFolder folder;
  const ProbingAsked asked{folder.path() / "measured.json", "cpu", {"probe"}, Seconds{1}, {}};
  Untimed device;
  const Watcher watcher{.interrupted = [&] { return device.timed == 9; }};
  Probing probing(asked, device, watcher);
  CHECK_FALSE(probing.until(0, watcher));
  CHECK_FALSE(probing.finish(watcher));
  CHECK(points_in(asked.file) == 9);
}

TEST_CASE("that the device failed is a key of a point, and was the beginning of a reason in files of before") {
  Measured m;
  m.points = {{.op = "read", .shape = {{"kib", 1}}, .skipped = "lost", .device_failed = true}};
  const auto text = [&] {
    std::ostringstream out;
    write_measured(out, m);
    return out.str();
  };
  const auto read_back = [](const std::string& file) {
    const Document d = Document::from_text(file, "m.json");
    return read_whole(d, read_measured).points.at(0);
  };
  const std::string now = text();
  const std::size_t from = now.find(R"("lost")"), to = now.find("true") + 4;
  REQUIRE(to > from);
  std::string before = now;
  before.replace(from, to - from, R"("the next run tries it last: lost")");
  for (const std::string& file : {now, before}) {
    INFO(file);
    CHECK(read_back(file).device_failed);
    CHECK(read_back(file).skipped == "lost");
  }
  m.points[0].device_failed = false;
  CHECK_FALSE(read_back(text()).device_failed);
}
