// SPDX-License-Identifier: Apache-2.0
// Data-parallel attention: parts of a server with a queue and a KV pool each, that step together.
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/step_table.h"
#include "tests/core/messages.h"
#include "tests/sim/plain_cost.h"
#include "tests/sim/served.h"

namespace draftline {

namespace {

FleetShape parts(int n) {
  FleetShape shape;
  shape.parts = n;
  return shape;
}

// Of each sequence 2 ns and of each prompt token 500 ps are others' rows too.
struct JointCost : PlainCost {
  Ticks shared_time(const StepLoad& l) override { return 2000 * l.sequences + 500 * l.prompt_tokens; }
};

const std::string kMixture = R"({"device": "h100-sxm", "tensor_parallel": 4, "transformer": "qwen3-30b-a3b",
  "engine": "vllm-0.19", "expert_parallel": true, "data_parallel_attention": 4, )";

// The mixture without a front end: a client's next request arrives as its last one ends, and no place is ever empty.
class WithoutFrontEnd {
 public:
  WithoutFrontEnd() {
    nlohmann::json engine = nlohmann::json::parse(std::ifstream(kData / "engines/vllm-0.19.json"));
    engine.erase("front_end");
    std::ofstream(folder_.path() / "engine.json") << engine;
  }
  std::string scenario(const std::string& rest) const {
    std::string s = kMixture;
    const std::string name = "vllm-0.19";
    return s.replace(s.find(name), name.size(), (folder_.path() / "engine.json").string()) + rest + "}";
  }

 private:
  FreshFolder folder_;
};

}  // namespace

TEST_CASE("parts step together: what the slowest takes, and experts' rows on average", "[S13]") {
  // Prompts of 100 and 10 tokens, 20 ns each, then two steps of 1.01 us: 0 [A100 | B10] 2 [A | B] 3.01 [A | B] 4.02.
  PlainCost apart;
  apart.per_context = 0;
  JointCost joint;
  joint.per_context = 0;
  for (auto& [cost, first, end] : {std::tuple<PlainCost*, Ticks, Ticks>{&apart, 2'000'000, 4'020'000},
                                   // 110 tokens are 55 a part, 45 fewer than the 100 that the step is priced with.
                                   {&joint, 2'000'000 - 45 * 500, 4'020'000 - 45 * 500}}) {
    Log log;
    Fleet(parts(2), {}, {}, *cost).run(closed_loop({{0, 100, 3, 0}, {0, 10, 3, 0}}, 2), 0, {}, &log);
    REQUIRE(log.requests.size() == 2);
    for (const ServedRequest& r : log.requests) {
      CHECK(r.first_token == first);
      CHECK(r.last_token == end);
    }
    CHECK(log.requests[0].server != log.requests[1].server);
  }
}

TEST_CASE("a part without requests adds nothing but a row, and the next request goes to it") {
  PlainCost cost;
  cost.per_context = 0;
  Log log;
  // A alone: 20 x 100 ns, then steps of 1.01 us. B and C arrive in a loop of two: each goes to the empty part.
  Fleet(parts(2), {}, {}, cost).run(closed_loop({{0, 100, 40, 0}, {0, 100, 3, 0}, {0, 100, 3, 0}}, 2), 0, {}, &log);
  REQUIRE(log.requests.size() == 3);
  CHECK(log.requests[0].server == 1);  // B, which is replaced by C
  CHECK(log.requests[1].server == 1);
  CHECK(log.requests[2].server == 0);
  CHECK(log.requests[1].request.arrival == log.requests[0].last_token);
}

TEST_CASE("unequal prompts make parts wait for each other") {
  const auto end = [](int one, int other, FleetShape::Routing how) {
    std::vector<RecordedRequest> all;
    for (int i = 0; i < 40; ++i) all.push_back({0, i % 2 == 0 ? one : other, 20, 0});
    PlainCost cost;
    FleetShape in_turn = parts(2);
    in_turn.between_parts = how;
    return Fleet(in_turn, {}, {}, cost).run(closed_loop(all, 8), 0, {}).figures.end;
  };
  using enum FleetShape::Routing;
  CHECK(end(100, 100, round_robin) < end(190, 10, round_robin));  // one part gets all long ones
  CHECK(end(190, 10, least_loaded) < end(190, 10, round_robin));  // each gets as many of both
}

TEST_CASE("each part has a KV pool of its own: none holds what all together could") {
  SchedulerLimits limits;
  limits.kv_blocks = 100;  // 1600 tokens
  PlainCost cost;
  const auto refused = [&](int tokens) {
    const Workload w = poisson(1e3, 20, UniformLength{tokens, tokens + 1}, FixedLength{2});
    return Fleet(parts(4), limits, {}, cost).run(w, 1, {}).figures.refused;
  };
  CHECK(refused(1590) == 0);
  CHECK_THROWS_AS(refused(1700), InputErrors);
}

