// SPDX-License-Identifier: Apache-2.0
// What decoder/cuda owns on a device: each thing is freed once, wherever it was moved, and a capture never stays open.
#include "decoder/cuda/runtime/device.h"

#include <stdexcept>
#include <utility>

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
