// SPDX-License-Identifier: Apache-2.0
// Prompts that begin alike: how many of their tokens come from the cache, and what that is worth to a request, served
// event by event and as `run` predicts it.
#include <map>

#include "tests/core/messages.h"
#include "tests/sim/plain_cost.h"
#include "tests/sim/served.h"

namespace draftline {

namespace {

// One request after the other, in a closed loop of one.
Workload in_turn(int requests, int prompt, std::optional<SharedPrefix> shared) {
  Workload w = poisson(0, requests, FixedLength{prompt}, FixedLength{5});
  w.arrivals = {ArrivalProcess::Kind::closed};
  w.arrivals.concurrency = 1;
  w.shared_prefix = shared;
  return w;
}

std::int64_t reused(const Workload& w, const SchedulerLimits& limits = {}) {
  PlainCost cost;
  return Fleet({}, limits, {}, cost).run(w, 1, {}).figures.reused_tokens;
}

std::vector<int> groups_of(const Workload& w) {
  std::vector<int> all;
  for (Requests requests(w, 1); const auto r = requests.next();) all.push_back(r->prefix_hashes->front());
  return all;
}

}  // namespace

TEST_CASE("all but the first find the whole blocks of a shared prefix, never a prompt's last token") {
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000})) == 19 * 992);  // 62 blocks of 16
  CHECK(reused(in_turn(20, 500, SharedPrefix{1000})) == 19 * 496);
  CHECK(reused(in_turn(20, 512, SharedPrefix{1000})) == 19 * 496);
  CHECK(reused(in_turn(20, 513, SharedPrefix{1000})) == 19 * 512);
  CHECK(reused(in_turn(20, 1500, SharedPrefix{15})) == 0);
  SchedulerLimits limits;
  limits.block_size = 64;
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000, 1, 64}), limits) == 19 * 960);
  limits.prefix_caching = false;
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000, 1, 64}), limits) == 0);
  limits.kept.windows = {{100, 0.5}};
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000}), limits) == 0);
  limits.prefix_caching = true, limits.block_size = 16;
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000}), limits) == 19 * 992);
  limits.prefix_reuse.reset();  // a prefix's end would need its states
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000}), limits) == 0);
  limits.prefix_reuse = PrefixReuse{};
  limits.kept = {.windows = {{100, 0.25}, {200, 0.75}}, .all_windowed = true};
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000}), limits) == 0);
  limits.kept = {};
  limits.block_size = 32;  // of which a prefix block of 16 would be a part
  CHECK(reused(in_turn(20, 1500, SharedPrefix{1000, 1, 16}), limits) == 0);
  limits.block_size = 16;
  Workload warm = in_turn(20, 1500, SharedPrefix{1000});
  warm.warm_up = 5;
  CHECK(reused(warm) == 15 * 992);
}

TEST_CASE("whole units of a prefix are found, and a drafter that reads hidden states computes the last one again") {
  SchedulerLimits limits;
  limits.kept.states = 1;
  for (const auto& [dropped, found] : {std::pair{0, 768}, {1, 384}}) {
    limits.prefix_reuse = PrefixReuse{384, dropped};
    CHECK(reused(in_turn(20, 1500, SharedPrefix{1000}), limits) == 19 * found);
    CHECK(reused(in_turn(20, 1500, SharedPrefix{383}), limits) == 0);
  }
  CHECK(reused(in_turn(20, 1500, SharedPrefix{767}), limits) == 0);
  limits.prefix_reuse = PrefixReuse{784, 0};  // not a multiple of the blocks of a trace's hashes
  CHECK(reused(in_turn(20, 5000, SharedPrefix{4000, 1, 512}), limits) == 19 * 3136);
}

TEST_CASE("sequences hold a prefix's blocks together, but for the layers with windows") {
  PlainCost cost;
  SchedulerLimits limits;
  limits.kept.windows = {{100, 0.5}};  // 1001 to 1005 tokens fill 35 blocks, and 992 of layers without windows 31
  Workload w = in_turn(100, 1000, SharedPrefix{1000});
  w.arrivals.concurrency = 10;
  Log log;
  Fleet({}, limits, {}, cost).run(w, 1, {}, &log);
  std::int64_t held = 0;
  for (const StepRun& r : log.runs)
    if (r.sequences == 10 && r.prompt_tokens == 0) held = r.kv_blocks;
  CHECK(held == 10 * 35 - 9 * 31);
}

TEST_CASE("whole prompts count against the token budget by what is not cached of them") {
  PlainCost cost;
  SchedulerLimits limits;
  limits.batching = Batching::prefill_first;
  limits.max_num_batched_tokens = 1024;
  Workload w = poisson(1e7, 41, FixedLength{1000}, FixedLength{2});  // all are there before the first is through
  w.shared_prefix = SharedPrefix{992};
  Log log;
  Fleet({}, limits, {}, cost).run(w, 1, {}, &log);
  std::vector<int> prompts;
  for (const StepRun& r : log.runs)
    if (r.prompt_tokens > 0) prompts.push_back(r.prompt_tokens);
  CHECK(prompts == std::vector{1000, 40 * 8});
}

TEST_CASE("what a preempted sequence finds again is no part of a prompt that came") {
  PlainCost cost;
  SchedulerLimits limits;
  limits.kv_blocks = 80;
  Workload w = poisson(1e5, 60, FixedLength{200}, FixedLength{300});
  w.shared_prefix = SharedPrefix{192};
  const ServingFigures f = Fleet({}, limits, {}, cost).run(w, 1, {}).figures;
  CHECK(f.preemptions > 0);
  CHECK(f.reused_tokens <= 60 * 192);
}

