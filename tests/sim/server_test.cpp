// SPDX-License-Identifier: Apache-2.0
// Laws of every serving run, over random workloads, schedulers and drafts.
#include <algorithm>
#include <map>
#include <set>

#include "core/rng.h"
#include "tests/catch.h"
#include "tests/sim/plain_cost.h"

namespace draftline {

namespace {

struct Case {
  Workload workload;
  SchedulerLimits limits;
  FleetShape fleet;
  Drafting drafting;
  DraftOutcomes outcomes;
  std::string text;
};

Case random_case(std::uint64_t seed) {
  Rng rng(seed, "a serving case");
  Case c;
  const auto below = [&](std::uint64_t n) { return static_cast<int>(rng.below(n)); };
  const auto length = [&](int most) {
    const bool varies = rng.below(2) == 0;
    const int least = 1 + below(5), longest = 6 + below(static_cast<std::uint64_t>(most));
    return varies ? Lengths{UniformLength{least, longest}} : Lengths{FixedLength{least}};
  };
  c.workload = poisson(1e4 * (1 + below(50)), 300, length(200), length(60));
  if (below(4) == 0) {
    c.workload.arrivals.kind = ArrivalProcess::Kind::closed;
    c.workload.arrivals.concurrency = 1 + below(20);
  }
  if (below(3) == 0) {  // prompts that begin alike
    auto trace = std::make_shared<WorkloadTrace>();
    for (int i = 0; i < 300; ++i) {
      const int shared = below(4), own = below(3), family = below(5);
      trace->requests.push_back({0, 1 + below(100) + kPrefixBlockTokens * (shared + own), 1 + below(60), 0});
      trace->prefix_hashes.emplace_back();
      for (int p = 0; p < shared; ++p) trace->prefix_hashes.back().push_back(10 * family + p);
      for (int p = 0; p < own; ++p) trace->prefix_hashes.back().push_back(1000 + 10 * i + p);
    }
    c.workload.length_trace = trace;
    c.workload.prompt = c.workload.output = RecordedLength{};
  }
  c.limits.prefix_caching = below(4) > 0;
  c.limits.batching = static_cast<Batching>(below(3));
  c.limits.max_num_seqs = 1 + below(16);
  c.limits.block_size = 1 << below(5);
  c.limits.max_num_batched_tokens = 128 + below(200);
  const int longest = c.workload.length_trace ? 5 * kPrefixBlockTokens + 170 : 280;
  c.limits.kv_blocks = (longest + below(250)) / c.limits.block_size + 6;  // tight: many are preempted
  c.limits.whole_prompts = below(2) == 0;
  c.limits.swap = below(2) == 0;
  c.limits.swap_per_token = Seconds{1e-9};
  c.fleet.replicas = 1 + below(3);
  c.fleet.routing = static_cast<FleetShape::Routing>(below(2));
  if (below(4) == 0 && c.limits.batching != Batching::static_batching &&
      c.workload.arrivals.kind == ArrivalProcess::Kind::poisson) {
    c.fleet.prefill_replicas = 1 + below(2);
    c.fleet.transfer_fixed = Seconds{1e-7};
    c.fleet.transfer_per_token = Seconds{1e-9};
  }
  if (below(2) == 0) {
    c.outcomes = DraftOutcomes::from_rates(std::vector<double>{0.8, 0.6, 0.5});
    c.drafting.draft_length = 3;
    c.drafting.lengths = {0, 1, 2, 3};
    c.drafting.rows = 4;
    c.drafting.policy.kind = static_cast<DraftPolicy::Kind>(below(5));
    c.drafting.policy.rules = {{1, 3}, {4, 1}, {8, 0}};
  }
  if (below(3) == 0 && c.limits.batching != Batching::static_batching && c.fleet.prefill_replicas == 0) {
    c.fleet.parts = 2 + below(3);
    c.fleet.between_parts = static_cast<FleetShape::Routing>(below(2));
  }
  if (Rng apart(seed, "ranks of servers that compute prompts"); c.fleet.prefill_replicas > 0 && apart.below(2) == 0) {
    c.fleet.parts = 1 + static_cast<int>(apart.below(3));
    c.fleet.prefill_parts = 1 + static_cast<int>(apart.below(3));
  }
  if (Rng apart(seed, "a shared prefix"); !c.workload.length_trace && apart.below(3) == 0)
    c.workload.shared_prefix =
        SharedPrefix{1 + static_cast<int>(apart.below(150)), 1 + static_cast<int>(apart.below(5)), c.limits.block_size};
  if (Rng apart(seed, "layers with windows"); apart.below(3) == 0)
    c.limits.kept.windows = {{8 + static_cast<int>(apart.below(300)), 0.25 * (1 + static_cast<int>(apart.below(3)))}};
  if (Rng apart(seed, "requests that wait for the scheduler"); apart.below(3) == 0) {
    c.limits.receive_interval = 1 + static_cast<int>(apart.below(12));
    c.limits.prompt_wait = {static_cast<int>(apart.below(10)), 0.1 * static_cast<double>(apart.below(11))};
    c.limits.attention_dp_timeout = static_cast<int>(apart.below(10));
  }
  c.text = "seed " + std::to_string(seed) + ", batching " + std::to_string(static_cast<int>(c.limits.batching)) +
           ", batch " + std::to_string(c.limits.max_num_seqs) + ", blocks " + std::to_string(c.limits.kv_blocks) +
           " of " + std::to_string(c.limits.block_size) + ", drafts " + std::to_string(c.drafting.draft_length) +
           ", policy " + std::to_string(static_cast<int>(c.drafting.policy.kind)) + ", servers " +
           std::to_string(c.fleet.servers()) + " of " + std::to_string(c.fleet.parts) + (c.limits.swap ? ", swap" : "");
  return c;
}

ServingRun run(const Case& c, PlainCost& cost, Log& log, std::uint64_t seed) {
  Drafting drafting = c.drafting;
  if (drafting.draft_length > 0) drafting.outcomes = &c.outcomes;
  static const DraftConfidence confidence(std::vector<double>{0.8, 0.6, 0.5}, 2);
  drafting.confidence = &confidence;
  return Fleet(c.fleet, c.limits, drafting, cost).run(c.workload, seed, {}, &log);
}

}  // namespace

TEST_CASE("whatever the scheduler does, every request is served once, wholly, in order of time, within the limits",
          "[S1][S2][S3][S4][S5]") {
  std::int64_t preempted = 0, speculated = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const Case c = random_case(seed);
    INFO(c.text);
    PlainCost cost;
    Log log;
    const ServingRun r = run(c, cost, log, seed);
    preempted += r.figures.preemptions;

    REQUIRE(log.requests.size() == 300);
    std::set<std::int64_t> ids;
    std::int64_t output = 0, recomputed = 0;
    for (const ServedRequest& q : log.requests) {
      ids.insert(q.request.id);
      output += q.request.output;
      recomputed += q.preemptions;
      CHECK(q.request.arrival <= q.started);
      CHECK(q.started < q.first_token);
      CHECK(q.first_token <= q.last_token);
      CHECK((q.first_token < q.last_token) == (q.request.output > 1));
      CHECK(q.steps <= q.request.output - 1);
    }
    REQUIRE(ids.size() == 300);
    CHECK(recomputed == r.figures.preemptions);
    CHECK(r.figures.all_tokens == output);

    const bool has_prefixes = c.workload.length_trace || c.workload.shared_prefix;
    const bool each_holds_its_text = c.limits.kept.all_alike() && !(has_prefixes && c.limits.shares_prefixes());
    std::int64_t decoded = 0;
    std::map<int, Ticks> free_from;                                                          // of each part
    std::map<std::pair<int, Ticks>, std::tuple<Ticks, Ticks, std::int64_t>> steps_of_parts;  // by server and start
    for (const StepRun& s : log.runs) {
      const std::tuple times(s.first, s.rise, s.steps);
      REQUIRE(steps_of_parts.try_emplace({c.fleet.server_of(s.server), s.start}, times).first->second == times);
      REQUIRE(s.start >= free_from[s.server]);
      REQUIRE(s.first > 0);
      free_from[s.server] = s.start + s.steps * s.first + s.rise * (s.steps * (s.steps - 1) / 2);
      if (each_holds_its_text) REQUIRE(s.kv_blocks * c.limits.block_size >= s.context);
      REQUIRE(s.kv_blocks <= c.limits.kv_blocks);
      REQUIRE(s.sequences <= c.limits.max_num_seqs);
      REQUIRE(s.drafts <= c.drafting.draft_length);
      if (c.limits.batching == Batching::continuous && s.prompt_tokens > 0)
        REQUIRE(s.prompt_tokens + s.sequences * (s.drafts + 1) <= c.limits.max_num_batched_tokens);
      decoded += s.emitted;
      speculated += s.drafts > 0;
    }
    // the first token of each comes from its prompt, and so does one after each time that it is computed again
    CHECK(decoded <= output - 300);
    CHECK(decoded >= output - 300 - recomputed);
    CHECK(r.figures.inter_token.count() >= (c.drafting.draft_length > 0 ? 0 : output - 300));
  }
  CHECK(preempted > 1000);
  CHECK(speculated > 1000);
}

