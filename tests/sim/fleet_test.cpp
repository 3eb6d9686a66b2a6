// SPDX-License-Identifier: Apache-2.0
// What the figures of a fleet's run count, at steps whose cost is known in closed form.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/sim/plain_cost.h"

namespace draftline {

// Serves prompts of 1000 tokens one after the other, a second each.
static ServingRun one_second_each(const Workload& w, std::uint64_t seed) {
  PlainCost cost;
  cost.fixed = cost.per_sequence = cost.per_context = 0;
  cost.per_prompt_token = kTicksPerSecond / 1000;
  SchedulerLimits one_seat;
  one_seat.max_num_seqs = 1;
  return Fleet({}, one_seat, {}, cost).run(w, seed, {});
}

TEST_CASE("a disaggregated request gets its first token once what its layers keep has been transferred") {
  PlainCost cost;
  cost.per_context = 0;
  FleetShape shape;
  shape.prefill_replicas = 1;
  shape.transfer_fixed = Seconds{3e-6};
  shape.transfer_per_token = Seconds{1e-6};
  SchedulerLimits limits;
  limits.kept.windows = {{100, 0.5}};  // half of the layers keep 100 tokens: 550 of 1000
  const Workload w = poisson(1, 1, FixedLength{1000}, FixedLength{5});
  Log log;
  const ServingRun run = Fleet(shape, limits, {}, cost).run(w, 1, {}, &log);
  const ServedRequest& r = log.requests.front();
  const Ticks prompt = 1000 * cost.per_prompt_token, transfer = 3'000'000 + 550 * 1'000'000;
  CHECK(r.first_token - r.request.arrival == prompt + transfer);
  CHECK(r.last_token - r.first_token == 4 * (cost.fixed + cost.per_sequence));
  CHECK(run.figures.inter_token.mean().value == Approx(run.figures.tpot.mean().value));
}

TEST_CASE("a front end delays the first and the last token of each request, and no server") {
  PlainCost cost;
  const Workload w = poisson(250'000, 100, FixedLength{100}, FixedLength{60});
  FleetShape shape;
  const ServingFigures without = Fleet(shape, {}, {}, cost).run(w, 1, {}).figures;
  shape.front_end = Seconds{3e-3};
  const ServingFigures with = Fleet(shape, {}, {}, cost).run(w, 1, {}).figures;
  CHECK((with.ttft.mean() - without.ttft.mean()).value == Approx(3e-3));
  CHECK((with.e2e.mean() - without.e2e.mean()).value == Approx(3e-3));
  CHECK(with.tpot.mean() == without.tpot.mean());
  CHECK(with.fingerprint() == without.fingerprint());
}

TEST_CASE("a client's next request misses the step that begins as its last one ends, unless there is no front end") {
  PlainCost cost;
  cost.fixed = to_ticks(Seconds{2e-3});  // of a step
  // While the second client's answer is decoded, the first one sends another request.
  const Workload w =
      closed_loop({{.prompt = 100, .output = 3}, {.prompt = 100, .output = 90}, {.prompt = 100, .output = 3}}, 2);
  const auto after_the_first = [&](Seconds front_end) {
    FleetShape shape;
    shape.front_end = front_end;
    Log log;
    Fleet(shape, {}, {}, cost).run(w, 1, {}, &log);
    REQUIRE(log.requests.size() == 3);
    const Ticks ended = log.requests[0].last_token - to_ticks(front_end);
    return std::pair{log.requests[1].request.arrival - ended, log.requests[1].started - ended};
  };
  CHECK(after_the_first({}) == std::pair<Ticks, Ticks>{0, 0});
  const auto [arrived, started] = after_the_first(Seconds{5e-3});
  CHECK(arrived == 1);
  CHECK(started > cost.fixed);
  CHECK(started < cost.fixed + cost.fixed / 10);
}

TEST_CASE("an observer learns of the fleet and its KV pools once, before anything is recorded") {
  struct Told : ServingObserver {
    std::vector<std::string> what;
    void on_start(const FleetShape& f, const SchedulerLimits& limits) override {
      what.push_back(std::to_string(f.schedulers()) + " schedulers, " + std::to_string(limits.kv_blocks) + " blocks");
    }
    void on_request(const ServedRequest&) override { what.emplace_back("a request"); }
    void on_step(const StepRun&) override { what.emplace_back("steps"); }
  } told;
  PlainCost cost;
  FleetShape shape;
  shape.replicas = 2;
  SchedulerLimits limits;
  limits.kv_blocks = 100;
  Fleet(shape, limits, {}, cost).run(poisson(1, 1, FixedLength{100}, FixedLength{5}), 1, {}, &told);
  CHECK(told.what.front() == "2 schedulers, 100 blocks");
  CHECK(std::count(told.what.begin(), told.what.end(), told.what.front()) == 1);
  CHECK(told.what.back() == "a request");
}

TEST_CASE("inter-token latencies and TPOT are the same time, whatever a sequence waits for between two tokens") {
  PlainCost cost;
  const Workload w = poisson(250'000, 400, FixedLength{100}, FixedLength{60});
  FleetShape apart;
  apart.prefill_replicas = 1;
  apart.transfer_per_token = Seconds{1e-6};
  SchedulerLimits few_blocks;
  few_blocks.kv_blocks = 100;
  few_blocks.max_num_seqs = 16;
  SchedulerLimits swapped = few_blocks;
  swapped.swap = true;
  swapped.swap_per_token = Seconds{1e-6};
  for (const auto& [name, shape, limits] : {std::tuple("disaggregated", apart, SchedulerLimits{}),
                                            {"recomputed", FleetShape{}, few_blocks},
                                            {"swapped", FleetShape{}, swapped},
                                            {"disaggregated and swapped", apart, swapped}}) {
    INFO(name);
    const ServingFigures f = Fleet(shape, limits, {}, cost).run(w, 1, {}).figures;
    CHECK((f.preemptions > 0) == (limits.kv_blocks == few_blocks.kv_blocks));
    CHECK(f.inter_token.mean().value == Approx(f.tpot.mean().value).epsilon(1e-6));  // of whole ps
  }
}

TEST_CASE("enough requests tell a load that is 2 % too much from chance") {
  const auto at = [&](double load, std::int64_t requests, double cv = 1, std::uint64_t seed = 1) {
    Workload w = poisson(load, requests, FixedLength{1000}, FixedLength{1});
    if (cv != 1) w.arrivals.kind = ArrivalProcess::Kind::gamma, w.arrivals.cv = cv;
    return one_second_each(w, seed);
  };
  CHECK(at(1.02, 100'000).diverges);
  CHECK_FALSE(at(0.97, 100'000).diverges);
  CHECK_FALSE(at(0.97, 100'000, 4).diverges);
  CHECK(at(1.3, 1000).diverges);
  int unsettled = 0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) unsettled += at(1.02, 2000, 1, seed).unsettled ? 1 : 0;
  CHECK(unsettled > 0);
}

TEST_CASE("bursts of a load that can be served are no queue that grows") {
  const auto growing = [&](double load, std::int64_t requests) {  // of ten seeds
    int runs = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Workload w = poisson(3 * load, requests, FixedLength{1000}, FixedLength{1});
      w.arrivals.kind = ArrivalProcess::Kind::on_off;
      w.arrivals.on = 50;
      w.arrivals.off = 100;
      runs += one_second_each(w, seed).diverges ? 1 : 0;
    }
    return runs;
  };
  CHECK(growing(0.75, 1500) == 0);
  CHECK(growing(2.5, 50'000) == 10);
}

TEST_CASE("a queue before the servers that decode counts as one before those that compute prompts") {
  PlainCost cost;
  cost.per_context = 0;
  FleetShape shape;
  shape.prefill_replicas = 1;
  SchedulerLimits limits;
  limits.max_num_seqs = 4;
  const Seconds service = 49 * Seconds{static_cast<double>(cost.fixed + 4 * cost.per_sequence) / kTicksPerSecond};
  const auto run = [&](double share) {
    return Fleet(shape, limits, {}, cost)
        .run(poisson(share * 4 / service.value, 4000, FixedLength{10}, FixedLength{50}), 1, {});
  };
  CHECK(run(1.3).diverges);
  CHECK_FALSE(run(1.3).by_prompts);
  CHECK_FALSE(run(0.7).diverges);
}

TEST_CASE("servers that are still filling at the last arrival say so") {
  PlainCost cost;
  cost.fixed = cost.per_context = 0;
  cost.per_sequence = kTicksPerSecond / 1000;
  // Each takes 0.1 s alone, and as much longer as others decode beside it; none waits.
  const auto fills = [&](double load, int requests) {
    return Fleet({}, {}, {}, cost).run(poisson(10 * load, requests, FixedLength{1}, FixedLength{100}), 1, {}).fills;
  };
  CHECK(fills(2, 200));
  CHECK_FALSE(fills(0.8, 20'000));
}

TEST_CASE("one request at a time is served by disaggregated servers, too: all of them, each as if alone", "[S14]") {
  PlainCost cost;
  cost.per_context = 0;
  FleetShape shape;
  shape.prefill_replicas = 1;
  Workload w = poisson(0, 40, FixedLength{100}, FixedLength{5});
  w.arrivals = {ArrivalProcess::Kind::closed};
  w.arrivals.concurrency = 1;
  Log log;
  const ServingRun run = Fleet(shape, {}, {}, cost).run(w, 1, {}, &log);
  CHECK(run.figures.requests == 40);
  for (const ServedRequest& r : log.requests)
    CHECK(r.last_token - r.request.arrival == log.requests.front().last_token - log.requests.front().request.arrival);
}

TEST_CASE("a closed loop over disaggregated servers keeps its requests in flight, and has what each server allows") {
  PlainCost cost;
  cost.per_context = 0;
  FleetShape shape;
  shape.prefill_replicas = 1;
  Workload w = poisson(0, 400, FixedLength{100}, FixedLength{5});
  w.arrivals = {ArrivalProcess::Kind::closed};
  const auto run = [&](int concurrency, int prefillers, int decoders) {
    shape.prefill_replicas = prefillers, shape.replicas = decoders;
    w.arrivals.concurrency = concurrency;
    Log log;
    const ServingRun r = Fleet(shape, {}, {}, cost).run(w, 1, {}, &log);
    CHECK(r.figures.requests == 400);
    for (const ServedRequest& one : log.requests) CHECK(one.first_token >= one.request.arrival);
    return to_seconds(log.requests.back().last_token).value;
  };
  const double one = run(1, 1, 1);
  CHECK(run(2, 1, 1) < 0.75 * one);  // while one decodes, the other's prompt is computed
  CHECK(run(8, 4, 4) < 0.2 * one);
  CHECK(run(8, 4, 4) > one / 8.5);
}

TEST_CASE("throughput counts what requests of the warm-up emit after it, and nothing of what they emit before") {
  constexpr Ticks kSecond = kTicksPerSecond;
  const LatencyTargets none;
  ServingFigures f(2, none);
  const auto request = [&](std::int64_t id, Ticks arrival, Ticks first, Ticks last, int output) {
    ServedRequest r;
    r.request.id = id, r.request.arrival = arrival * kSecond, r.request.prompt = 1, r.request.output = output;
    r.started = r.request.arrival, r.first_token = first * kSecond, r.last_token = last * kSecond;
    return r;
  };
  const ServedRequest early = request(0, 0, 1, 2, 50), half = request(1, 0, 1, 11, 100),
                      counted = request(2, 6, 7, 16, 10);
  for (const ServedRequest* r : {&early, &half, &counted}) f.record_arrival(r->request);
  for (const ServedRequest* r : {&early, &half, &counted}) f.record_request(*r);
  CHECK(f.makespan().value == Approx(10));
  CHECK(f.throughput().value == Approx((0.5 * 100 + 10) / 10));
  CHECK(f.share_after_arrivals() == Approx(1));
}

TEST_CASE("a queue does not grow where servers outnumber what any of them holds") {
  using Routing = FleetShape::Routing;
  for (const auto routing : {Routing::round_robin, Routing::least_loaded}) {
    PlainCost cost;
    FleetShape shape;
    shape.replicas = 200;
    shape.routing = routing;
    const ServingRun run = Fleet(shape, {}, {}, cost).run(poisson(1e6, 100, FixedLength{20}, FixedLength{20}), 1, {});
    CHECK_FALSE(run.diverges);
    CHECK_FALSE(run.unsettled);
    CHECK(run.figures.queueing.mean() < 0.1 * run.figures.e2e.mean());
  }
}

}  // namespace draftline
