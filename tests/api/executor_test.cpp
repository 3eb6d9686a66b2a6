// SPDX-License-Identifier: Apache-2.0
#include "api/executor.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "api/threads.h"
#include "tests/catch.h"

namespace draftline {

namespace {

// The squares of 0 to 99, of which early ones take longest.
struct Squares {
  std::vector<int> taken;
  std::atomic<int> workers = 0;

  OrderedWork work() {
    const auto worker = [](std::size_t i) {
      if (i < 4) std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (i == 1000) throw std::runtime_error("a piece that fails");
      return static_cast<int>(i * i);
    };
    return ordered_work(
        100, 0,
        [this, worker] {
          ++workers;
          return worker;
        },
        [this](int square) { taken.push_back(square); });
  }
};

}  // namespace

TEST_CASE("results are taken in order, whoever computes them") {
  const int threads = GENERATE(1, 4);
  Squares squares;
  ThreadExecutor(threads).run(squares.work());
  REQUIRE(squares.taken.size() == 100);
  for (std::size_t i = 0; i < 100; ++i) CHECK(squares.taken[i] == static_cast<int>(i * i));
  CHECK(squares.workers <= threads);
}

TEST_CASE("one thread uses the worker that is there already; several make theirs") {
  Squares squares;
  OrderedWork work = squares.work();
  work.first = erased_worker([](std::size_t) { return -1; });
  SerialExecutor().run(work);
  CHECK(squares.workers == 0);
  CHECK(squares.taken.back() == -1);
  ThreadExecutor(2).run(work);
  CHECK(squares.workers >= 1);
}

TEST_CASE("an executor that is stopped has taken the results of the pieces that had begun, and no others") {
  const int threads = GENERATE(1, 3);
  Squares squares;
  std::atomic<int> asked = 0;
  ThreadExecutor(threads, [&] { return ++asked > 10; }).run(squares.work());
  REQUIRE(squares.taken.size() == 10);
  CHECK(squares.taken[9] == 81);
}

TEST_CASE("what a piece throws is thrown by the executor") {
  const int threads = GENERATE(1, 3);
  Squares squares;
  OrderedWork work = squares.work();
  work.size = 1001;
  CHECK_THROWS_AS(ThreadExecutor(threads).run(work), std::runtime_error);
}

TEST_CASE("a result survives being packed") {
  Squares squares;
  const OrderedWork work = squares.work();
  work.take(work.unpack(work.pack(work.make_worker()(7))));
  CHECK(squares.taken == std::vector{49});
}

}  // namespace draftline