TEST_CASE("a closed loop of requests that end one by one is what `run` says of parts") {
  const std::string
      plain = R"({"name": "autoregressive"})",
      eagle =
          R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.83, 0.723, 0.75], "intraclass_correlation": 0}})";
  const WithoutFrontEnd engine;
  struct Case {
    std::string method;
    int batch, prompt, output;
  };
  for (const Case& c : {Case{plain, 4, 3000, 64}, Case{plain, 32, 2000, 200}, Case{plain, 192, 200, 500},
                        Case{eagle, 4, 3000, 64}, Case{eagle, 32, 2000, 200}, Case{eagle, 128, 4000, 300}}) {
    INFO(c.method << " " << c.batch << " x " << c.prompt << " + " << c.output);
    const auto number = [](double x) { return std::to_string(static_cast<int>(x)); };
    const std::string what = R"("method": )" + c.method, batch = number(c.batch);
    const Prediction p = prediction(engine.scenario(what + R"(, "batch_size": )" + batch + R"(, "prompt_tokens": )" +
                                                    number(c.prompt) + R"(, "output_tokens": )" + number(c.output)));
    const auto loop = [&](const std::string& output) {
      return served(engine.scenario(what + R"(, "scheduler": {"max_num_seqs": )" + number(c.batch / 4) +
                                    R"(}, "workload": {"arrivals": {"process": "closed", "concurrency": )" + batch +
                                    R"(}, "lengths": {"prompt": )" + number(c.prompt) + R"(, "output": )" + output +
                                    R"(}, "requests": )" + number(30 * c.batch) + R"(, "warm_up": )" +
                                    number(5 * c.batch) + "}"));
    };
    const ServingResult r = loop(R"({"distribution": "uniform", "least": )" + number(0.6 * c.output) + R"(, "most": )" +
                                 number(1.4 * c.output) + "}");
    const ServingFigures& f = r.runs.front().figures;
    CHECK(r.devices == 4);
    CHECK(p.request.e2e.value == Approx(f.e2e.mean().value).epsilon(0.04));
    CHECK(p.throughput_with_prefill.value == Approx(f.throughput().value).epsilon(0.04));
    CHECK(p.request.ttft <= 1.03 * f.ttft.mean());  // no queue in it
    // Equal plain requests begin and end together in all parts, so that none waits for another's prompt.
    if (c.method == plain) CHECK(loop(number(c.output)).runs.front().figures.e2e.mean() < p.request.e2e);
  }
}

TEST_CASE("what parts share of a step is its experts and their exchange") {
  const auto s = ScenarioText(kMixture + R"("method": {"name": "autoregressive"}})").sweep();
  const Setup setup = s->setup(point_at(s->scenario(), 0));
  const MethodChoice& plain = autoregressive();
  StepTable table(s->pricer(), setup, {&plain}, plain);
  Setup all = setup;
  all.batch_size = 4 * 16;
  const StepBreakdown step = s->pricer().step_price(all, plain).breakdown(1000);
  const Ticks shared = table.shared_time({16, 0, 0});
  CHECK(to_seconds(shared).value ==
        Approx((step.of(Phase::verify, KernelKind::experts) + step.communication()).value).epsilon(1e-6));
  CHECK(shared < table.decode({16, 0, 16'000}).at(16'000));
  CHECK(table.shared_time({17, 0, 0}) > shared);
  const Chunk chunk{1000, 0};
  CHECK(table.shared_time({16, 0, 1000}) - shared < table.prefill({16, 0, 16'000}, {&chunk, 1}).device);
  CHECK(table.shared_time({16, 0, 1000}) > table.shared_time({16, 0, 500}));
}

TEST_CASE("what is not modelled beside data-parallel attention is refused at its place") {
  const auto why = [](const std::string& more, const std::string& mixture = kMixture) {
    const FreshFolder folder;
    std::ofstream(folder.path() / "s.json")
        << mixture << R"("method": {"name": "autoregressive"}, "workload": {"arrivals": {"process": "poisson",
           "rate": "1 /s"}, "requests": 10}, )"
        << more << "}";
    return mistake_of([&] { ServingSweep(folder.path() / "s.json", kData).validate(); });
  };
  CHECK(contains(why(R"("pipeline_parallel": 2)"), "pipeline_parallel: is not modelled with data_parallel_attention"));
  CHECK(contains(why(R"("policy": "goodput")"), "policy: is not modelled"));
  CHECK(contains(why(R"("scheduler": {"static_batching": true})"), "static_batching: is not modelled"));
  const std::string waits = R"("scheduler": {"attention_dp_timeout_iters": 5})";
  CHECK(why(waits) == "none");
  CHECK(contains(why(waits, kMixture.substr(0, kMixture.find("\"data_parallel"))),
                 "attention_dp_timeout_iters: needs data_parallel_attention"));
}

TEST_CASE("parts without requests work as long as the others, as they run their experts") {
  const ServingResult r =
      served(WithoutFrontEnd().scenario(R"("method": {"name": "autoregressive"}, "prompt_tokens": 128,
      "output_tokens": 64, "workload": {"arrivals": {"process": "closed", "concurrency": 1}, "requests": 8})"));
  CHECK(r.servers == 4);
  CHECK(r.runs.front().figures.busy_share(r.servers) == Approx(1));
}

}  // namespace draftline
