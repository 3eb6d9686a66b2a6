// SPDX-License-Identifier: Apache-2.0
// The CUDA probe on the emulator: its times mean nothing there, its verification does.
#include "probes/cuda_probe.h"

#include <optional>

#include "core/errors.h"
#include "model/calibration/engine_fit.h"
#include "probes/cuda/clock_watch.h"
#include "probes/cuda/timer.h"
#include "probes/cuda_grid.h"
#include "probes/tiny_decoder.h"
#include "tests/catch.h"
#include "tests/emulator/emulator.h"

using namespace draftline;

namespace {

MeasuredPoint point(const char* op, std::map<std::string, int> shape) { return {.op = op, .shape = std::move(shape)}; }
MeasuredPoint attention(int sequences, int rows, int context, int heads, int kv_heads, int dim, int tree) {
  return point("attention", {{"sequences", sequences},
                             {"rows", rows},
                             {"context", context},
                             {"heads", heads},
                             {"kv_heads", kv_heads},
                             {"head_dim", dim},
                             {"tree", tree}});
}

}  // namespace

TEST_CASE("every kind of op is verified and timed on the device") {
  emulator::reset();
  CudaProbe probe;
  CHECK_FALSE(probe.title().empty());
  CHECK(probe.machine().at("l2_cache") > 0);
  for (const MeasuredPoint& asked :
       {point("gemm", {{"rows", 5}, {"in", 48}, {"out", 40}, {"copies", 3}}),
        attention(2, 1, 60, 4, 2, 16, 0),
        attention(2, 9, 0, 4, 4, 32, 0),
        attention(1, 20, 150, 4, 2, 16, 1),
        point("add", {{"rows", 3}, {"columns", 32}}),
        point("silu_mul", {{"rows", 3}, {"columns", 32}}),
        point("rms_norm", {{"rows", 3}, {"columns", 32}}),
        point("argmax", {{"rows", 3}, {"columns", 5000}}),
        point("rope_append", {{"rows", 3}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 16}}),
        point("read", {{"kib", 16}}),
        point("copy", {{"kib", 16}}),
        point("launch", {{"kernels", 3}}),
        point("graph", {{"kernels", 3}}),
        point("synchronise", {{"kernels", 3}}),
        point("read_back", {{"bytes", 100}}),
        point("upload", {{"bytes", 100}}),
        point("layer", {{"hidden", 32},
                        {"heads", 2},
                        {"kv_heads", 1},
                        {"head_dim", 16},
                        {"intermediate", 48},
                        {"sequences", 4},
                        {"context", 130}}),
        point("kernel_launched", {{"kernels", 3}}),
        point("kernel_replayed", {{"kernels", 3}}),
        point("top_k", {{"rows", 3}, {"columns", 5000}, {"k", 7}}),
        point("sample", {{"rows", 3}, {"columns", 300}}),
        point("sample", {{"rows", 2}, {"columns", 300}, {"percent", 60}})}) {
    const MeasuredPoint p = probe.measure(asked, Seconds{1e-4});
    INFO(p.op << ": " << p.skipped);
    CHECK(p.skipped.empty());
    CHECK(p.samples >= 1);
    CHECK(p.low.value > 0);
    CHECK(p.low <= p.median);
    CHECK(p.median <= p.high);
    CHECK(p.same_shape(asked));
  }
}

TEST_CASE("a point that the device can't run says why") {
  emulator::reset();
  emulator::limit_memory(64 << 20);
  CudaProbe probe;
  CHECK(probe.measure(point("gemm", {{"rows", 1}, {"in", 16384}, {"out", 16384}, {"copies", 8}}), Seconds{0}).skipped ==
        "its data need more memory than the device has free");
  CHECK(probe.measure(attention(64, 1, 100000, 8, 8, 128, 0), Seconds{0}).skipped ==
        "its data need more memory than the device has free");
  CHECK(probe.measure(point("launch", {{"kernels", 100000}}), Seconds{0}).skipped ==
        "more launches than a stream takes without waiting");
  CHECK(probe.measure(point("fft", {}), Seconds{0}).skipped == "no such op on CUDA");
  emulator::reset();
}

TEST_CASE("samples beside a throttled clock are discarded, and the probe says so aloud") {
  emulator::reset();
  emulator::driver().throttled_every = 3;
  CudaProbe probe;
  CHECK(probe.remarks().empty());
  const MeasuredPoint p = probe.measure(point("copy", {{"kib", 4}}), Seconds{0.3});
  CHECK(p.skipped.empty());
  CHECK(p.samples >= 3);
  CHECK(p.discarded >= 1);
  REQUIRE(probe.remarks().size() == 1);
  CHECK(probe.remarks()[0].find("met a power cap: samples beside them were discarded") != std::string::npos);
  const auto facts = probe.machine();
  CHECK(facts.at("sm_clock_mhz") == 1980);
  CHECK(facts.at("memory_clock_mhz_met") == 2619);
  CHECK(facts.at("celsius") == 41);
  CHECK(facts.at("watts") == 312);
  CHECK(facts.at("watts_allowed") == 700);
  CHECK(facts.at("driver_release") == Approx(580.65));
  // Held back all the time: three stay, however steady the clock reference is.
  emulator::driver().reasons = 0x40;
  const MeasuredPoint hot = probe.measure(point("copy", {{"kib", 4}}), Seconds{0.3});
  CHECK(hot.samples == 3);
  CHECK(hot.discarded > 3);
  CHECK(probe.remarks().size() == 2);
  CHECK(facts.at("clock_readings_throttled") == Approx(facts.at("clock_readings") / 3).margin(1));
  emulator::reset();
}