TEST_CASE("a prompt that others began with is computed from where they part, while the cache holds it", "[S11]") {
  const auto run_with = [](bool caching, bool alike, std::int64_t kv_blocks, std::int64_t warm_up = 0) {
    auto trace = std::make_shared<WorkloadTrace>();
    for (int i = 0; i < 20; ++i) {
      trace->requests.push_back({0, 2 * kPrefixBlockTokens + 100, 5, 0});
      trace->prefix_hashes.push_back(alike ? std::vector<int>{1, 2} : std::vector<int>{10 * i, 10 * i + 1});
    }
    Workload w = poisson(1000, 20, RecordedLength{}, RecordedLength{});
    w.length_trace = trace;
    SchedulerLimits limits;
    w.warm_up = warm_up;
    limits.prefix_caching = caching;
    limits.kv_blocks = kv_blocks;
    PlainCost cost;
    Log log;
    const ServingRun r = Fleet({}, limits, {}, cost).run(w, 1, {}, &log);
    std::int64_t computed = 0;
    for (const StepRun& s : log.runs) computed += s.prompt_tokens;
    return std::tuple(computed, r.figures.reused_tokens, r.figures.fingerprint());
  };
  const std::int64_t prompt = 2 * kPrefixBlockTokens + 100;
  CHECK(std::get<0>(run_with(true, true, 1000)) == 20 * 100 + 2 * kPrefixBlockTokens);
  CHECK(std::get<1>(run_with(true, true, 1000)) == 19 * 2 * kPrefixBlockTokens);
  CHECK(std::get<1>(run_with(true, true, 1000, 15)) == 5 * 2 * kPrefixBlockTokens);  // the warm-up is left out
  CHECK(run_with(true, false, std::int64_t{1} << 36) ==
        run_with(true, false, 1000));  // room for more than an int counts
  CHECK(std::get<0>(run_with(true, false, 1000)) == 20 * prompt);
  CHECK(run_with(true, false, 1000) == run_with(false, false, 1000));
  CHECK(run_with(false, true, 1000) == run_with(false, false, 1000));
  CHECK(std::get<0>(run_with(true, false, 72)) == 20 * prompt);  // a pool of one prompt: each evicts the other
}

