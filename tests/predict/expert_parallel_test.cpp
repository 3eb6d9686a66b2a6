// SPDX-License-Identifier: Apache-2.0
// Whole experts on each of several devices, and attention in replicas, against counts by hand.
#include <algorithm>

#include "decoder/op/experts.h"
#include "model/engines/link_rule.h"
#include "predict/kernel_times.h"
#include "predict/prediction.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

TEST_CASE("replicas of the attention gather rows for the experts and scatter the sums") {
  const auto scenario = [](const std::string& more) {
    return R"({"device": "h100-sxm", "tensor_parallel": 4, "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19",
      "batch_size": 62, "method": {"name": "autoregressive"})" +
           more + "}";
  };
  const Prediction divided = prediction(scenario("")), apart = prediction(scenario(R"(, "expert_parallel": true)")),
                   replicated = prediction(scenario(R"(, "expert_parallel": true, "data_parallel_attention": 4)")),
                   sent = prediction(scenario(
                       R"(, "expert_parallel": true, "data_parallel_attention": 4, "expert_exchange": "all_to_all")"));
  const auto s = ScenarioText(scenario("")).sweep();
  const Device& d = *s->scenario().devices[0];
  const auto call = [&](Collective c, double bytes) {
    return collective_time(d.links, s->scenario().engines[0]->links, {c, Bytes{bytes}, 4}, d.name).value;
  };
  // 48 layers; 62 sequences are 16 on the fullest of 4 replicas, 64 rows of 2048 columns of two bytes in all.
  CHECK(apart.breakdown.communication() == divided.breakdown.communication());
  CHECK(replicated.breakdown.communication().value ==
        Approx(48 * (call(Collective::all_gather, 64 * 4096) + call(Collective::reduce_scatter, 64 * 4096))));
  double missed = 1;  // by all 8 experts of a row, of 128: a device with 32
  for (int i = 0; i < 8; ++i) missed *= (96.0 - i) / (128 - i);
  const double copies = 4 * (1 - missed);
  CHECK(sent.breakdown.communication().value == Approx(96 * call(Collective::all_to_all, 16 * 4096 * copies)));

  // Experts: 48 layers x 128 x 3 x 2048 x 768 x 2 bytes, a quarter on each device either way.
  const double experts = 48.0 * 128 * 3 * 2048 * 768 * 2;
  CHECK(apart.memory.weights == divided.memory.weights);
  const TransformerShape& shape = *s->scenario().transformers[0];
  CHECK(replicated.memory.weights.value == Approx(2 * parameters(shape) - 0.75 * experts));
  CHECK(replicated.memory.cache.value == Approx(divided.memory.cache.value * 4 * 16 / 62));
  CHECK(replicated.throughput.value == Approx(62 / replicated.step_time.value));
}

TEST_CASE("experts in groups of devices: each group has some of the experts, and its devices share their columns") {
  const auto rank = [](const std::string& parallel) {
    const auto s = ScenarioText(R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19",
      "method": {"name": "autoregressive"}, "tensor_parallel": 4, "expert_parallel": )" +
                                parallel + "}")
                       .sweep();
    return shard(*s->scenario().transformers[0], s->scenario().parallel[0]);
  };
  const auto experts = [&](const std::string& parallel) { return *rank(parallel).experts(); };
  CHECK((experts("2").stored() == 64 && experts("2").intermediate == 384));
  CHECK((experts("4").stored() == 32 && experts("4").intermediate == 768));
  CHECK((experts("1").stored() == 128 && experts("1").intermediate == 192));
  CHECK(experts("4").parallel == experts("true").parallel);
  CHECK(experts("1").parallel == experts("false").parallel);
  CHECK(parameters(rank("2")) == parameters(rank("false")));
  CHECK(contains(ScenarioText(R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19",
      "method": {"name": "autoregressive"}, "tensor_parallel": 4, "expert_parallel": 3})")
                     .mistakes(),
                 "#/expert_parallel: 3 groups do not divide tensor_parallel, 4"));
}

TEST_CASE("a balancedness in place of random draws: the busiest device computes and receives so many more rows") {
  const auto step = [](const std::string& more) {
    return prediction(R"({"device": "h100-sxm", "tensor_parallel": 4, "transformer": "qwen3-30b-a3b",
      "engine": "vllm-0.19", "method": {"name": "autoregressive"}, "expert_parallel": true)" +
                      more + "}")
        .breakdown;
  };
  const auto experts = [&](const std::string& more) { return step(more).of(Phase::verify, KernelKind::experts); };
  const std::string sent = R"(, "data_parallel_attention": 4, "expert_exchange": "all_to_all")";
  for (const char* batch : {"4", "64", "2048"}) {
    INFO(batch);
    const std::string usual = sent + R"(, "batch_size": )" + batch, known = usual + R"(, "expert_balancedness": )";
    CHECK(experts(known + "1") <= experts(usual));
    CHECK(step(known + "1").communication() == step(usual).communication());
    CHECK(experts(known + "0.5") >= experts(known + "0.8"));
    // 3.6 of 4 devices have experts of a row; the busiest receives all rows at most.
    CHECK(step(known + "0.95").communication() > step(known + "1").communication());
    CHECK(step(known + "0.95").communication() < step(known + "0.8").communication());
    CHECK(step(known + "0.25").communication() == step(known + "0.8").communication());
  }
  CHECK(experts(sent + R"(, "batch_size": 2048, "expert_balancedness": 0.5)") >
        1.2 * experts(sent + R"(, "batch_size": 2048, "expert_balancedness": 1)"));
  // Gathered rows reach every device anyway.
  const std::string gathered = R"(, "data_parallel_attention": 4, "batch_size": 64)";
  CHECK(step(gathered + R"(, "expert_balancedness": 0.5)").communication() == step(gathered).communication());
}

