// SPDX-License-Identifier: Apache-2.0
// The emulator itself: what it must show is shown by kernels that are wrong on purpose.
#include "tests/emulator/emulator.h"

#include <cmath>
#include <stdexcept>
#include <vector>

#include "core/errors.h"
#include "decoder/cuda/gemm/mma.cuh"
#include "decoder/cuda/runtime/device.h"
#include "probes/cuda/op_runner.h"
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

// One product of a 16 x 16 by a 16 x 8 tile, its fragments filled by the formulas of the PTX manual, section "Matrix
// fragments for mma.m16n8k16 with floating point type": of .bf16, a0-a7, b0-b3, c0-c3.
__global__ void tile_kernel(const float* a, const float* b, float* d) {
  const int lane = static_cast<int>(threadIdx.x), group = lane >> 2, in_group = lane % 4;
  unsigned of_a[4], of_b[2];
  for (int i = 0; i < 8; i += 2) {
    const int row = i < 2 || (4 <= i && i < 6) ? group : group + 8;
    const auto column = [&](int e) { return in_group * 2 + (e & 1) + (e < 4 ? 0 : 8); };
    of_a[i / 2] = pack_pair(a[row * 16 + column(i)], a[row * 16 + column(i + 1)]);
  }
  for (int i = 0; i < 4; i += 2) {
    const auto row = [&](int e) { return in_group * 2 + (e & 1) + (e < 2 ? 0 : 8); };
    of_b[i / 2] = pack_pair(b[row(i) * 8 + group], b[row(i + 1) * 8 + group]);
  }
  float of_d[4] = {1, 1, 1, 1};
  multiply_tile(of_d, of_a, of_b[0], of_b[1]);
  for (int i = 0; i < 4; ++i) d[(i < 2 ? group : group + 8) * 8 + in_group * 2 + (i & 1)] = of_d[i];
}

// Four 8 x 8 tiles beside each other, [8][32]: section "ldmatrix". Lanes 0-7, 8-15, .. hold the addresses of the rows
// of tile 0, 1, ..; of each tile lane 4 r + c / 2 gets the elements of row r, columns c and c + 1; transposed: of
// column r.
template <bool transposed>
__global__ void load_kernel(const bf16* from, float* to) {
  bf16* rows = dynamic_shared<bf16>();
  const int lane = static_cast<int>(threadIdx.x);
  for (int i = lane; i < 256; i += 32) rows[i] = from[i];
  __syncthreads();
  unsigned got[4];
  load_tiles<transposed>(got, rows + lane % 8 * 32 + lane / 8 * 8);
  for (int tile = 0; tile < 4; ++tile)
    for (int half = 0; half < 2; ++half) {
      const int r = lane / 4, c = lane % 4 * 2 + half, y = transposed ? c : r, x = transposed ? r : c;
      to[y * 32 + tile * 8 + x] = __uint_as_float(half == 0 ? got[tile] << 16 : got[tile] & 0xffff0000U);
    }
}

// Waits in some threads for the kernel before it.
__global__ void half_waiting_kernel() {
  if (threadIdx.x < 16) await_previous();
}

