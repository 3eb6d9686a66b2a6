// SPDX-License-Identifier: Apache-2.0
// At which loads and batches speculation pays.
#include "sim/load_advice.h"

#include <fstream>

#include "sim/advice_sweep.h"
#include "sim/stretches.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

const std::string kEagle3 = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.7, 0.6]}})";

std::string poisson(const std::string& requests, const std::string& more = "") {
  return R"("workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": )" + requests + more + "}";
}

AdviceSweep sweep_of(const std::string& text, bool with_load = true) {
  return {Document::from_text(text, "s.json"), kData, with_load};
}

Advice advice_of(const std::string& more, const std::string& method = kEagle3) {
  return sweep_of(with(more, method)).at(0, 1);
}

}  // namespace

TEST_CASE("stretches have the ends at which a property begins and ceases to hold") {
  const auto of = [](std::vector<int> points, auto holds) {
    return stretches(points, holds, [](int a, int b) { return b - a > 1 ? std::optional((a + b) / 2) : std::nullopt; });
  };
  using All = std::vector<Stretch<int>>;
  CHECK(of({1, 8, 64}, [](int x) { return x < 20; }) == All{{1, 19}});
  CHECK(of({1, 8, 64}, [](int x) { return x >= 20; }) == All{{20, 64}});
  CHECK(of({1, 8, 64}, [](int x) { return x < 3 || x > 30; }) == All{{1, 2}, {31, 64}});
  CHECK(of({1, 8, 64}, [](int x) { return x > 5 && x < 11; }) == All{{6, 10}});
  CHECK(of({1, 8, 64}, [](int) { return true; }) == All{{1, 64}});
  CHECK(of({1, 8, 64}, [](int) { return false; }).empty());
  CHECK(of({7}, [](int) { return true; }) == All{{7, 7}});
}

TEST_CASE("a plainly decoding server is overloaded where it is, however many requests were asked about", "[once]") {
  // 512 + 256 tokens of LLaMA-3.1-8B need 2 x 8.0e9 FLOP each, beside attention: the datasheet's 989 TFLOP/s serve
  // at most 80 requests a second.
  const auto few = advice_of(poisson("600")).rate, many = advice_of(poisson("20000", R"(, "warm_up": 100)")).rate;
  REQUIRE(few);
  REQUIRE(many);
  CHECK(few->until_overload());
  CHECK(few->pays_to.value < 80);
  CHECK(few->pays_to.value == Approx(many->pays_to.value).epsilon(0.06));

  ServingSweep serving(with_arrivals(sweep_of(with(poisson("60000"), kEagle3)).scenario()), kData);
  Point plain{};
  plain.method = serving.scenario().methods.size() - 1;
  const auto point = serving.prepare(plain);
  const Workload whole = point->workload;
  const auto diverges = [&](double rate) {
    point->workload = at_rate(whole, rate);
    return point->run(1, {}).diverges;
  };
  CHECK_FALSE(diverges(few->pays_to.value));
  CHECK(diverges(1.05 * few->pays_to.value));
}

TEST_CASE("the load is not asked of a closed loop, nor found by a recording that never fills a server") {
  CHECK_FALSE(advice_of(R"("workload": {"arrivals": {"process": "closed", "concurrency": 4}, "requests": 50})").rate);
  const FreshFolder folder;
  const auto file = folder.path() / "s.json";
  std::ofstream(folder.path() / "few.csv") << "arrived_at,num_prefill_tokens,num_decode_tokens\n"
                                              "0,100,20\n1,100,20\n2,100,20\n3,100,20\n";
  std::ofstream(file) << with(R"("workload": {"arrivals": {"trace": "few.csv"}})", kEagle3);
  const auto few = AdviceSweep(Document::from_file(file), kData, true).at(0, 1).rate;
  REQUIRE(few);
  CHECK(few->outcome == LoadAdvice::Outcome::too_few_requests);
}