TEST_CASE("the least recently used prefix block is evicted first, those in use never", "[S11]") {
  PrefixCache cache(1);
  const std::vector<int> a{1, 2}, b{3}, c{1, 4};
  CHECK(cache.add(a, 0, 2) == 2);
  CHECK(cache.add(b, 0, 1) == 1);
  CHECK(cache.add(c, 0, 2) == 0);  // its first block is another's
  CHECK(cache.match(c).blocks == 1);
  CHECK(cache.release(b, 1) == 1);
  CHECK(cache.release(a, 2) == 2);
  cache.acquire(a, 1);
  CHECK(cache.evictable() == 2);
  cache.evict_to(1);
  CHECK(cache.match(b).blocks == 0);
  CHECK(cache.match(a).blocks == 2);
  cache.evict_to(0);
  CHECK(cache.match(a).blocks == 1);
}

TEST_CASE("prefix blocks that fill parts of KV blocks are evicted by what they fill") {
  PrefixCache cache(0.75);
  const std::vector<int> a{1, 2, 3, 4}, b{5, 6};
  CHECK(cache.size(4) == 3);
  cache.add(a, 0, 4);
  cache.add(b, 0, 2);
  CHECK(cache.release(a, 4) == 3);
  CHECK(cache.release(b, 2) == 1);
  CHECK(cache.match(a).evictable == 3);
  cache.evict_to(2);  // the last two of a
  CHECK(cache.evictable() == 2);
  CHECK(cache.match(a).blocks == 2);
  cache.acquire(a, 2);
  CHECK(cache.evictable() == 1);
  CHECK(cache.release(a, 1) == 0);  // the first block fills none by itself
  CHECK(cache.match(a).evictable == 0);
}

