// SPDX-License-Identifier: Apache-2.0
// The emulator itself: what it must show is shown by kernels that are wrong on purpose.
#include "tests/emulator/emulator.h"

#include <set>
#include <stdexcept>
#include <vector>

#include "core/errors.h"
#include "decoder/cuda/device.h"
#include "decoder/cuda/elementwise.h"
#include "tests/catch.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// Sum of a block: right, without its barrier, and with a thread that leaves before it.
enum class Kind { right, no_barrier, diverging_shuffle };
template <Kind kind>
__global__ void sum_kernel(View<const float> x, float* y) {
  float* partial = dynamic_shared<float>();
  float v = x.data[threadIdx.x];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  if (kind == Kind::diverging_shuffle && threadIdx.x == 5) {
    v += __shfl_down_sync(0xffffffffU, v, 1);
  } else {
    for (int o = 16; o > 0; o /= 2) v += __shfl_xor_sync(0xffffffffU, v, o);
  }
  if (threadIdx.x % 32 == 0) partial[warp] = v;
  if (kind != Kind::no_barrier) __syncthreads();
  v = 0;
  for (int i = 0; i < static_cast<int>(blockDim.x) / 32; ++i) v += partial[i];
  if (threadIdx.x == blockDim.x - 1) *y = v;
}

struct Fixture {
  Fixture() { emulator::reset(); }
  Buffer on_device(const std::vector<float>& values) {
    Buffer b(values.size() * sizeof(float));
    must(cudaMemcpy(b.data(), values.data(), b.bytes(), cudaMemcpyHostToDevice), "copy");
    return b;
  }
  template <Kind kind>
  float sum(int threads) {
    std::vector<float> values;
    for (int i = 0; i < threads; ++i) values.push_back(static_cast<float>(i));
    const Buffer x = on_device(values), y(sizeof(float));
    const View<const float> view{reinterpret_cast<const float*>(x.data()), 1, threads, threads};
    launch(sum_kernel<kind>, dim3(1), dim3(static_cast<unsigned>(threads)), sizeof(float) * 32, stream, view,
           reinterpret_cast<float*>(y.data()));
    stream.wait();
    float result = 0;
    must(cudaMemcpy(&result, y.data(), sizeof result, cudaMemcpyDeviceToHost), "copy");
    return result;
  }
  Stream stream;
};

}  // namespace

TEST_CASE("a block's threads meet at barriers and exchange values in warps, in any order") {
  Fixture f;
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    emulator::shuffle(seed);
    CHECK(f.sum<Kind::right>(32) == 496);
    CHECK(f.sum<Kind::right>(256) == 32640);
    CHECK(f.sum<Kind::right>(1024) == 523776);
  }
}

TEST_CASE("a missing barrier shows in some order of the threads") {
  Fixture f;
  int wrong = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    emulator::shuffle(seed);
    wrong += f.sum<Kind::no_barrier>(256) != 32640;
  }
  CHECK(wrong > 5);
}

TEST_CASE("a warp whose threads call different collectives is told apart") {
  Fixture f;
  CHECK_THROWS_AS(f.sum<Kind::diverging_shuffle>(64), std::logic_error);
  CHECK(f.sum<Kind::right>(64) == 2016);  // and the emulator goes on
}

TEST_CASE("the kernel of an op runs on both formats, behind a graph too") {
  Fixture f;
  const Buffer a = f.on_device({1, 2, 3, 4, 5, 6}), b = f.on_device({10, 20, 30, 40, 50, 60}), y(6 * sizeof(float));
  const auto view = [](const Buffer& x) { return View<float>{reinterpret_cast<float*>(x.data()), 2, 2, 3}; };
  const auto in = [&](const Buffer& x) {
    const auto v = view(x);
    return View<const float>{v.data, v.rows, v.cols, v.stride};
  };
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeThreadLocal), "capture");
  add(in(a), in(b), view(y), f.stream);
  CHECK(cudaStreamSynchronize(f.stream) == cudaErrorStreamCaptureUnsupported);
  must(cudaStreamEndCapture(f.stream, &graph), "capture");
  std::size_t nodes = 0;
  must(cudaGraphGetNodes(graph, nullptr, &nodes), "nodes");
  CHECK(nodes == 1);
  must(cudaGraphInstantiate(&exec, graph, 0), "instantiate");
  must(cudaGraphLaunch(exec, f.stream), "graph");
  f.stream.wait();
  std::vector<float> got(6);
  must(cudaMemcpy(got.data(), y.data(), y.bytes(), cudaMemcpyDeviceToHost), "copy");
  CHECK(got[0] == 11);
  CHECK(got[1] == 22);
  CHECK(got[2] != got[2]);  // outside of the view: still the NaN of fresh memory
  CHECK(got[4] == 55);
  static_cast<void>(cudaGraphExecDestroy(exec));
  static_cast<void>(cudaGraphDestroy(graph));
}

TEST_CASE("a call that fails becomes a DeviceError, and so does a device that is not there") {
  Fixture f;
  CHECK(open_device().name == "emulated on the CPU");
  emulator::fail_call_of("cudaMalloc", 0, cudaErrorMemoryAllocation);
  CHECK_THROWS_AS(Buffer(16), DeviceError);
  CHECK_NOTHROW(Buffer(16));
  emulator::use_device(0, 8, 0, 13000);
  CHECK_THROWS_AS(open_device(), DeviceError);
  emulator::use_device(1, 8, 0, 0);
  CHECK_THROWS_AS(open_device(), DeviceError);
  emulator::use_device(1, 8, 0, 12080);
  CHECK_THROWS_AS(open_device(), DeviceError);
  emulator::use_device(1, 7, 5, 13000);
  CHECK_THROWS_AS(open_device(), DeviceError);
  emulator::reset();
}
