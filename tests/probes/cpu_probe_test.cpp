// SPDX-License-Identifier: Apache-2.0
#include "probes/cpu_probe.h"

#include <set>

#include "probes/cpu_grid.h"
#include "probes/machine.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

MeasuredPoint point(const char* op, std::map<std::string, int> shape) {
  return {op, std::move(shape), {}, {}, {}, 0, 0, {}};
}

}  // namespace

TEST_CASE("every kind of op is verified and timed") {
  const auto asked =
      GENERATE(point("gemm", {{"rows", 5}, {"in", 48}, {"out", 40}, {"copies", 3}}),
               point("attention", {{"sequences", 2},
                                   {"rows", 1},
                                   {"context", 20},
                                   {"heads", 4},
                                   {"kv_heads", 2},
                                   {"head_dim", 16},
                                   {"tree", 0}}),
               point("attention", {{"sequences", 2},
                                   {"rows", 9},
                                   {"context", 0},
                                   {"heads", 4},
                                   {"kv_heads", 4},
                                   {"head_dim", 16},
                                   {"tree", 0}}),
               point("attention", {{"sequences", 2},
                                   {"rows", 40},
                                   {"context", 20},
                                   {"heads", 4},
                                   {"kv_heads", 2},
                                   {"head_dim", 16},
                                   {"tree", 1}}),
               point("add", {{"rows", 3}, {"columns", 32}}), point("silu_mul", {{"rows", 3}, {"columns", 32}}),
               point("rms_norm", {{"rows", 3}, {"columns", 32}}), point("argmax", {{"rows", 3}, {"columns", 32}}),
               point("rope_append", {{"rows", 3}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 16}}),
               point("read", {{"kib", 64}}), point("copy", {{"kib", 64}}));
  Yardstick yardstick;
  const MeasuredPoint p = probe_cpu(asked, Seconds{1e-4}, yardstick);
  INFO(p.op << ": " << p.skipped);
  CHECK(p.skipped.empty());
  CHECK(p.samples >= 1);
  CHECK(p.low.value > 0);
  CHECK(p.low <= p.median);
  CHECK(p.median <= p.high);
  CHECK(p.same_shape(asked));
  CHECK(yardstick.best() > 0);
}

TEST_CASE("a point that can't run says why") {
  Yardstick yardstick;
  CHECK(probe_cpu(point("gemm", {{"rows", 1}, {"in", 65536}, {"out", 65536}, {"copies", 1}}), Seconds{0}, yardstick)
            .skipped == "its weights need more than 1.5 GB");
  CHECK(probe_cpu(point("attention", {{"sequences", 64},
                                      {"rows", 1},
                                      {"context", 100000},
                                      {"heads", 8},
                                      {"kv_heads", 8},
                                      {"head_dim", 128},
                                      {"tree", 0}}),
                  Seconds{0}, yardstick)
            .skipped == "its cache needs more than 1.5 GB");
  CHECK(probe_cpu(point("fft", {}), Seconds{0}, yardstick).skipped == "no such op on the CPU");
}

TEST_CASE("the grid names every shape once, and cold products go past the last cache") {
  const double cache = 8 << 20;
  std::set<std::pair<std::string, std::map<std::string, int>>> seen;
  int cold = 0, trees = 0;
  for (const auto& p : cpu_grid(cache)) {
    CHECK(seen.emplace(p.op, p.shape).second);
    if (p.op == "gemm" && p.at("copies") > 1) {
      ++cold;
      CHECK(4.0 * p.at("in") * p.at("out") * p.at("copies") > 2 * cache);
    }
    if (p.op == "attention") trees += p.at("tree");
  }
  CHECK(cold > 20);
  CHECK(trees > 20);
}

TEST_CASE("the small grid has every kind of op that the full one has, in a tenth of the points") {
  const double cache = 8 << 20;
  const auto full = cpu_grid(cache), small = cpu_grid(cache, GridSize::small);
  CHECK(small.size() * 10 < full.size() + 10);
  std::set<std::string> ops;
  for (const auto& p : small) ops.insert(p.op);
  for (const auto& p : full) CHECK((p.op == "copy" || ops.contains(p.op)));
}

TEST_CASE("the machine has caches in their order") {
  const Machine m = this_machine();
  CHECK_FALSE(m.processor.empty());
  CHECK(m.cores >= 1);
  CHECK(m.first_cache > 0);
  CHECK(m.first_cache <= m.second_cache);
  CHECK(m.second_cache <= m.last_cache);
}