TEST_CASE("many steps at once are the same steps one by one", "[S6]") {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    const Case c = random_case(seed);
    INFO(c.text);
    PlainCost at_once, one_by_one;
    one_by_one.cell = 1;  // a price's line ends after every step
    one_by_one.per_wait = at_once.per_wait = 30'000;
    Log a, b;
    const ServingRun fast = run(c, at_once, a, seed), slow = run(c, one_by_one, b, seed);
    REQUIRE(fast.figures.fingerprint() == slow.figures.fingerprint());
    CHECK(fast.figures.steps == slow.figures.steps);
    CHECK(a.runs.size() <= b.runs.size());
    for (const double share : {0.01, 0.5, 0.99})
      CHECK(fast.figures.inter_token.quantile(share) == slow.figures.inter_token.quantile(share));
    CHECK(fast.figures.inter_token.mean().value == Approx(slow.figures.inter_token.mean().value));
  }
}

TEST_CASE("drafts that are never accepted cost their time and change nothing else", "[S8]") {
  PlainCost cost;
  cost.per_draft = 0;
  const Workload w = poisson(2e4, 200, FixedLength{50}, FixedLength{20});
  SchedulerLimits limits;
  const DraftOutcomes never = DraftOutcomes::from_rates(std::vector<double>{0, 0}),
                      always = DraftOutcomes::from_rates(std::vector<double>{1, 1});
  Drafting drafting{&never, 2, {0, 1, 2}, 3, {}, 0};
  Log plain, useless, useful;
  Fleet({}, limits, {}, cost).run(w, 1, {}, &plain);
  const ServingRun a = Fleet({}, limits, drafting, cost).run(w, 1, {}, &useless);
  for (std::size_t i = 0; i < plain.requests.size(); ++i)
    CHECK(plain.requests[i].last_token == useless.requests[i].last_token);
  CHECK(a.figures.acceptance_length() == 1);
  drafting.outcomes = &always;
  Fleet({}, limits, drafting, cost).run(w, 1, {}, &useful);
  for (const ServedRequest& r : useful.requests) CHECK(r.steps == 7);  // 19 tokens, three a step
}

TEST_CASE("rates give the acceptance length they stand for") {
  PlainCost cost;
  const std::vector<double> rates{0.8, 0.6, 0.5};
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(rates);
  const Drafting drafting{&outcomes, 3, {0, 1, 2, 3}, 4, {}, 0};
  const ServingRun r = Fleet({}, {}, drafting, cost).run(poisson(1e3, 2000, FixedLength{50}, FixedLength{200}), 3, {});
  CHECK(r.figures.acceptance_length() == Approx(1 + 0.8 + 0.48 + 0.24).epsilon(0.01));
}

TEST_CASE("who knows what will be accepted is never slower, and learning comes between", "[S16]") {
  PlainCost cost;
  cost.per_draft = 400'000;
  for (const double rate : {0.2, 0.5, 0.9}) {
    INFO(rate);
    const DraftOutcomes outcomes = DraftOutcomes::from_rates(std::vector<double>(4, rate));
    const auto tpot = [&](DraftPolicy::Kind kind) {
      Drafting drafting{&outcomes, 4, {0, 1, 2, 3, 4}, 5, {}, 0};
      drafting.policy.kind = kind;
      return Fleet({}, {}, drafting, cost)
          .run(poisson(1e4, 2000, FixedLength{100}, FixedLength{100}), 5, {})
          .figures.tpot.mean()
          .value;
    };
    const double oracle = tpot(DraftPolicy::Kind::oracle), learned = tpot(DraftPolicy::Kind::goodput),
                 fixed = tpot(DraftPolicy::Kind::fixed);
    CHECK(oracle < learned);
    CHECK(learned < 1.01 * fixed);
  }
}

TEST_CASE("a policy by batch size drafts what its table says") {
  PlainCost cost;
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(std::vector<double>{0.5, 0.5, 0.5});
  Drafting drafting{&outcomes, 3, {0, 1, 2, 3}, 4, {}, 0};
  drafting.policy.kind = DraftPolicy::Kind::by_batch_size;
  drafting.policy.rules = {{1, 3}, {4, 1}, {8, 0}};
  Log log;
  Fleet({}, {}, drafting, cost).run(poisson(2e5, 2000, FixedLength{20}, FixedLength{40}), 5, {}, &log);
  std::set<int> seen;
  for (const StepRun& s : log.runs) {
    if (s.sequences == 0) continue;
    seen.insert(s.drafts);
    CHECK(s.drafts == (s.sequences < 4 ? 3 : s.sequences < 8 ? 1 : 0));
  }
  CHECK(seen == std::set<int>{0, 1, 3});
}