struct Fixture {
  Fixture() { emulator::reset(); }
  Buffer on_device(const std::vector<float>& values) {
    Buffer b(values.size() * sizeof(float));
    must(cudaMemcpy(b.data(), values.data(), b.bytes(), cudaMemcpyHostToDevice), "copy");
    must(cudaDeviceSynchronize(), "copy");  // it may return before
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
  OpRunner d(f.stream);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  must(cudaStreamBeginCapture(f.stream, cudaStreamCaptureModeThreadLocal), "capture");
  d.run<float>(Add{d(view(a)), d(view(b)), d(view(y))});
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

TEST_CASE("a copy from the host that nobody waits for may come after the kernel that needs it") {
  Fixture f;
  const std::vector<float> values{1, 2};
  const Buffer x(values.size() * sizeof(float)), y(values.size() * sizeof(float));
  const auto view = [](const Buffer& b) { return View<float>{reinterpret_cast<float*>(b.data()), 1, 2, 2}; };
  OpRunner d(f.stream);
  const Add add{d(view(x)), d(view(x)), d(view(y))};
  must(cudaMemcpy(x.data(), values.data(), x.bytes(), cudaMemcpyHostToDevice), "copy");
  d.run<float>(add);
  f.stream.wait();
  CHECK(std::isnan(view(y).data[0]));
  must(cudaDeviceSynchronize(), "copy");
  d.run<float>(add);
  f.stream.wait();
  CHECK(view(y).data[1] == 4);
}

TEST_CASE("tiles are multiplied and loaded as the PTX manual lays them out") {
  Fixture f;
  std::vector<float> a, b, numbers;
  for (int i = 0; i < 256; ++i) a.push_back(static_cast<float>((i * 7 + i / 16) % 13 - 6));
  for (int i = 0; i < 128; ++i) b.push_back(static_cast<float>((i * 5 + i / 8) % 11 - 5));
  for (int i = 0; i < 256; ++i) numbers.push_back(static_cast<float>(i));  // exact in bf16
  const Buffer on_a = f.on_device(a), on_b = f.on_device(b), d(128 * sizeof(float));
  launch(tile_kernel, dim3(1), dim3(32), 0, f.stream, reinterpret_cast<const float*>(on_a.data()),
         reinterpret_cast<const float*>(on_b.data()), reinterpret_cast<float*>(d.data()));
  f.stream.wait();
  for (int r = 0; r < 16; ++r)
    for (int c = 0; c < 8; ++c) {
      float sum = 1;
      for (int k = 0; k < 16; ++k)
        sum += a[static_cast<std::size_t>(r * 16 + k)] * b[static_cast<std::size_t>(k * 8 + c)];
      CHECK(reinterpret_cast<const float*>(d.data())[r * 8 + c] == sum);
    }

  std::vector<bf16> halves;
  for (const float v : numbers) halves.push_back(__float2bfloat16(v));
  const Buffer from(halves.size() * sizeof(bf16)), to(256 * sizeof(float)), flipped(256 * sizeof(float));
  must(cudaMemcpy(from.data(), halves.data(), from.bytes(), cudaMemcpyHostToDevice), "copy");
  must(cudaDeviceSynchronize(), "copy");
  const auto* source = reinterpret_cast<const bf16*>(from.data());
  launch(load_kernel<false>, dim3(1), dim3(32), 512, f.stream, source, reinterpret_cast<float*>(to.data()));
  launch(load_kernel<true>, dim3(1), dim3(32), 512, f.stream, source, reinterpret_cast<float*>(flipped.data()));
  f.stream.wait();
  for (int i = 0; i < 256; ++i) {
    CHECK(reinterpret_cast<const float*>(to.data())[i] == numbers[static_cast<std::size_t>(i)]);
    CHECK(reinterpret_cast<const float*>(flipped.data())[i] == numbers[static_cast<std::size_t>(i)]);
  }
}

TEST_CASE("a kernel that may overlap the one before it must wait for that in every thread, on devices that overlap") {
  Fixture f;
  emulator::use_device(1, 8, 0, 13000);
  launch_overlapping(half_waiting_kernel, dim3(2), dim3(32), 0, f.stream);
  CHECK_NOTHROW(f.stream.wait());
  emulator::use_device(1, 9, 0, 13000);
  launch_overlapping(half_waiting_kernel, dim3(2), dim3(32), 0, f.stream);
  CHECK_THROWS_AS(f.stream.wait(), std::logic_error);
  emulator::reset();
}

TEST_CASE("kernels overlap where they were compiled for the device's generation, not where older PTX is translated") {
  CHECK(waits_on({800, 900}, 900));
  CHECK(waits_on({800, 1000}, 1030));
  CHECK_FALSE(waits_on({800, 890}, 900));
  CHECK_FALSE(waits_on({800, 1000}, 900));
  CHECK_FALSE(waits_on({800, 900}, 1000));  // the code for 90 can't run there, the PTX of 80 can
  CHECK_FALSE(waits_on({1030}, 1000));
  CHECK_FALSE(waits_on({800, 900}, 800));
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