TEST_CASE("an idle clock or a user's limit is no throttling") {
  emulator::reset();
  emulator::driver().reasons = 0x1 | 0x2 | 0x10 | 0x100;  // idle, application clocks, sync boost, display
  ClockWatch watch("0000:00:00.0");
  CHECK_FALSE(watch.throttled());
  CHECK(watch.remarks().empty());
  for (const std::uint64_t bit : {kPowerCap, kHardwareSlowdown, kSoftwareHeat, kHardwareHeat, kPowerBrake}) {
    emulator::driver().reasons = bit;
    ClockWatch held("0000:00:00.0");
    CHECK(held.throttled());
    CHECK(held.remarks().size() == 1);
  }
  emulator::reset();
}

TEST_CASE("what the driver names of an idle device too discards no sample, and is reported") {
  emulator::reset();
  emulator::driver().reasons = kPowerBrake;
  CudaProbe probe;
  CHECK(probe.measure(point("copy", {{"kib", 4}}), Seconds{0.02}).samples >= 3);
  CHECK(probe.machine().at("clock_readings_throttled") == 0);
  REQUIRE(probe.remarks().size() == 1);
  CHECK(probe.remarks()[0] ==
        "the driver names a power brake while the device is idle (20 of 20 readings): no sample was discarded for it");
  const auto throttled = [](std::vector<std::uint64_t> idle, std::uint64_t busy) {
    ClockWatch watch("0000:00:00.0");
    for (const std::uint64_t reasons : idle) {
      emulator::driver().reasons = reasons;
      watch.note_idle();
    }
    emulator::driver().reasons = busy;
    return watch.throttled();
  };
  CHECK_FALSE(throttled({kPowerBrake, 0, kPowerBrake}, kPowerBrake));
  CHECK(throttled({kPowerBrake, kPowerBrake}, kPowerBrake | kPowerCap));
  CHECK(throttled({kPowerBrake, 0}, kPowerBrake));
  emulator::reset();
}

TEST_CASE("a sample takes a millisecond, in whole rounds through the copies where these are few") {
  CHECK(nodes_of_sample(2e-6, 1) == 500);
  CHECK(nodes_of_sample(10e-6, 9) == 99);
  CHECK(nodes_of_sample(5e-3, 4) == 4);
  CHECK(nodes_of_sample(1e-7, 1) == 1024);
}

TEST_CASE("without NVML a probe says so once and goes on with its clock reference") {
  emulator::reset();
  const char* said = nullptr;
  SECTION("there is none") {
    emulator::driver().hidden = true;
    said = "clocks are watched by a clock reference alone: libnvidia-ml.so.1 can't be opened";
  }
  SECTION("it tells nothing") {
    emulator::driver().refuses = true;
    said = "clocks are watched by a clock reference alone: libnvidia-ml.so.1 doesn't tell the clocks of this GPU";
  }
  CudaProbe probe;
  const MeasuredPoint p = probe.measure(point("copy", {{"kib", 4}}), Seconds{1e-3});
  CHECK(p.skipped.empty());
  REQUIRE(probe.remarks().size() == 1);
  CHECK(probe.remarks()[0] == said);
  CHECK_FALSE(probe.machine().contains("sm_clock_mhz"));
  emulator::reset();
}

TEST_CASE("a sum over several GPUs is verified and timed for each number of them") {
  emulator::reset();
  emulator::use_device(4, 9, 0, 13000);
  CudaProbe probe;
  CHECK(probe.machine().at("devices") == 4);
  for (const int ranks : {2, 4, 2}) {
    const MeasuredPoint p = probe.measure(point("all_reduce", {{"ranks", ranks}, {"kib", 3}}), Seconds{1e-4});
    INFO(p.skipped);
    CHECK(p.skipped.empty());
    CHECK(p.samples >= 3);
    CHECK(p.low.value > 0);
  }
  emulator::link().wrong = true;
  CHECK(probe.measure(point("all_reduce", {{"ranks", 2}, {"kib", 1}}), Seconds{0}).skipped ==
        "its result differs from the reference");
  emulator::reset();
}

