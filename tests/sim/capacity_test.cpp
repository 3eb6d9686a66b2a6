// SPDX-License-Identifier: Apache-2.0
// What a fleet bears, however the question is put.
#include "sim/capacity.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iomanip>
#include <sstream>

#include "sim/load_search.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

FleetOption fleet_of(const std::string& workload, const std::string& targets, const std::string& arrivals = "",
                     double headroom = 0) {
  const FreshFolder folder;
  std::ofstream(folder.path() / "slow_first.csv") << "num_prefill_tokens,num_decode_tokens\n30000,2\n" + [] {
    std::string rows;
    for (int i = 0; i < 60; ++i) rows += "100,20\n";
    return rows;
  }();
  std::ofstream(folder.path() / "arrivals.csv") << arrivals;
  const auto file = folder.path() / "s.json";
  std::ofstream(file) << with(R"("workload": )" + workload + R"(, "slo": )" + targets);
  ServingSweep sweep(file, kData);
  sweep.validate();
  return smallest_fleet(sweep, 0, sweep.scenario().serving->prices, 64, 1, headroom);
}

}  // namespace

TEST_CASE("what a replica bears does not depend on the load that was asked about") {
  const auto at = [](const std::string& rate) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": ")" + rate + R"( /s"}, "requests": 600})",
                    R"({"ttft_p99": "500 ms", "tpot_p99": "20 ms"})");
  };
  const FleetOption idle = at("0.1"), busy = at("8");
  REQUIRE(!idle.obstacle);
  REQUIRE(!busy.obstacle);
  CHECK(idle.capacity.value == Approx(busy.capacity.value).epsilon(0.05));
}

TEST_CASE("what a replica bears does not depend on the number of requests that were asked for") {
  const auto with_requests = [](int n) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": "100 /s"}, "requests": )" + std::to_string(n) + "}",
                    R"({"ttft_p99": "500 ms", "tpot_p99": "20 ms"}, "replications": 1)");
  };
  const FleetOption few = with_requests(20), many = with_requests(4000);
  REQUIRE(!few.obstacle);
  CHECK(few.replicas == many.replicas);
  CHECK(few.capacity.value == Approx(many.capacity.value).epsilon(0.1));
  CHECK_FALSE(few.capacity_at_least);
}

TEST_CASE("bursts are judged over many of them") {
  const std::string mean_rate_of_50 =
      R"({"arrivals": {"process": "on_off", "rate": "100 /s", "on": "5 s", "off": "5 s"},
    "lengths": {"prompt": 800, "output": 200}, "requests": )";
  const std::string targets = R"({"tpot_p99": "16.5 ms"}, "replications": 1)";
  const FleetOption few = fleet_of(mean_rate_of_50 + "1000}", targets),
                    many = fleet_of(mean_rate_of_50 + "20000}", targets);
  REQUIRE(few.replicas > 2);
  CHECK(few.replicas == many.replicas);
  CHECK(few.capacity.value == Approx(many.capacity.value).epsilon(0.05));
}

TEST_CASE("steps as long as kernels' errors allow take more replicas, or too long for any number of them") {
  const auto at = [](const char* rate, const std::string& tpot) {
    return fleet_of(
        R"({"arrivals": {"process": "poisson", "rate": ")" + std::string(rate) + R"( /s"}, "requests": 600})",
        R"({"ttft_p99": "500 ms", "tpot_p99": ")" + tpot + R"("}, "replications": 1)");
  };
  const FleetOption idle = at("0.1", "50 ms"), busy = at("400", "50 ms");
  REQUIRE(idle.slowest_step);
  REQUIRE(*idle.slowest_step > 1.05);
  CHECK(idle.replicas_if_slowest == 1);
  REQUIRE(busy.replicas > 4);
  REQUIRE(busy.replicas_if_slowest);
  CHECK(*busy.replicas_if_slowest > busy.replicas);
  CHECK(*busy.replicas_if_slowest <= std::ceil(busy.replicas * *busy.slowest_step) + 1);
  // Near the time of a step alone no replicas help, however much load they bear.
  const FleetOption tight = at("0.1", to_text(1.04 * idle.runs.front().tpot.p99));
  REQUIRE(tight.replicas == 1);
  CHECK(tight.headroom() > *tight.slowest_step - 1);
  CHECK(!tight.replicas_if_slowest);
}