TEST_CASE("decoding without drafts never takes more blocks than there are, though steps with drafts left some unused") {
  // Up to seven sequences draft, eight do not. Whose drafts were refused holds blocks that the others can't have.
  PlainCost cost;
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(std::vector<double>{0.5, 0.5, 0.5});
  Drafting drafting{&outcomes, 3, {0, 3}, 4, {}, 0};
  drafting.policy.kind = DraftPolicy::Kind::by_batch_size;
  drafting.policy.rules = {{1, 3}, {8, 0}};
  const Workload w = poisson(5e5, 300, FixedLength{20}, UniformLength{5, 60});
  SchedulerLimits limits;
  limits.batching = Batching::prefill_first;
  limits.block_size = 1;
  for (limits.kv_blocks = 200; limits.kv_blocks < 260; ++limits.kv_blocks) {
    INFO(limits.kv_blocks);
    Log log;
    Fleet({}, limits, drafting, cost).run(w, 1, {}, &log);
    const auto most = std::max_element(log.runs.begin(), log.runs.end(),
                                       [](const auto& a, const auto& b) { return a.kv_blocks < b.kv_blocks; });
    CHECK(most->kv_blocks <= limits.kv_blocks);
  }
}

TEST_CASE("a request that no pool holds is refused") {
  PlainCost cost;
  SchedulerLimits limits;
  limits.kv_blocks = 4;
  CHECK_THROWS_AS(Fleet({}, limits, {}, cost).run(poisson(1, 3, FixedLength{60}, FixedLength{10}), 1, {}), InputErrors);
}

TEST_CASE("a static batch whose prompts no int counts is refused") {
  PlainCost cost;
  SchedulerLimits limits;
  limits.batching = Batching::static_batching;
  limits.max_num_seqs = 130;
  limits.kv_blocks = std::int64_t{1} << 40;
  const auto prompts_of = [&](int tokens) {
    return Fleet({}, limits, {}, cost).run(poisson(1e6, 130, FixedLength{tokens}, FixedLength{2}), 1, {});
  };
  CHECK(prompts_of(1 << 18).figures.requests == 130);
  CHECK_THROWS_AS(prompts_of(1 << 24), InputErrors);
}

TEST_CASE("more than can be served diverges, less does not") {
  PlainCost cost;
  const auto diverges = [&](double rate) {
    return Fleet({}, {}, {}, cost).run(poisson(rate, 4000, FixedLength{500}, FixedLength{10}), 1, {}).diverges;
  };
  const double most = 1 / to_seconds(500 * cost.per_prompt_token).value;
  CHECK(diverges(1.3 * most));
  CHECK_FALSE(diverges(0.5 * most));
  // Static batches of 256 that fill: 188 wait at the last of 700 requests, 95 at half of them.
  SchedulerLimits limits;
  limits.batching = Batching::static_batching;
  const auto static_diverges = [&](double rate, int requests) {
    return Fleet({}, limits, {}, cost).run(poisson(rate, requests, FixedLength{500}, FixedLength{10}), 1, {}).diverges;
  };
  CHECK(static_diverges(1.5 * most, 4000));
  CHECK_FALSE(static_diverges(0.01 * most, 700));
}

TEST_CASE("the first step after prompts is told how long they took and who waited for them, once") {
  // Three requests in a row, of 10, 20 and 30 tokens: each prompt is a step of its own, the others wait.
  Case c;
  auto trace = std::make_shared<WorkloadTrace>();
  for (int i = 0; i < 3; ++i) trace->requests.push_back({2.5e-6 * i, 10 * (i + 1), 20, 0});
  trace->prefix_hashes.resize(3);
  c.workload.arrivals.kind = ArrivalProcess::Kind::trace;
  c.workload.arrival_trace = trace;
  c.workload.length_trace = trace;
  c.workload.prompt = c.workload.output = RecordedLength{};
  c.workload.requests = 3;
  c.limits.batching = Batching::prefill_first;
  c.limits.kv_blocks = 1000;
  PlainCost cost;
  Log plain, slowed;
  run(c, cost, plain, 1);
  REQUIRE(cost.waited.size() == 3);
  for (int i = 0; i < 3; ++i) {
    const PlainCost::Waited& w = cost.waited[static_cast<std::size_t>(i)];
    CHECK(w.sequences == i + 1);
    CHECK(w.drafts == 0);
    CHECK(w.prompts == 10 * (i + 1) * cost.per_prompt_token);
    CHECK(w.fresh == 1);
  }
  cost.waited.clear();
  cost.per_wait = 1234;
  run(c, cost, slowed, 1);
  CHECK(cost.waited.size() == 3);
  const auto last = [](const Log& log) {
    Ticks end = 0;
    for (const ServedRequest& r : log.requests) end = std::max(end, r.last_token);
    return end;
  };
  CHECK(last(slowed) == last(plain) + 3 * 1234);

  // Chunks that ride along keep nobody waiting.
  cost.waited.clear();
  c.limits.batching = Batching::continuous;
  run(c, cost, slowed, 1);
  CHECK(cost.waited.size() == 1);
}

