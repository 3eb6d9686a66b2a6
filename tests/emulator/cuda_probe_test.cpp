// SPDX-License-Identifier: Apache-2.0
// The CUDA probe on the emulator: its times mean nothing there, its verification does.
#include "probes/cuda_probe.h"

#include <set>

#include "core/errors.h"
#include "probes/cuda_grid.h"
#include "tests/catch.h"
#include "tests/emulator/emulator.h"

using namespace draftline;

namespace {

MeasuredPoint point(const char* op, std::map<std::string, int> shape) {
  return {op, std::move(shape), {}, {}, {}, 0, 0, {}};
}
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
       {point("gemm", {{"rows", 5}, {"in", 48}, {"out", 40}, {"copies", 3}}), attention(2, 1, 60, 4, 2, 16, 0),
        attention(2, 9, 0, 4, 4, 32, 0), attention(1, 20, 150, 4, 2, 16, 1),
        point("add", {{"rows", 3}, {"columns", 32}}), point("silu_mul", {{"rows", 3}, {"columns", 32}}),
        point("rms_norm", {{"rows", 3}, {"columns", 32}}), point("argmax", {{"rows", 3}, {"columns", 5000}}),
        point("rope_append", {{"rows", 3}, {"heads", 4}, {"kv_heads", 2}, {"head_dim", 16}}),
        point("read", {{"kib", 16}}), point("copy", {{"kib", 16}}), point("launch", {{"kernels", 3}}),
        point("graph", {{"kernels", 3}}), point("synchronise", {{"kernels", 3}}),
        point("read_back", {{"bytes", 100}})}) {
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

TEST_CASE("no device is one message") {
  emulator::reset();
  emulator::use_device(0, 9, 0, 13000);
  CHECK_THROWS_AS(CudaProbe(), DeviceError);
  emulator::reset();
}