TEST_CASE("steps that take longer leave the latency of a link as it is") {
  const auto of = [](const std::string& ttft) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": "20 /s"}, "requests": 600,
                        "lengths": {"prompt": 800, "output": 100}})",
                    R"({"ttft_p99": ")" + ttft + R"("}, "replications": 1,
                        "disaggregation": {"prefill_replicas": 3, "bandwidth": "25 GB/s", "latency": "500 ms"})");
  };
  const FleetOption far = of(to_text(1.05 * of("2 s").runs.front().ttft.p99));
  REQUIRE(far.slowest_step);
  REQUIRE(*far.slowest_step > 1.06);  // which the whole latency would not bear
  CHECK(far.replicas_if_slowest == far.replicas);
}

TEST_CASE("the replicas for longer steps meet the targets in every replication, as those of faster arrivals do") {
  const auto digits = [](double x) {
    std::ostringstream text;
    text << std::setprecision(17) << x;
    return text.str();
  };
  const auto of = [&](double rate, double tpot_ms) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": ")" + digits(rate) + R"( /s"}, "requests": 400,
                        "lengths": {"prompt": {"distribution": "lognormal", "mean": 700, "cv": 1},
                                    "output": {"distribution": "lognormal", "mean": 220, "cv": 0.8}}})",
                    R"({"tpot_p99": ")" + digits(tpot_ms) + " ms\"}");
  };
  for (const double rate : {40.0, 80.0, 120.0}) {
    const FleetOption o = of(rate, 12);
    REQUIRE(o.slowest_step);
    const FleetOption faster = of(rate * *o.slowest_step, 12 / *o.slowest_step);
    INFO("rate " << rate << ", " << o.replicas << " replicas");
    CHECK(o.replicas_if_slowest == (faster.replicas > 0 ? std::optional(faster.replicas) : std::nullopt));
  }
}

TEST_CASE("a recording that is too short to fill a replica says what it bears at least") {
  std::string rows = "arrived_at,num_prefill_tokens,num_decode_tokens\n";
  for (int i = 0; i < 40; ++i) rows += std::to_string(i) + ",100,20\n";
  const FleetOption o = fleet_of(R"({"arrivals": {"trace": "arrivals.csv"}})", R"({"ttft_p99": "1 s"})", rows);
  REQUIRE(!o.obstacle);
  CHECK(o.capacity_at_least);
  CHECK(o.capacity > o.load);
  CHECK(o.caveats.warnings.back() ==
        "of 40 requests fewer than 20 are slower than ttft_p99: its value depends on chance");
  const FleetOption median = fleet_of(R"({"arrivals": {"trace": "arrivals.csv"}})", R"({"ttft_p50": "1 s"})", rows);
  for (const std::string& warning : median.caveats.warnings) CHECK(!contains(warning, "depends on chance"));
}

TEST_CASE("twenty requests of a run are slower than the highest limited percentile") {
  const auto requests = [](const std::string& targets) {
    ServingSweep sweep(Document::from_text(with(R"("slo": {)" + targets + R"(}, "workload": {"requests": 20, "arrivals":
                         {"process": "poisson", "rate": "1 /s"}, "lengths": {"prompt": 200, "output": 20}})"),
                                           "s.json"),
                       kData);
    sweep.validate();
    const auto point = sweep.prepare(point_at(sweep.scenario(), 0));
    return steady_run(*point, 1, sweep.scenario().serving->targets).requests;
  };
  CHECK(requests(R"("ttft_mean": "9 s")") < 200);
  CHECK(requests(R"("ttft_p90": "9 s")") >= 200);
  CHECK(requests(R"("ttft_p90": "9 s")") < 2000);
  CHECK(requests(R"("ttft_p99": "9 s", "tpot_p50": "9 s")") >= 2000);
  CHECK(requests(R"("ttft_p99.9": "9 s")") >= 20'000);
  CHECK(requests(R"("ttft_p99.999": "9 s")") == kMostRequests);  // 2,000,000 would be needed
}