TEST_CASE("prompts get what the rows that the policy has for a batch leave of the token budget") {
  PlainCost cost;
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(std::vector<double>{0.5, 0.5, 0.5});
  Drafting drafting{&outcomes, 3, {0, 1, 2, 3}, 4, {}, 0};
  drafting.policy.kind = DraftPolicy::Kind::by_batch_size;
  drafting.policy.rules = {{1, 3}, {8, 0}};
  SchedulerLimits limits;
  limits.max_num_batched_tokens = 64;
  Log log;
  Fleet({}, limits, drafting, cost).run(poisson(1e6, 400, FixedLength{100}, FixedLength{40}), 5, {}, &log);
  std::set<int> full;  // rows of a sequence in steps that use the whole budget
  for (const StepRun& s : log.runs) {
    if (s.prompt_tokens == 0) continue;
    const int rows = s.sequences < 8 ? 4 : 1;
    CHECK(s.prompt_tokens + s.sequences * rows <= limits.max_num_batched_tokens);
    if (s.sequences > 0 && s.prompt_tokens + s.sequences * rows == limits.max_num_batched_tokens) full.insert(rows);
  }
  CHECK(full == std::set<int>{1, 4});
}

TEST_CASE("a step that preempts admits no request, the victim included", "[S12]") {
  PlainCost cost;
  const DraftOutcomes outcomes = DraftOutcomes::from_rates(std::vector<double>{1, 1, 1});
  const Drafting drafting{&outcomes, 3, {0, 3}, 4, {}, 0};
  SchedulerLimits limits;
  limits.kv_blocks = 60;
  limits.block_size = 4;
  Log log;
  const ServingRun run =
      Fleet({}, limits, drafting, cost).run(poisson(1e6, 200, FixedLength{20}, UniformLength{20, 80}), 2, {}, &log);
  REQUIRE(run.figures.preemptions > 20);
  std::multiset<Ticks> finished;
  for (const ServedRequest& r : log.requests) finished.insert(r.last_token);
  int preempting = 0;
  for (std::size_t i = 1; i < log.runs.size(); ++i) {
    const StepRun &before = log.runs[i - 1], &step = log.runs[i];
    const auto left = static_cast<int>(finished.count(before.start + before.time()));
    if (before.prompt_tokens > 0 || step.sequences >= before.sequences - left) continue;
    CHECK(step.prompt_tokens == 0);
    ++preempting;
  }
  CHECK(preempting > 10);
}

TEST_CASE("a step's blocks are in use for all of it, and idle time counts") {
  PlainCost cost;
  Workload w = poisson(1, 1, FixedLength{160}, FixedLength{1});
  const ServingRun one = Fleet({}, {}, {}, cost).run(w, 1, {});
  CHECK(one.figures.mean_blocks() == 10);
  w.requests = 2;
  const ServingRun two = Fleet({}, {}, {}, cost).run(w, 1, {});
  CHECK(two.figures.mean_blocks() == Approx(10 * two.figures.busy_share()));
  CHECK(two.figures.busy_share() < 0.5);
}

TEST_CASE("servers that only compute prompts, and those that only decode, are loaded with what they have to do") {
  PlainCost cost;
  ServingFigures figures;
  const Request request{.id = 0, .arrival = 0, .prompt = 70, .output = 30};
  Server prompts(0, 1, {}, {}, {}, cost, figures), decodes(1, 1, {}, {}, {}, cost, figures),
      both(2, 1, {}, {}, {}, cost, figures);
  prompts.hand_over([](const ServedRequest&) {});
  prompts.submit(request);
  decodes.submit_prefilled({.request = request});
  both.submit(request);
  CHECK(prompts.outstanding_tokens() == 71);
  CHECK(decodes.outstanding_tokens() == 29);
  CHECK(both.outstanding_tokens() == 100);
}

}  // namespace draftline