TEST_CASE("sums over GPUs that can't be had say why, and the probe goes on") {
  emulator::reset();
  const MeasuredPoint two = point("all_reduce", {{"ranks", 2}, {"kib", 1}});
  CHECK(CudaProbe().measure(two, Seconds{0}).skipped == "needs 2 GPUs; this machine has 1");
  emulator::use_device(2, 9, 0, 13000);
  std::string why;
  SECTION("there is no NCCL") {
    emulator::link().hidden = true;
    why = "NCCL (libnccl.so.2) can't be opened";
  }
  SECTION("the GPUs can't be joined") {
    emulator::link().fails = true;
    why = "NCCL failed: joining the GPUs: unhandled system error";
  }
  CudaProbe probe;
  for (int again = 0; again < 2; ++again) CHECK(probe.measure(two, Seconds{0}).skipped == why);
  CHECK(probe.measure(point("copy", {{"kib", 4}}), Seconds{0}).skipped.empty());
  emulator::reset();
}

TEST_CASE("a step of the decoder is cut into what its host records, launches and makes the device wait for") {
  emulator::reset();
  CudaProbe probe;
  // The device waits for all that the host does; launching kernel by kernel is more work than launching a graph. A busy
  // machine may disturb one measurement, but not one after the other.
  constexpr int kAttempts = 5;
  bool as_expected = false;
  for (int attempt = 0; attempt < kAttempts && !as_expected; ++attempt) {
    std::map<std::string, double> took;
    for (const int graphs : {1, 0})
      for (const char* op : {"step_host", "step_issue", "step_exposed"}) {
        std::map<std::string, int> shape{{"layers", 1}, {"sequences", 2}, {"ops", ops_of_plain_step(1)}};
        if (std::string_view(op) != "step_host") shape["graphs"] = graphs;
        const MeasuredPoint p = probe.measure(point(op, shape), Seconds{2e-3});
        INFO(op << ": " << p.skipped);
        REQUIRE(p.skipped.empty());
        CHECK(p.low.value > 0);
        took[op + std::to_string(graphs)] = p.median.value;
      }
    as_expected = took["step_exposed1"] > took["step_host1"] + 0.5 * took["step_issue1"] &&
                  took["step_issue0"] > took["step_issue1"];
  }
  CHECK(as_expected);
  CHECK(probe.measure(point("step_host", {{"layers", 2}, {"sequences", 2}, {"ops", 1}}), Seconds{0}).skipped ==
        "its step has another number of ops");
  emulator::reset();
}

TEST_CASE("the steps of the emulated device make an engine's host") {
  emulator::reset();
  CudaProbe probe;
  Measured m;
  m.device = "cuda";
  const auto add = [&](const char* op, int layers, int sequences, std::optional<int> graphs) {
    std::map<std::string, int> shape{{"layers", layers}, {"sequences", sequences}, {"ops", ops_of_plain_step(layers)}};
    if (graphs) shape["graphs"] = *graphs;
    m.points.push_back(probe.measure(point(op, shape), Seconds{1e-3}));
    INFO(m.points.back().skipped);
    CHECK(m.points.back().skipped.empty());
  };
  for (const auto& [layers, sequences] : {std::pair{1, 2}, {2, 1}, {1, 1}}) add("step_host", layers, sequences, {});
  add("step_exposed", 1, 1, 1);
  for (const int graphs : {1, 0})
    for (const int layers : {1, 2}) add("step_issue", layers, 1, graphs);
  REQUIRE(has_gpu_host(m));
  const GpuHostFit f = fit_gpu_host(m);
  // A disturbed point may make any of the three nothing.
  const Seconds host = f.step + ops_of_plain_step(2) * f.record + f.token;
  CHECK(host > Seconds{});
  CHECK(host < Seconds{1e-2});
  CHECK(f.issue < Seconds{1e-3});
  CHECK(f.unseen == 0);
  emulator::reset();
}

TEST_CASE("what a probe holds on the device is given back") {
  emulator::reset();
  const auto before = emulator::counts();
  {
    emulator::use_device(2, 9, 0, 13000);
    CudaProbe probe;
    for (const MeasuredPoint& asked :
         {point("all_reduce", {{"ranks", 2}, {"kib", 1}}), point("sample", {{"rows", 1}, {"columns", 64}}),
          point("step_issue", {{"layers", 1}, {"sequences", 1}, {"ops", ops_of_plain_step(1)}, {"graphs", 1}})})
      CHECK(probe.measure(asked, Seconds{0}).skipped.empty());
  }
  const auto after = emulator::counts();
  CHECK(after.allocated == before.allocated);
  CHECK(after.pinned == before.pinned);
  CHECK(after.streams == before.streams);
  CHECK(after.events == before.events);
  CHECK(after.graphs == before.graphs);
  emulator::reset();
}

TEST_CASE("no device is one message") {
  emulator::reset();
  emulator::use_device(0, 9, 0, 13000);
  CHECK_THROWS_AS(CudaProbe(), DeviceError);
  emulator::reset();
}