TEST_CASE("a run says by how much it misses a target, and misses all if requests were refused") {
  ServingSweep sweep(Document::from_text(with(R"("slo": {"ttft_p99": "9 s"}, "workload": {"requests": 20, "arrivals":
                       {"process": "poisson", "rate": "1 /s"}, "lengths": {"prompt": 200, "output": 20}})"),
                                         "s.json"),
                     kData);
  sweep.validate();
  ServingOutcome outcome = sweep.at(0, {});
  ServingRun& run = std::get<ServingResult>(outcome.result).runs.front();
  const auto limited = [&](double share_of_value) {
    return LatencyTargets{
        {{LatencyTargets::Target::Of::ttft, 0.99, share_of_value * run.figures.ttft.quantile(0.99), "ttft_p99"}}};
  };
  CHECK(!shortfall(run, {}, limited(1.5)));
  CHECK(contains(*shortfall(run, {}, limited(0.8)), " (25 % over)"));
  CHECK(contains(*shortfall(run, {}, limited(0.9999)), " (less than 1 % over)"));
  CHECK(missed_targets(run, limited(1.5)).empty());
  run.figures.refused = 1;
  REQUIRE(missed_targets(run, limited(1.5)).size() == 1);
  CHECK(missed_targets(run, limited(1.5)).front().name == "ttft_p99");
}

TEST_CASE("a fleet bears no more than its servers for prompts do, and a spare is one of each kind") {
  const auto with_servers_for_prompts = [](int n) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": "16 /s"}, "requests": 400,
                        "lengths": {"prompt": 2000, "output": 200}})",
                    R"({"ttft_p99": "1 s", "tpot_p99": "50 ms"}, "scheduler": {"max_num_seqs": 16}, "replications": 1,
                        "disaggregation": {"bandwidth": "50 GB/s", "prefill_replicas": )" +
                        std::to_string(n) + "}");
  };
  constexpr double kPromptsPerSecond = 20;  // of one server: `draftline run` has 49.9 ms a prompt
  const FleetOption one = with_servers_for_prompts(1), two = with_servers_for_prompts(2);
  REQUIRE(!one.obstacle);
  REQUIRE(one.replicas > 1);                                               // for the decoding of 16 sequences at once
  CHECK(one.replicas * one.capacity.value < 1.05 * kPromptsPerSecond);     // at the end a queue of a second is left
  CHECK(one.fleet_capacity() * LoadSearch::kPrecise >= one.load);          // which it serves
  CHECK(two.capacity.value * LoadSearch::kPrecise >= one.capacity.value);  // each is found to that factor
  CHECK(one.cost_with_spare == one.cost + 2);

  const FleetOption full = fleet_of(R"({"arrivals": {"process": "poisson", "rate": "26 /s"}, "requests": 4000,
                                        "lengths": {"prompt": 2000, "output": 20}})",
                                    R"({"ttft_p99": "1 s"}, "replications": 1,
                                        "disaggregation": {"bandwidth": "50 GB/s", "prefill_replicas": 1})");
  CHECK(contains(full.obstacle.value_or(""), "1 of them for prompts, ttft_p99 "));
  CHECK(contains(full.obstacle.value_or(""), ": more \"prefill_replicas\" are needed"));
}