TEST_CASE("where experts are read anyway it pays, though it does not with few sequences", "[once]") {
  const std::string more = R"("transformer": "qwen3-30b-a3b", "prompt_tokens": 500, "output_tokens": 500)",
                    eagle = R"({"name": "eagle3", "draft_length": 6, "acceptance": {"rate": 0.55}})";
  const std::string text = R"({"device": "h100-sxm", "engine": "vllm-0.19", "method": )" + eagle + ", " + more,
                    graphs = R"(, "max_cudagraph_capture_size": 1024})";
  CHECK(sweep_of(text + "}").at(0, 1).pays_at.back().to ==
        74);  // 73 of them decode at a time, with 511 rows; the largest graph has 512
  const Advice a = sweep_of(text + graphs).at(0, 1);
  REQUIRE(a.pays_at.size() == 2);
  CHECK(a.pays_at[0] == Stretch<int>{1, 1});
  CHECK(a.pays_at[1].to == a.largest_batch);
  CHECK(a.pays_to_batch() == a.largest_batch);
  CHECK_FALSE(a.pays_at_every_batch());
  for (const BatchAdvice& b : a.batches) {
    CAPTURE(b.batch_size);
    CHECK(a.pays_at_batch(b.batch_size) == (b.request_speedup >= 1));
  }
  // With a lower acceptance it pays under load alone.
  const std::string lower =
      R"({"device": "h100-sxm", "engine": "vllm-0.19", "method": {"name": "eagle3", "draft_length": 6,
                               "acceptance": {"rate": 0.5}}, )";
  const auto load = sweep_of(lower + more + "}").at(0, 1).rate;
  REQUIRE(load);
  CHECK(load->pays());
  CHECK(load->pays_from.value > 0);
  CHECK(load->pays_to > load->pays_from);
}

TEST_CASE("advice on a workload is advice on its lengths") {
  const std::string lengths =
      R"(, "lengths": {"prompt": 1200, "output": {"distribution": "lognormal", "mean": 300, "cv": 0.7}})";
  const Advice drawn = advice_of(poisson("600", lengths)),
               same = advice_of(R"("prompt_tokens": 1200, "output_tokens": 300)");
  CHECK(drawn.largest_batch == same.largest_batch);
  CHECK(drawn.batches.front().request_speedup == same.batches.front().request_speedup);
  // Lengths that the scenario names come first.
  const Advice named = advice_of(poisson("600", lengths) + R"(, "prompt_tokens": 100, "output_tokens": 100)");
  CHECK(named.largest_batch > same.largest_batch);
}

TEST_CASE("a workload's shared prefix is cached in advice, where its network shares prefixes") {
  const auto cached = [](const std::string& transformer, const std::string& more) {
    const std::string text = R"({"device": "h100-sxm", "engine": "vllm-0.19", "transformer": ")" + transformer + R"(",
        "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, "workload": {"requests": 10,
        "arrivals": {"process": "poisson", "rate": "1 /s"},
        "lengths": {"shared_prefix": 1000, "prompt": 1200, "output": 300}})" +
                             more + "}";
    return AdviceSweep(Document::from_text(text, "s.json"), kData, false).scenario().cached_prompt_tokens;
  };
  CHECK(cached("llama-3.1-8b", "") == 992);
  CHECK(cached("llama-3.1-8b", R"(, "scheduler": {"prefix_caching": false})") == 0);
  CHECK(cached("mistral-7b-v0.1", "") == 0);  // all its layers have windows
}

TEST_CASE("a batch of prompts that share a prefix is larger", "[once]") {
  const std::string lengths = R"("prompt_tokens": 2300, "output_tokens": 300)";
  const Advice own = advice_of(lengths + R"(, "cached_prompt_tokens": 2000)"),
               shared = advice_of(lengths + R"(, "shared_prefix": 2000)"),
               workload =
                   advice_of(poisson("600", R"(, "lengths": {"shared_prefix": 2000, "prompt": 2300, "output": 300})"));
  CHECK(shared.largest_batch > 4 * own.largest_batch);  // 600 tokens of 2600 are a sequence's own
  CHECK(shared.largest_batch < 4.4 * own.largest_batch);
  CHECK(workload.largest_batch == shared.largest_batch);
}

TEST_CASE("a schedule ends with the largest batch of its own prompt") {
  const Advice both = advice_of(R"("prompt_tokens": [500, 8000])"), longer = advice_of(R"("prompt_tokens": 8000)");
  REQUIRE(both.schedule.size() > 1);
  CHECK(both.schedule.back().prompt_tokens == 8000);
  CHECK(both.schedule.back().to_batch == longer.largest_batch);
  CHECK(both.schedule.front().to_batch < both.largest_batch + 1);
  int next = 1, prompt = 500;
  for (const ScheduledLength& s : both.schedule) {
    if (s.prompt_tokens != prompt) prompt = s.prompt_tokens, next = 1;
    CHECK(s.from_batch == next);
    next = s.to_batch + 1;
  }
}

}  // namespace draftline
