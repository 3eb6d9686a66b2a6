// SPDX-License-Identifier: Apache-2.0
#include "probes/cpu_probe.h"

#include <set>

#include "decoder/op_work.h"
#include "decoder/ops.h"
#include "decoder/priced/backend.h"
#include "model/calibration/cpu_fit.h"

#include "probes/cpu_grid.h"
#include "probes/machine.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

MeasuredPoint point(const char* op, std::map<std::string, int> shape) { return {.op = op, .shape = std::move(shape)}; }

}  // namespace

TEST_CASE("every kind of op is verified and timed") {
  const auto asked = GENERATE(
      point("gemm", {{"rows", 5}, {"in", 48}, {"out", 40}, {"copies", 3}}),
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
      point("top_k", {{"rows", 3}, {"columns", 32}, {"k", 5}}), point("sample", {{"rows", 3}, {"columns", 32}}),
      point("read", {{"kib", 64}}), point("copy", {{"kib", 64}}));
  ClockReference reference(Seconds{1e-3});
  const MeasuredPoint p = probe_cpu(asked, Seconds{1e-4}, reference);
  INFO(p.op << ": " << p.skipped);
  CHECK(p.skipped.empty());
  CHECK(p.samples >= 1);
  CHECK(p.low.value > 0);
  CHECK(p.low <= p.median);
  CHECK(p.median <= p.high);
  CHECK(p.same_shape(asked));
  CHECK(reference.usual() > 0);
}

TEST_CASE("a point that can't run says why") {
  ClockReference reference(Seconds{1e-3});
  CHECK(probe_cpu(point("gemm", {{"rows", 1}, {"in", 65536}, {"out", 65536}, {"copies", 1}}), Seconds{0}, reference)
            .skipped == "its weights need more than 1.5 GB");
  CHECK(probe_cpu(point("attention", {{"sequences", 64},
                                      {"rows", 1},
                                      {"context", 100000},
                                      {"heads", 8},
                                      {"kv_heads", 8},
                                      {"head_dim", 128},
                                      {"tree", 0}}),
                  Seconds{0}, reference)
            .skipped == "its cache needs more than 1.5 GB");
  CHECK(probe_cpu(point("fft", {}), Seconds{0}, reference).skipped == "no such op on the CPU");
}

TEST_CASE(
    "the grid names every shape once; GEMMs have weights within the LLC, about as large, past it, and after a pause") {
  const double cache = 8 << 20;
  std::set<std::pair<std::string, std::map<std::string, int>>> seen;
  int cold = 0, within = 0, about = 0, paused = 0, trees = 0;
  for (const auto& p : cpu_grid(cache)) {
    CHECK(seen.emplace(p.op, p.shape).second);
    if (p.op == "gemm" && p.at("copies") > 1) {
      const double bytes = 4.0 * p.at("in") * p.at("out") * p.at("copies");
      ++(bytes > 2 * cache ? cold : bytes < cache / 2 ? within : about);
    }
    if (p.op == "gemm" && p.at("pause_us", 0) > 0) ++paused;
    if (p.op == "attention") trees += p.at("tree");
  }
  CHECK(cold > 20);
  CHECK(within > 20);
  CHECK(about > 10);
  CHECK(paused > 10);
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

TEST_CASE("an elementwise op is priced by the accounting that its probe is fitted with") {
  CpuModel fit;  // a byte costs 1, a norm's element 2000, a gate's 3000, ...: no two ops alike
  fit.caches = {Bytes{1e12}, Bytes{1e12}, Bytes{1e12}};
  fit.elements.byte = Seconds{1};
  for (std::size_t op = 1; op < fit.elements.of.size(); ++op)
    fit.elements.of[op].element = Seconds{1000.0 * static_cast<double>(op + 1)};
  const int rows = 6, columns = 64;
  PricedBackend backend;
  WeightStore store(DType::fp32);
  Ops ops(backend, DType::fp32, 1);
  std::vector<Seconds> priced;
  ops.on_segment = [&](const SegmentRun& run) {
    for (const Op& op : run.tape->ops) priced.push_back(cpu_time(fit, std::get<Copy>(kernel_of(op, *run.tape)), {}));
  };
  const Tensor x = ops.persistent("x", rows, columns, DType::fp32), y = ops.persistent("y", rows, columns, DType::fp32),
               wide = ops.persistent("wide", rows, 2 * columns, DType::fp32);
  const Cache cache = ops.cache(1, 1, 32, rows);
  const Tensor ids = ops.persistent("ids", rows, 1, DType::int32);
  const BatchSlots slots{ops.persistent_per_slot("kv_slots", 1, 1, DType::int32),
                         ops.persistent_per_slot("lengths", 1, 1, DType::int32),
                         ops.persistent_per_slot("ids", 1, 1, DType::int32)};
  const Tensor k = ops.persistent("k", rows, 32, DType::fp32);
  ops.add(x, y);
  ops.rms_norm(x, store.vector("norm", columns), 1e-5F);
  ops.silu_mul(wide);
  ops.argmax(x);
  ops.top_k(x, 5);
  ops.rope_append(x, k, k, Rope{10000, 32, {}}, {ops.pass({ops.uniform(1, rows), slots, {}}), cache, 0});
  ops.sample(x, BatchSlots{ids, ids, ids}, Sampling{1, 0, 1}, 0);
  ops.flush();
  std::vector<Seconds> fitted;
  for (const char* op : {"add", "rms_norm", "silu_mul", "argmax"})
    fitted.push_back(predicted(fit, point(op, {{"rows", rows}, {"columns", columns}})));
  fitted.push_back(predicted(fit, point("top_k", {{"rows", rows}, {"columns", columns}, {"k", 5}})));
  fitted.push_back(
      predicted(fit, point("rope_append", {{"rows", rows}, {"heads", 2}, {"kv_heads", 1}, {"head_dim", 32}})));
  fitted.push_back(predicted(fit, point("sample", {{"rows", rows}, {"columns", columns}})));
  REQUIRE(priced.size() == fitted.size());
  for (std::size_t i = 0; i < priced.size(); ++i) {
    INFO(i);  // a probe leaves out the row index, and whose the rows are
    CHECK(priced[i].value == Approx(fitted[i].value).epsilon(i < 5 ? 1e-12 : 1e-4));
  }
}

TEST_CASE("the machine has caches in their order") {
  const Machine m = this_machine();
  CHECK_FALSE(m.cpu.empty());
  CHECK(m.cores >= 1);
  CHECK(m.l1_cache > 0);
  CHECK(m.l1_cache <= m.l2_cache);
  CHECK(m.l2_cache <= m.last_level_cache);
}

TEST_CASE("a probe records the clock of its times, to which another process can normalise its own") {
  ClockReference reference(Seconds{1e-3});
  const MeasuredPoint noted = probe_cpu(point("clock_reference", {}), Seconds{1e-3}, reference);
  CHECK(noted.skipped.empty());
  CHECK(noted.median.value == reference.typical());
  reference.normalise_to(2 * noted.median.value);
  reference.measure();
  CHECK(reference.typical() == 2 * noted.median.value);
  CHECK(reference.usual() < reference.typical());
  // Normalised to a clock of which there was no reading, it knows that co-runners have the core.
  reference.normalise_to(0.1 * noted.median.value);
  CHECK(reference.usual() == 0.1 * noted.median.value);
  const auto before = reference.read(0), after = reference.read(5);
  CHECK(after.all == before.all + 5);
  CHECK(after.free == before.free);
}