TEST_CASE("what a fleet bears it bears in every replication that is simulated, and hardly more in all", "[S19]") {
  const FreshFolder folder;
  std::ofstream(folder.path() / "s.json") << with(
      R"("workload": {"arrivals": {"process": "poisson", "rate": "60 /s"}, "requests": 4000,
                      "lengths": {"prompt": 800, "output": 250}},
         "slo": {"ttft_p99": "60 ms", "tpot_p99": "30 ms"}, "replications": 3)");
  ServingSweep sweep(folder.path() / "s.json", kData);
  const LatencyTargets& targets = sweep.scenario().serving->targets;
  const FleetOption o = smallest_fleet(sweep, 0, {}, 64, 1);
  REQUIRE(!o.obstacle);
  REQUIRE(o.replicas > 1);
  const auto point = sweep.prepare(o.point);
  point->fleet.replicas = o.replicas;
  const Workload load = point->workload;
  const auto bears = [&](double rate) {
    point->workload = at_rate(load, rate / o.load.value);
    bool all = true;
    for (int replication = 0; replication < 3; ++replication) {
      const ServingRun run = point->run(seed_of_replication(1, replication), targets);
      all = all && !run.diverges && std::all_of(targets.targets.begin(), targets.targets.end(), [&](const auto& t) {
              return run.figures.meets(t);
            });
    }
    return all;
  };
  CHECK(bears(o.replicas * o.capacity.value));
  CHECK_FALSE(bears(1.03 * o.replicas * o.capacity.value));
}

TEST_CASE("a queue that grows slowly bounds what a fleet bears, though no target speaks of waiting") {
  const std::string lengths = R"("lengths": {"prompt": 800, "output": 250})",
                    seats = R"("scheduler": {"max_num_seqs": 16})";
  const FreshFolder folder;
  std::ofstream(folder.path() / "s.json")
      << with(R"("workload": {"arrivals": {"process": "poisson", "rate": "12 /s"}, "requests": 4000, )" + lengths +
              "}, " + seats);
  ServingSweep sweep(folder.path() / "s.json", kData);
  const auto overloaded = std::get<ServingResult>(sweep.at(0, {}).result);
  const double serves = 12 * (1 - overloaded.runs.front().queue_growth);  // requests/s
  const FleetOption o =
      fleet_of(R"({"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 1000, )" + lengths + "}",
               R"({"tpot_p99": "1 s"}, "replications": 1, )" + seats);
  REQUIRE(!o.obstacle);
  CHECK(o.capacity.value < 1.02 * serves);
  CHECK(o.capacity.value > 0.9 * serves);
}

TEST_CASE("requests of the warm-up are no obstacle of a plan") {
  const auto with_warm_up = [](const std::string& requests) {
    return fleet_of(R"({"arrivals": {"process": "poisson", "rate": "0.1 /s"}, "requests": 61, "warm_up": )" + requests +
                        R"(, "lengths": {"trace": "slow_first.csv"}})",
                    R"({"ttft_mean": "12 ms"})");
  };
  CHECK(with_warm_up("0").obstacle);  // the first prompt has 300 times the tokens of the others
  CHECK(!with_warm_up("1").obstacle);
}

TEST_CASE("an option that its devices can't share is told, and the others are planned") {
  ServingSweep sweep(
      Document::from_text(R"({"device": ["h100-nvl", "l40s"], "transformer": "qwen3-8b", "engine": "vllm",
    "tensor_parallel": 2, "method": {"name": "autoregressive"}, "slo": {"ttft_p99": "9 s"}, "workload": {"arrivals":
    {"process": "poisson", "rate": "0.1 /s"}, "requests": 20, "lengths": {"prompt": 200, "output": 20}}})",
                          "s.json"),
      kData);
  sweep.validate();
  const auto option = [&](std::size_t i) { return smallest_fleet(sweep, i, sweep.scenario().serving->prices, 8, 0); };
  CHECK(option(0).obstacle->starts_with("h100-nvl has no link data for 2 devices"));
  CHECK(!option(0).can_run);
  CHECK(!option(1).obstacle);
}

