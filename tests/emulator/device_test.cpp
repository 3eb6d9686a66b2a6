// SPDX-License-Identifier: Apache-2.0
// What decoder/cuda owns on a device: each thing is freed once, wherever it was moved, and a capture never stays open.
// And what the clock of events makes it choose.
#include "decoder/cuda/runtime/device.h"

#include <memory>
#include <stdexcept>
#include <utility>

#include "decoder/cuda/gemm/blas.h"
#include "decoder/cuda/runtime/idle.h"
#include "tests/catch.h"
#include "tests/emulator/emulator.h"

using namespace draftline::cuda;

TEST_CASE("what is owned on the device is freed once, also after it was moved") {
  emulator::reset();
  const auto before = emulator::counts();
  {
    Buffer buffer(1000);
    Pinned pinned(100);
    Event event;
    Stream stream;
    CHECK(emulator::counts().allocated >= before.allocated + 1000);
    const Buffer moved = std::move(buffer);
    CHECK(moved.bytes() == 1000);
    CHECK(buffer.data() == nullptr);
    CHECK(buffer.bytes() == 0);
    buffer = Buffer(10);
    const Pinned other = std::move(pinned);
    const Event later = std::move(event);
    Capture capture(stream);
    idle(1, stream);
    Capture same = std::move(capture);
    Graph graph = same.end();
    CHECK(nodes_of(graph) == 1);
    GraphExec exec(graph), empty;
    CHECK_FALSE(static_cast<bool>(empty));
    empty = std::move(exec);
    empty.run(stream);
    stream.wait();
    CHECK_FALSE(static_cast<bool>(exec));
  }
  CHECK(emulator::counts().allocated == before.allocated);
  CHECK(emulator::counts().pinned == before.pinned);
  CHECK(emulator::counts().streams == before.streams);
  CHECK(emulator::counts().events == before.events);
  CHECK(emulator::counts().graphs == before.graphs);
}

TEST_CASE("a capture that an exception leaves open is closed, and the stream works again") {
  emulator::reset();
  const Stream stream;
  const auto fails_while_capturing = [&] {
    const Capture capture(stream);
    idle(1, stream);
    throw std::runtime_error("in between");
  };
  CHECK_THROWS_AS(fails_while_capturing(), std::runtime_error);
  CHECK_NOTHROW(stream.wait());
  idle(1, stream);
  CHECK_NOTHROW(stream.wait());
  CHECK(emulator::counts().graphs == 0);
}

TEST_CASE("of a short product the faster algorithm is kept, though each interval between events is off") {
  // 2 us in one launch, or 4 us in two. Weights of 2 and of 16 KiB: L2 is cleared before the latter.
  const int in = GENERATE(8, 64), out = 64;
  emulator::reset();
  emulator::event_clock() = {.kernel = 2e-6, .jitter = in == 8 ? 6e-6 : 2e-6};
  constexpr int kMostRows = 10;
  const auto floats = [](int n) { return Buffer(static_cast<std::size_t>(n) * sizeof(float)); };
  const Buffer x = floats(kMostRows * in), w = floats(in * out), y = floats(kMostRows * out);
  const auto choices = std::make_shared<draftline::cuda::ProductChoices>();
  const Stream stream;
  Blas blas(stream, Blas::Choice::timed, choices);
  for (int rows = 1; rows <= kMostRows; ++rows)
    blas.prepare({rows, in, out, in, out, false, false}, {x.data(), w.data(), nullptr, y.data()});
  int slower = 0;
  for (const auto& [key, choice] : choices->all.begin()->second) slower += choice.algorithm[0] != 0;
  CHECK(choices->timed == kMostRows);
  CHECK(slower == 0);
  emulator::reset();
}
