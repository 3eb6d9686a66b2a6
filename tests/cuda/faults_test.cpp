// SPDX-License-Identifier: Apache-2.0
// A device that fails: every call of a run is made to fail in turn, and each becomes a DeviceError; nothing is left
// behind.
#include "tests/cuda/rig.h"
#include "tests/emulator/emulator.h"

using namespace draftline;
using namespace draftline::test;

namespace {

// Products aren't timed: every run makes the same calls.
const CudaBackend::Options kUntimed{.activations = DType::fp32, .seed = 1, .timed_products = false};

std::vector<Generated> run_all() {
  CudaRig rig(kDraftsOfTheTarget, kUntimed, 2);
  std::vector<Generated> done;
  generate(rig.decoder.generator, prompts(3, 2), {6, {}, 2}, {}, done);
  return done;
}

}  // namespace

TEST_CASE("a device lost at any call of a run is a DeviceError, and its memory is given back", "[cuda]") {
  emulator::reset();
  run_all();
  const long calls = emulator::counts().calls;
  REQUIRE(calls > 500);
  const std::size_t before = emulator::counts().allocated;
  int seen = 0;
  for (long nth = 0;  // but for the last ones, after which nobody waits any more
       nth < calls * 9 / 10; nth += nth < 60 ? 1 : 97) {
    emulator::reset();
    emulator::fail_call(nth, cudaErrorLaunchFailure, true);
    INFO("call " << nth);
    CHECK_THROWS_AS(run_all(), DeviceError);
    emulator::reset();
    CHECK(emulator::counts().allocated == before);
    CHECK(emulator::counts().streams == 0);
    CHECK(emulator::counts().graphs == 0);
    CHECK(emulator::counts().events == 0);
    ++seen;
  }
  CHECK(seen > 60);
}

TEST_CASE("what is finished when the device fails is kept", "[cuda]") {
  emulator::reset();
  const auto whole = run_all();
  const long calls = emulator::counts().calls;
  emulator::reset();
  emulator::fail_call(calls * 9 / 10, cudaErrorECCUncorrectable, true);
  CudaRig rig(kDraftsOfTheTarget, kUntimed, 2);
  std::vector<Generated> done;
  CHECK_THROWS_AS(generate(rig.decoder.generator, prompts(3, 2), {6, {}, 2}, {}, done), DeviceError);
  REQUIRE(done.size() == 3);
  CHECK(done[0].tokens == whole[0].tokens);
  CHECK(done[2].tokens.empty());
  emulator::reset();
}

TEST_CASE("out of memory says what was asked for and what there is", "[cuda]") {
  emulator::reset();
  emulator::limit_memory(emulator::counts().allocated + (std::size_t{33} << 20));
  std::string message;
  try {
    run_all();
  } catch (const DeviceError& e) { message = e.what(); }
  CHECK(message.find("out of device memory") != std::string::npos);
  CHECK(message.find("free") != std::string::npos);
  emulator::reset();
}

TEST_CASE("no memory for a graph or for pinned memory is out of memory too, and the device works on", "[cuda]") {
  for (const char* call : {"cudaGraphInstantiate", "cudaMallocHost"}) {
    CAPTURE(call);
    emulator::reset();
    emulator::fail_call_of(call, 0, cudaErrorMemoryAllocation);
    CHECK_THROWS_AS(run_all(), OutOfDeviceMemory);
    CHECK(run_all().size() == 3);
  }
  emulator::reset();
}

TEST_CASE("no device, no driver, an old driver, no cuBLASLt: each is one message", "[cuda]") {
  const auto message = [] {
    try {
      run_all();
    } catch (const DeviceError& e) { return std::string(e.what()); }
    return std::string();
  };
  emulator::reset();
  emulator::use_device(0, 9, 0, 13000);
  CHECK(message().find("no CUDA device") != std::string::npos);
  emulator::use_device(1, 9, 0, 0);
  CHECK(message().find("no NVIDIA driver") != std::string::npos);
  emulator::use_device(1, 9, 0, 12080);
  CHECK(message().find("too old") != std::string::npos);
  emulator::use_device(1, 7, 0, 13000);
  CHECK(message().find("compute capability 7.0") != std::string::npos);
  emulator::reset();
  emulator::hide_libraries(true);
  CHECK(message().find("libcublasLt") != std::string::npos);
  emulator::hide_libraries(false);
}

TEST_CASE("a GPU that the kernels were not compiled for: the message says how to compile for it", "[cuda]") {
  emulator::reset();
  emulator::fail_call_of("cudaLaunchKernelEx", 0, cudaErrorNoKernelImageForDevice, true);
  std::string said;
  try {
    run_all();
  } catch (const DeviceError& e) { said = e.what(); }
  CHECK(said.ends_with(
      "no kernel image is available for execution on the device; this program was compiled for other GPUs: "
      "configure the build with -DDRAFTLINE_CUDA_ARCHITECTURES=all, or on this machine"));
  emulator::reset();
}