TEST_CASE("texts beyond the network's positions are served by no fleet, and by no server") {
  const std::string longer = R"({"device": "h100-sxm", "transformer": "qwen3-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}, "slo": {"ttft_p99": "60 s"}, "workload": {"arrivals":
    {"process": "poisson", "rate": "0.1 /s"}, "requests": 20, "lengths": {"prompt": 40900, "output": )";
  const auto option = [&](const std::string& output) {
    ServingSweep sweep(Document::from_text(longer + output + "}}}", "s.json"), kData);
    return smallest_fleet(sweep, 0, sweep.scenario().serving->prices, 8, 0);
  };
  CHECK(!option("60").obstacle);
  const FleetOption beyond = option("61");
  CHECK(beyond.obstacle == "texts of 40961 tokens on average, qwen3-8b has 40960 positions");
  CHECK(!beyond.can_run);
}

TEST_CASE("a fleet that must refuse requests is no option") {
  const FleetOption o = fleet_of(R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 100, "lengths":
                                     {"prompt": 1000, "output": {"distribution": "lognormal", "mean": 100000, "cv": 2}}})",
                                 R"({"ttft_p99": "1 h"})");
  CHECK(o.obstacle->find(" tokens do not fit the KV pool of ") != std::string::npos);
}

TEST_CASE("a fleet meets the targets in every replication, and each alone has its own smallest fleet", "[once]") {
  const std::string load = R"({"arrivals": {"process": "gamma", "rate": "30 /s", "cv": 4}, "requests": 200})",
                    targets = R"({"ttft_p99": "120 ms"}, "replications": )";
  const FleetOption one = fleet_of(load, targets + "1"), many = fleet_of(load, targets + "8");
  REQUIRE(!many.obstacle);
  CHECK(one.runs.size() == 1);
  CHECK(many.runs.size() == 8);
  CHECK(many.alone.size() == 8);
  CHECK(many.replicas >= one.replicas);
  CHECK(many.alone.front().cost == one.cost);  // the first has the seed itself
  CHECK(many.alone.front().replicas == one.replicas);
  double least = many.cost, most = 0;
  for (const ReplicationFleet& r : many.alone) least = std::min(least, r.cost), most = std::max(most, r.cost);
  CHECK(most == many.cost);  // else fewer replicas would do
  CHECK(least < many.cost);  // bursts differ: a single simulation would have said less
  CHECK(many.headroom() == Approx(many.replicas * many.capacity.value / 30 - 1));
  CHECK(many.cost_with_spare == many.cost + 1);
}

TEST_CASE("each replication recommends what is cheapest in it, and of equally cheap options the fastest") {
  const auto option = [](std::vector<ReplicationFleet> alone) {
    FleetOption o;
    o.alone = std::move(alone);
    return o;
  };
  FleetOption obstacle;
  obstacle.obstacle = "too slow";
  std::vector<FleetOption> all;
  all.push_back(std::move(obstacle));
  all.push_back(option({{1, 2, Seconds{5}}, {1, 2, Seconds{5}}, {1, 3, Seconds{5}}}));
  all.push_back(option({{1, 2, Seconds{4}}, {1, 3, Seconds{4}}, {1, 2, Seconds{9}}}));
  CHECK(recommended_alone(all) == std::vector<std::size_t>{2, 1, 2});
  CHECK(recommended_alone({}).empty());
}

