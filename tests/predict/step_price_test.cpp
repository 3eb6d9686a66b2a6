// SPDX-License-Identifier: Apache-2.0
// The price of a CPU's step: folded over its ops, walked over op by op, and by what its caches still hold.
#include "decoder/priced/step_price.h"

#include "decoder/op_work.h"
#include "tests/catch.h"
#include "tests/predict/small_on_cpu.h"

using namespace draftline;

TEST_CASE("on one thread host and device add up, and the walk over a step is its folded price") {
  SmallOnCpu w;
  Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
  Pricer pricer(recordings);
  const MethodChoice method{kHeads};
  const Setup setup{
      outliving(w.device), outliving(w.engine), outliving(w.target), Precision(DType::fp32), {}, 4, 100, 2};
  const auto step = recordings.recorded_step(setup, method);
  double ops = 0;
  for (const SegmentRun& run : step) ops += static_cast<double>(run.tape->ops.size());
  Engine nothing, serial;
  nothing.overlap = serial.overlap = false;
  w.device.cpu()->co_runner_traffic = BytesPerSecond{};  // here a longer step pushes nothing out
  serial.issue = Seconds{1e-6};
  serial.graph_launch = Seconds{1e-3};
  serial.step = serial.step_speculating = Seconds{1};
  const auto price = [&](const Engine& e) { return StepPrice(step, w.device, e, Speculation::on)(200).value; };
  CHECK(price(serial) - price(nothing) ==
        Approx(1 + 1e-3 * static_cast<double>(step.size()) + 1e-6 * ops).epsilon(1e-9));
  const std::vector<int> lengths(4, 200);
  CHECK(walk_step(step, lengths, w.device, serial, Speculation::on).time.value == Approx(price(serial)).epsilon(1e-9));
  double sum = 0;
  for (const OpPrice& op : op_prices(step, lengths, w.device, nothing, Speculation::on)) sum += op.time.value;
  CHECK(sum == Approx(price(nothing)).epsilon(1e-9));
}

TEST_CASE("the longer a CPU's step takes the more of its weights co-runner traffic evicts, and its price counts that") {
  SmallOnCpu w;
  w.device.l2 = w.device.cpu()->caches[2] = Bytes{64e6};  // holds them
  Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
  Pricer pricer(recordings);
  const MethodChoice method{kHeads};
  const Setup setup{
      outliving(w.device), outliving(w.engine), outliving(w.target), Precision(DType::fp32), {}, 4, 100, 2};
  const auto step = recordings.recorded_step(setup, method);
  const std::vector<int> lengths(4, 200);
  const auto price = [&](double co_runner_traffic) {
    w.device.cpu()->co_runner_traffic = BytesPerSecond{co_runner_traffic};
    const StepPrice folded(step, w.device, w.engine, Speculation::on);
    CHECK(folded(200).value ==
          Approx(walk_step(step, lengths, w.device, w.engine, Speculation::on).time.value).epsilon(1e-7));
    return folded(200).value;
  };
  const double alone = price(0), most = price(1e15);
  double before = alone;
  for (const double co_runner_traffic : {1e9, 1e10, 1e11}) {
    const double now = price(co_runner_traffic);
    CHECK(now > before);
    CHECK(now < most);
    before = now;
  }
  CHECK(most > 1.05 * alone);
}

TEST_CASE("keys and values that a draft pass has just read are in a nearer cache for the next one") {
  SmallOnCpu w;
  Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
  Pricer pricer(recordings);
  const MethodChoice method{spec(R"({"draft_length":3,"exit":2,"name":"layerskip"})")};
  const Setup setup{
      outliving(w.device), outliving(w.engine), outliving(w.target), Precision(DType::fp32), {}, 4, 100, 2};
  const auto step = recordings.recorded_step(setup, method);
  const std::vector<int> lengths(4, 200);
  // The last cache holds what a draft pass meets, but not what a step does; entries alone cost time.
  CpuModel& cpu = *w.device.cpu();
  cpu.co_runner_traffic = {};
  cpu.attention = {};
  cpu.attention.reach.byte[2] = Seconds{1e-9};
  cpu.gemm.reach.byte[2] = Seconds{};
  const auto attention = [&](double last_level_cache) {
    w.device.l2 = cpu.caches[2] = Bytes{last_level_cache};
    const StepPrice folded(step, w.device, w.engine, Speculation::on);
    CHECK(folded(200).value ==
          Approx(walk_step(step, lengths, w.device, w.engine, Speculation::on).time.value).epsilon(1e-7));
    std::vector<double> drafts;
    for (const OpPrice& op : op_prices(step, lengths, w.device, w.engine, Speculation::on))
      if (op.phase == Phase::draft && op.key.starts_with("attention")) drafts.push_back(op.time.value);
    return drafts;
  };
  double weights = 0;
  for (const SegmentRun& run : step)
    for (std::size_t i = 0; i < run.tape->ops.size(); ++i)
      if (const auto* product = std::get_if<Linear>(&run.tape->ops[i])) weights += 4.0 * product->w.in * product->w.out;
  const auto drafts = attention(0.5 * weights);
  REQUIRE(drafts.size() >= 3 * 2);  // passes of two layers
  CHECK(drafts[2] < 0.5 * drafts[0]);
  CHECK(drafts[4] == Approx(drafts[2]).epsilon(0.05));
  const auto far = attention(1);  // nothing is near: each as the first
  for (const double t : far) CHECK(t == Approx(far[0]).epsilon(0.02));
}

TEST_CASE("while prompts are read co-runner traffic fills a CPU's LLC, and the step after them finds less there") {
  SmallOnCpu w;
  w.device.l2 = w.device.cpu()->caches[2] = Bytes{64e6};
  const Setup setup{
      outliving(w.device), outliving(w.engine), outliving(w.target), Precision(DType::fp32), {}, 4, 100, 2};
  Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
  Pricer pricer(recordings);
  const StepPrice price = pricer.step_price(setup, autoregressive());
  const auto after = [&](double seconds, double waiting) { return price(200, {Seconds{seconds}, waiting}).value; };
  CHECK(after(0, 1) == price(200).value);
  double before = price(200).value;
  for (const double seconds : {2e-3, 1e-2, 1e-1}) {  // from several steps on; a shorter prompt meets the weights sooner
    CHECK(after(seconds, 1) > before);
    CHECK(after(seconds, 0.5) < after(seconds, 1));
    before = after(seconds, 1);
  }
  CHECK(after(100, 1) == Approx(after(1e3, 1)).epsilon(1e-6));  // all of it is gone
  w.device.cpu()->co_runner_traffic = {};
  CHECK(after(1, 1) == price(200).value);
}

TEST_CASE("the next step finds a network in a CPU's caches if they can hold it") {
  SmallOnCpu w;
  const auto price = [&](double last_level_cache) {
    Device d = w.device;
    d.l2 = d.cpu()->caches[2] = Bytes{last_level_cache};
    const Setup setup{outliving(d), outliving(w.engine), outliving(w.target), Precision(DType::fp32), {}, 1, 100, 2};
    Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
    return Pricer(recordings).step_price(setup, autoregressive())(100).value;
  };
  const double held = price(1e12), not_held = price(1e4);  // all, and none of it
  CHECK(not_held > held);
  CHECK(price(2e12) == Approx(held));
  CHECK(price(5e3) == Approx(not_held).epsilon(0.03));
}
