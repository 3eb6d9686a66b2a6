// SPDX-License-Identifier: Apache-2.0
// The live server's loop on a clock that goes on by 1 ms with every join, step and leaving.
#include "measure/live_server.h"

#include <set>

#include "decoder/cpu/backend.h"
#include "decoder/random_weights.h"
#include "tests/catch.h"

using namespace draftline;
using namespace draftline::measure;

namespace {

// What is timed is numbered from the end of the rehearsal on; the numbers in `firsts` take an hour.
class FixedMeter : public StepMeter {
 public:
  Seconds time(const Stopwatch&) override { return Seconds{firsts.contains(++timed) ? 3600 : 1e-3}; }
  bool first_of_its_kind() override {
    asked_ = !asked_;  // before, and after
    return !asked_ && firsts.contains(timed);
  }
  double pace() override {  // twice as long beside what is in `slowed`: read before and after it
    between_ = !between_;
    return slowed.contains(between_ ? timed + 1 : timed) ? 2 : 1;
  }
  void clock_ops(OnOp) override {}
  Seconds clock_time() override { return {}; }
  int timed = 0;
  std::set<int> firsts, slowed;

 private:
  bool asked_ = false, between_ = false;
};

class FixedDecoding : public Decoding {
 public:
  explicit FixedDecoding(const Networks& networks) : Decoding({networks, "cpu-small", {}}) {
    constexpr int kSlots = 2, kCapacity = 64;
    auto decoder = std::make_unique<Decoder>(
        Decoder::Options{.target = networks.at("cpu-small"), .slots = kSlots, .capacity = kCapacity}, MethodSpec(),
        networks.find(), [&](const WeightStore& store) -> std::unique_ptr<Backend> {
          return std::make_unique<CpuBackend>(store, weights_, CpuBackend::Options{});
        });
    auto meter = std::make_unique<FixedMeter>();
    fixed = meter.get();
    use(std::move(decoder), std::move(meter), kCapacity, 1, 0);
  }
  FixedMeter* fixed = nullptr;

 private:
  RandomWeights weights_{1};
};

struct Rig {
  Networks networks{std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data"};
  FixedDecoding decoding{networks};
  int steps_left = -1;  // until the server is interrupted; below 0: it is not
  LiveServer server{decoding, 2, 8, [this] { return steps_left >= 0 && --steps_left < 0; }};
  Rig() { decoding.fixed->timed = 0; }
};

const std::vector<LiveRequest> kTwo{{0, 3, 3}, {5e-4, 8, 2}};

void check_served(const LiveServed& s, double first_ms, double last_ms, const std::vector<int>& steps) {
  CHECK(s.first == Approx(1e-3 * first_ms));
  CHECK(s.last == Approx(1e-3 * last_ms));
  CHECK(s.steps == steps);
}

}  // namespace

TEST_CASE("a live server reads prompts before it steps, or waits for a whole batch") {
  Rig rig;
  //   0 join A  1 join B  2 step: B is done  3 B leaves  4 step: A is done  5
  auto served = rig.server.serve(kTwo, Batching::prefill_first);
  CHECK(rig.server.warm());
  check_served(served[0], 1, 5, {1, 1});
  check_served(served[1], 2, 3, {1});
  //   0.5 join A and B  1.5 step: B is done, and stays  2.5 step: A is done  3.5
  served = rig.server.serve(kTwo, Batching::static_batching);
  check_served(served[0], 1.5, 3.5, {1, 1});
  check_served(served[1], 1.5, 2.5, {1});
}

TEST_CASE("a live server that is interrupted runs no more steps") {
  Rig rig;
  rig.steps_left = 2;  // A and B join
  const auto served = rig.server.serve(kTwo, Batching::prefill_first);
  CHECK(rig.decoding.fixed->timed == 2);
  check_served(served[0], 1, 1, {});
  rig.steps_left = -1;
  check_served(rig.server.serve(kTwo, Batching::prefill_first)[0], 1, 5, {1, 1});
}

TEST_CASE("a live server's time is that of a free core") {
  Rig rig;
  // Timed: A joins (1), B joins (2), a step (3), B leaves (4), a step (5); B's join and the second step met another
  // program.
  rig.decoding.fixed->slowed = {2, 5};
  const auto served = rig.server.serve(kTwo, Batching::prefill_first);
  check_served(served[0], 1, 4, {1, 1});
  check_served(served[1], 1.5, 2.5, {1});
}

TEST_CASE("what a device does but once is not in a live server's time") {
  Rig rig;
  FixedMeter& meter = *rig.decoding.fixed;
  // Timed: A joins (1), again (2), again (3); B joins (4), again (5); step (6); B leaves (7); step (8); A leaves (9).
  meter.firsts = {1, 2, 4, 7};
  const auto served = rig.server.serve(kTwo, Batching::prefill_first);
  CHECK(meter.timed == 9);
  CHECK(rig.server.warm());
  check_served(served[0], 1, 4, {1, 1});  // no move of a sequence was timed before: none is counted
  check_served(served[1], 2, 3, {1});
  CHECK(rig.decoding.generator().session().sequences == 0);

  meter.timed = 0;
  meter.firsts = {3};  // a step can't be taken again
  rig.server.serve(kTwo, Batching::prefill_first);
  CHECK_FALSE(rig.server.warm());
  meter.timed = 0;
  meter.firsts = {1, 2, 3, 4};  // a join that is never warm
  rig.server.serve(kTwo, Batching::prefill_first);
  CHECK_FALSE(rig.server.warm());
  rig.server.serve(kTwo, Batching::prefill_first);
  CHECK(rig.server.warm());
}