TEST_CASE("whole nodes are paid for, and replicas that fit share them") {
  const auto cost = [](const std::string& more) {
    const FleetOption o = fleet_of(R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 60})",
                                   R"({"ttft_p99": "1 s"}, "replications": 1, )" + more);
    REQUIRE(!o.obstacle);
    CHECK(o.replicas == 1);
    return std::tuple(o.nodes, o.cost, o.cost_with_spare);
  };
  using Nodes = std::optional<int>;
  CHECK(cost(R"("prices": {"h100-sxm": 2})") == std::tuple(Nodes(), 2.0, 4.0));
  CHECK(cost(R"("prices": {"h100-sxm": 2}, "devices_per_node": 8)") == std::tuple(Nodes(1), 16.0, 16.0));
  CHECK(cost(R"("prices": {"h100-sxm": 2}, "devices_per_node": {"h100-sxm": 1})") == std::tuple(Nodes(1), 2.0, 4.0));
  // A replica of three stages does not share a node of four; one of three does not fit nodes of two.
  CHECK(cost(R"("pipeline_parallel": 3, "devices_per_node": 4)") == std::tuple(Nodes(1), 4.0, 8.0));
  CHECK(cost(R"("pipeline_parallel": 3, "devices_per_node": {"h100-sxm": 2})") == std::tuple(Nodes(2), 4.0, 8.0));
}

TEST_CASE("a fleet with headroom meets the targets at the load with it, and its latencies are those of the load") {
  const std::string load = R"({"arrivals": {"process": "poisson", "rate": "60 /s"}, "requests": 2000,
                               "lengths": {"prompt": 800, "output": 250}})",
                    targets = R"({"ttft_p99": "60 ms", "tpot_p95": "30 ms"}, "replications": 2)";
  const FleetOption none = fleet_of(load, targets), half = fleet_of(load, targets, "", 0.5);
  REQUIRE(!none.obstacle);
  REQUIRE(!half.obstacle);
  CHECK(none.headroom() < 0.5);  // else the headroom changes nothing
  CHECK(half.headroom() >= 0.5);
  CHECK(half.replicas > none.replicas);
  CHECK(half.load.value == Approx(60));
  REQUIRE(half.runs.front().limited.size() == 2);
  CHECK(half.runs.front().limited[1] == half.runs.front().tpot.p95);
  // So do the fleets of single replications, the largest of which is the option's.
  int largest = 0;
  for (std::size_t i = 0; i < half.alone.size(); ++i) {
    if (half.alone[i].replicas < half.replicas) continue;
    ++largest;
    CHECK(half.alone[i].e2e == half.runs[i].e2e.mean);
  }
  CHECK(largest > 0);
  // As many replicas have the same latencies, whatever the headroom.
  const FleetOption again = fleet_of(load, targets, "", 0.49);
  REQUIRE(again.replicas == half.replicas);
  CHECK(again.runs.front().ttft.p99 == half.runs.front().ttft.p99);
}

TEST_CASE("a fleet that is too small says which targets it misses, by how much and at which load") {
  const FleetOption o = fleet_of(R"({"arrivals": {"process": "poisson", "rate": "9000 /s"}, "requests": 4000,
                                     "lengths": {"prompt": 800, "output": 20}})",
                                 R"({"ttft_p90": "100 ms", "e2e_p95": "300 ms"}, "replications": 1)", "", 0.1);
  REQUIRE(o.obstacle);
  CHECK(o.can_run);
  CHECK(contains(*o.obstacle, "more than 64 devices are needed; with 64 at 9.90 k/s, ttft_p90 "));
  CHECK(contains(*o.obstacle, " % over), e2e_p95 "));
  REQUIRE(o.missed.size() == 2);
  CHECK(o.missed[0].name == "ttft_p90");
  CHECK(o.missed[0].excess() > 0);
  CHECK(o.missed[0].limit == Seconds{0.1});
}