TEST_CASE("devices that can't share experts are refused at their keys") {
  const auto why = [](const std::string& transformer, const std::string& more) {
    return ScenarioText(
               R"({"device": "h100-sxm", "engine": "vllm-0.19", "method": {"name": "autoregressive"}, "transformer": ")" +
               transformer + "\", " + more + "}")
        .mistakes();
  };
  CHECK(contains(why("qwen3-30b-a3b", R"("tensor_parallel": 4, "data_parallel_attention": [3])"),
                 "data_parallel_attention/0: data_parallel_attention 3 does not divide tensor_parallel 4"));
  CHECK(contains(
      why("qwen3-30b-a3b", R"("tensor_parallel": 4, "expert_parallel": true, "expert_exchange": "all_to_all")"),
      "expert_exchange: all_to_all requires that every device"));
  CHECK(
      contains(why("llama-3.1-8b", R"("tensor_parallel": 4, "expert_parallel": true)"), "llama-3.1-8b has no experts"));
  const std::string whole = R"("tensor_parallel": 4, "expert_parallel": true, "expert_balancedness": )";
  CHECK(contains(why("qwen3-30b-a3b", whole + "0.2"), "#/expert_balancedness: must be at least 1 / 4"));
  CHECK(contains(why("qwen3-30b-a3b", whole + "1.2"), "#/expert_balancedness: must be at most 1, got 1.2"));
  CHECK(contains(why("qwen3-30b-a3b", R"("tensor_parallel": 4, "expert_balancedness": 0.8)"),
                 "#/expert_balancedness: requires devices with whole experts: expert_parallel must be true"));
}

TEST_CASE("all-reduces are of the rows of the engine's graph, as the GEMMs beside them are") {
  const auto sums = [](int batch, const std::string& engine) {
    const auto sweep = ScenarioText(R"({"device": "h100-sxm", "tensor_parallel": 4, "transformer": "llama-3.1-8b",
      "engine": ")" + engine + R"(", "batch_size": )" +
                                    std::to_string(batch) + R"(, "method": {"name": "autoregressive"}})")
                           .sweep();
    Seconds all;
    for (const KernelTime& k :
         kernel_times(sweep->pricer(), sweep->setup(point_at(sweep->scenario(), 0)), autoregressive()))
      if (k.op == SumOverRanks::key) all += k.time;
    return all;
  };
  CHECK(sums(512, "vllm-0.19").value > 0);
  CHECK(sums(505, "vllm-0.19") == sums(512, "vllm-0.19"));
  CHECK(sums(496, "vllm-0.19") < sums(512, "vllm-0.19"));
  CHECK(sums(505, "hf-eager") < sums(512, "hf-eager"));  // it has no graphs
}

TEST_CASE("a request waits for the prompts of other parts of the attention, but not for experts that they leave idle") {
  const auto on = [](int parts) {
    return prediction(R"({"device": "h200", "tensor_parallel": 8, "transformer": "deepseek-v3", "engine": "vllm",
      "prompt_tokens": 2000, "output_tokens": 200, "expert_parallel": true, "method": {"name": "autoregressive"},
      "data_parallel_attention": )" +
                      std::to_string(parts) + R"(, "batch_size": )" + std::to_string(parts) + "}");
  };
  // Each of eight has a sequence; all have equal steps, and 1 of 201 steps of each computes a prompt.
  const Prediction p = on(8);
  const double steps = 199, prompts_elsewhere = 7.0 * steps / 200;  // but for those that meet in a step
  const Seconds front_end = Catalogue(kData).engine("vllm")->front_end, ttft = p.request.ttft - front_end,
                e2e = p.request.e2e - front_end;
  CHECK(ttft < p.prefill_time);  // which is that of as many prompts as there are parts
  CHECK(e2e.value < ttft.value * (1 + prompts_elsewhere) + steps * p.step_time.value);
  CHECK(e2e.value > ttft.value * (1 + 0.9 * prompts_elsewhere) + (steps - prompts_elsewhere) * p.step_time.value);
}

}  // namespace draftline