TEST_CASE(
    "a request has one of the prefixes, each as often; in a pool of one request it finds its predecessor's alone") {
  const Workload w = in_turn(4000, 160, SharedPrefix{128, 4});
  const std::vector<int> groups = groups_of(w);
  std::map<int, int> requests;
  int alike = 0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    ++requests[groups[i]];
    alike += i > 0 && groups[i] == groups[i - 1];
  }
  REQUIRE(requests.size() == 4);
  for (const auto& [group, n] : requests) CHECK(std::abs(n - 1000) < 5 * 28);  // of a standard deviation of 27.4
  CHECK(reused(w) == (4000 - 4) * 128);
  SchedulerLimits one;
  one.kv_blocks = 11;  // 160 + 5 tokens, and the row of a step
  CHECK(reused(w, one) == alike * 128);
}

TEST_CASE("with shared prefixes arrive the same requests at the same times as without") {
  Workload w = poisson(3, 200, GammaLength{800, 600}, ExponentialLength{90});
  Workload alike = w;
  alike.shared_prefix = SharedPrefix{500, 7};
  Requests one(w, 3), other(alike, 3);
  while (const auto r = one.next()) {
    const auto same = other.next();
    REQUIRE(same);
    CHECK(std::tuple(same->arrival, same->prompt, same->output) == std::tuple(r->arrival, r->prompt, r->output));
    CHECK(r->prefix_hashes == nullptr);
    CHECK(same->prefix_hashes->size() >= static_cast<std::size_t>(std::min(500, r->prompt) / 16));
  }
}

TEST_CASE("prompts that find a prefix in the cache take what run says of prompts with as many tokens cached") {
  const std::string plain = R"({"name": "autoregressive"})",
                    eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.83, 0.723, 0.75]}})",
                    draft = R"({"name": "draft_model", "draft": "llama-3.2-1b", "draft_length": 3,
                                "acceptance": {"rate": 0.7}})";
  struct Case {
    std::string method;
    int batch, prompt, cached, output;
  };
  for (const Case& c :
       {Case{plain, 1, 20000, 18000, 32}, Case{eagle, 1, 20000, 18000, 32}, Case{draft, 1, 20000, 18000, 32},
        Case{plain, 1, 8000, 1000, 32}, Case{plain, 16, 8000, 7200, 256}, Case{eagle, 16, 8000, 7200, 256}}) {
    INFO(c.method << " " << c.batch << " x " << c.prompt << ", " << c.cached << " cached");
    const auto number = [](int n) { return std::to_string(n); };
    const std::string lengths = R"("prompt_tokens": )" + number(c.prompt) + R"(, "output_tokens": )" + number(c.output);
    const Prediction p = prediction(
        with(lengths + R"(, "batch_size": )" + number(c.batch) + R"(, "cached_prompt_tokens": )" + number(c.cached),
             c.method));
    const ServingResult r =
        served(with(lengths + R"(, "scheduler": {"max_num_seqs": )" + number(c.batch) +
                        R"(}, "workload": {"arrivals": {"process": "closed", "concurrency": )" + number(c.batch) +
                        R"(}, "lengths": {"shared_prefix": )" + number(c.cached) + R"(}, "requests": )" +
                        number(20 * c.batch) + R"(, "warm_up": )" + number(2 * c.batch) + "}",
                    c.method));
    const ServingFigures& figures = r.runs.front().figures;
    CHECK(figures.reused_tokens == std::int64_t{18} * c.batch * (c.cached / 16 * 16));
    // Alone, prompts differ by less than a block and by how they are cut into chunks. In a batch those of equal lengths
    // end together, where the formula takes them as spread.
    if (c.batch == 1) CHECK(p.request.ttft.value == Approx(figures.ttft.mean().value).epsilon(0.02));
    CHECK(p.request.e2e.value == Approx(figures.e2e.mean().value).epsilon(0.05));
  }
}

TEST_CASE("a drafter without windows makes no target share prefixes that has them in all layers") {
  const auto reused = [](const std::string& transformer) {
    return served(R"({"device": "h100-sxm", "transformer": ")" + transformer + R"(", "engine": "vllm",
        "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.5}}, "workload": {"requests": 10,
        "arrivals": {"process": "closed", "concurrency": 1}, "lengths": {"shared_prefix": 400}}})")
        .runs.front()
        .figures.reused_tokens;
  };
  CHECK(reused("llama-3.1-8b") > 0);
  CHECK(reused("mistral-7b-v0.1") == 0);
}

TEST_CASE("where shared prefixes can't save anything, a run says so") {
  const auto warning = [](const std::string& transformer, const std::string& more) {
    std::string all;
    for (const std::string& w : served(R"({"device": "h100-sxm", "transformer": ")" + transformer +
                                       R"(", "engine": "vllm", "method": {"name": "autoregressive"}, "workload": {
        "arrivals": {"process": "closed", "concurrency": 1}, "requests": 10, "lengths": {"shared_prefix": )" +
                                       more + "}")
                                    .warnings)
      if (contains(w, "\"shared_prefix\"")) all += w;
    return all;
  };
  CHECK(warning("llama-3.1-8b", "400}}") == "");
  CHECK(warning("llama-3.1-8b", "15}}") ==
        "\"shared_prefix\" saves nothing: its 15 tokens do not fill a KV block of 16");
  CHECK(warning("llama-3.1-8b", R"(400}}, "scheduler": {"prefix_caching": false})") == "");  // as was asked for
  CHECK(warning("gpt-oss-20b", "400}}") == "");  // half of its layers have no window
  CHECK(warning("mistral-7b-v0.1", "400}}").starts_with("\"shared_prefix\" saves nothing: prompts share no prefixes"));
  CHECK(contains(warning("llama-3.1-8b", R"(2000, "prompt": 300, "output": 9}})"), "hardly any of their tokens"));
}

}  // namespace draftline