TEST_CASE("combinations of values that can't be served are options with a reason, unless all are so") {
  const auto plan = [](const std::string& more) {
    return Document::from_text(R"({"device": ["h100-sxm", "h100-nvl"], "transformer": "llama-3.1-8b", "engine": "vllm",
      "slo": {"ttft_p99": "9 s"}, )" +
                                   more + "}",
                               "s.json");
  };
  const std::string load = R"("workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 20,
                              "lengths": {"prompt": 200, "output": 20}})",
                    plain = R"("method": {"name": "autoregressive"}, )",
                    two = R"("method": [{"name": "eagle3", "draft_length": 2, "acceptance": {"rate": 0.8}},
                                        {"name": "eagle3", "draft_length": 4, "acceptance": {"rate": 0.8}}], )";
  const auto reasons = [&](const std::string& more) {
    ServingSweep sweep(plan(more), kData);
    sweep.validate();
    check_plannable(sweep.scenario());
    std::vector<std::string> all;
    for (std::size_t i = 0; i < sweep.scenario().points(); ++i) {
      const FleetOption o = smallest_fleet(sweep, i, sweep.scenario().serving->prices, 8, 0);
      all.push_back(o.obstacle.value_or(""));
      CHECK(o.can_run == !o.obstacle.has_value());
    }
    return all;
  };
  const auto shared = reasons(plain + R"("tensor_parallel": [1, 3], )" + load);
  REQUIRE(shared.size() == 4);
  CHECK(shared[0].empty());
  CHECK(contains(shared[1], "tensor_parallel 3 does not divide"));

  const auto stages = reasons(plain + R"("pipeline_parallel": [1, 2, 40], )" + load);
  REQUIRE(stages.size() == 6);
  CHECK(stages[1].empty());
  CHECK(contains(stages[2], "/pipeline_parallel: has more stages than llama-3.1-8b has layers"));
  CHECK(stages[3].empty());
  CHECK(contains(stages[4], "/pipeline_parallel: h100-nvl has no link data"));

  const auto lengths = reasons(two + R"("policy": {"draft_length_by_batch_size": {"1": 4, "8": 2}}, )" + load);
  CHECK(contains(lengths[0], "/policy/draft_length_by_batch_size/1: must be at most 2, got 4"));
  CHECK(lengths[1].empty());

  const auto arrivals = reasons(plain + R"("workload": {"arrivals": [{"process": "poisson", "rate": "1 /s"},
      {"process": "closed", "concurrency": 4}], "requests": 20, "lengths": {"prompt": 200, "output": 20}})");
  CHECK(arrivals[0].empty());
  CHECK(arrivals[1] == "a plan requires arrivals with a rate");

  const std::string none = mistake_of([&] { reasons(plain + R"("tensor_parallel": [3, 5], )" + load); });
  CHECK(contains(none, "s.json#/tensor_parallel/0: tensor_parallel 3 does not divide"));
  CHECK(contains(none, "s.json#/tensor_parallel/1: tensor_parallel 5 does not divide"));
  CHECK(contains(mistake_of([&] { reasons(plain + R"("pipeline_parallel": 40, )" + load); }),
                 "s.json#/pipeline_parallel: has more stages than llama-3.1-8b has layers"));
}

TEST_CASE("where one network has too few layers and devices can't share the other, both are mistakes") {
  const auto mistakes = [](const std::string& stages) {
    ServingSweep sweep(Document::from_text(R"({"device": "h100-sxm", "transformer": ["llama-3.2-1b", "qwen2.5-7b"],
      "engine": "vllm", "tensor_parallel": 8, "method": {"name": "autoregressive"}, "slo": {"ttft_p99": "9 s"},
      "workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 20,
                   "lengths": {"prompt": 200, "output": 20}}, "pipeline_parallel": )" +
                                               stages + "}",
                                           "s.json"),
                       kData);
    sweep.validate();
  };
  CHECK_NOTHROW(mistakes("[20, 2]"));
  const std::string both = mistake_of([&] { mistakes("20"); });
  CHECK(contains(both, "s.json#/tensor_parallel: tensor_parallel 8 does not divide the 28 heads of qwen2.5-7b"));
  CHECK(contains(both, "s.json#/pipeline_parallel: has more stages than llama-3.2-1b has layers"));
}

}  // namespace draftline
