// SPDX-License-Identifier: Apache-2.0
// Requests that a scheduler receives late, and prompts that wait for others.
#include "tests/catch.h"
#include "tests/sim/plain_cost.h"

namespace draftline {

namespace {

// Steps of a millisecond, prompts without time.
PlainCost steps_of_a_millisecond() {
  PlainCost cost;
  cost.fixed = kTicksPerSecond / 1000;
  cost.per_sequence = cost.per_context = cost.per_prompt_token = 0;
  return cost;
}

// Requests of 100 and 10 tokens that arrive at these milliseconds, beside one of 200 tokens on each of `ranks` from the
// start.
std::vector<ServedRequest> served(const SchedulerLimits& limits, std::vector<double> arrivals, Batching batching,
                                  int ranks = 1) {
  auto trace = std::make_shared<WorkloadTrace>();
  for (int i = 0; i < ranks; ++i) trace->requests.push_back({0, 100, 200, 0});
  for (const double at : arrivals) trace->requests.push_back({1e-3 * at, 100, 10, 0});
  Workload w = poisson(1, count(trace->requests), RecordedLength{}, RecordedLength{});
  w.arrivals.kind = ArrivalProcess::Kind::trace;
  w.length_trace = w.arrival_trace = trace;
  PlainCost cost = steps_of_a_millisecond();
  SchedulerLimits all = limits;
  all.batching = batching;
  all.max_num_batched_tokens = 1000;
  Log log;
  FleetShape shape;
  shape.parts = ranks;
  Fleet(shape, all, {}, cost).run(w, 1, {}, &log);
  std::ranges::sort(log.requests, {}, [](const ServedRequest& r) { return r.request.id; });
  return log.requests;
}

double first_token(const ServedRequest& r) { return 1e3 * to_double(r.first_token) / kTicksPerSecond; }

}  // namespace

TEST_CASE(
    "a scheduler receives requests after so many decode steps, and at once when it is idle or has computed prompts") {
  SchedulerLimits limits;
  limits.receive_interval = 10;
  // The first prompt is computed at once, and requests are received after it and then every ten milliseconds.
  for (const auto batching : {Batching::continuous, Batching::prefill_first}) {
    const auto late = served(limits, {3.5, 12.5}, batching), usual = served({}, {3.5, 12.5}, batching);
    const double step = batching == Batching::continuous ? 1 : 0;  // a prompt is part of a decode step, or has no time
    CHECK(first_token(usual[1]) == Approx(4 + step));
    CHECK(first_token(late[1]) == Approx(10 + step));
    CHECK(first_token(late[2]) > first_token(late[1]) + 8);
    CHECK(first_token(late[2]) < first_token(late[1]) + 12);
  }
}

TEST_CASE("prompts wait beside running sequences for so many steps or tokens") {
  SchedulerLimits limits;
  limits.prompt_wait = {20, 0.25};  // 250 tokens
  const auto alone = served(limits, {5.5}, Batching::continuous);
  CHECK(first_token(alone[1]) == Approx(26 + 1));
  // With the third request 300 tokens wait.
  const auto together = served(limits, {5.5, 7.5, 12.5}, Batching::continuous);
  for (const int i : {1, 2, 3}) CHECK(first_token(together[at(i)]) == Approx(13 + 1));
  // A prompt that arrives in a step with a long one waits all the same.
  const auto after = served(limits, {5.5, 7.5, 12.5, 13.5}, Batching::continuous);
  CHECK(first_token(after[4]) == Approx(34 + 1));
  // Nothing runs: there is nothing to wait for.
  CHECK(first_token(together[0]) <= 1);
}

TEST_CASE("prompts of a rank wait for those of the others, for so many steps, while all ranks decode") {
  SchedulerLimits limits;
  limits.attention_dp_timeout = 20;
  const auto first = [&](std::vector<double> arrivals, int ranks, int request) {
    return first_token(served(limits, std::move(arrivals), Batching::continuous, ranks)[at(request)]);
  };
  CHECK(first({}, 2, 1) <= 1);
  CHECK(first({5.5}, 2, 2) == Approx(26 + 1));
  for (const int request : {2, 3}) CHECK(first({5.5, 12.5}, 2, request) == Approx(13 + 1));
  CHECK(first({5.5, 12.5}, 3, 3) == Approx(26 + 1));  // the third rank has no prompt
  CHECK(first({5.5}, 1, 1) == Approx(6 + 1));
  CHECK(first({300.5, 305.2}, 2, 3) == Approx(305.5 + 1));  // the other rank is idle
  limits = {};
  CHECK(first({5.5}, 2, 2) == Approx(6 + 1));
}

}  // namespace draftline
