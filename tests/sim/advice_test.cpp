// SPDX-License-Identifier: Apache-2.0
// What `advise` says of a step's losses.
#include "sim/advice.h"

#include "tests/inputs/scenario_text.h"

namespace draftline {

TEST_CASE("losses are what a step's breakdown has beyond a plain step's") {
  const auto sweep = ScenarioText(R"({"device": "h100-sxm", "tensor_parallel": 2, "engine": "vllm",
      "transformer": "qwen3-30b-a3b", "prompt_tokens": 300, "output_tokens": 2000,
      "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}})")
                         .sweep();
  const Advice advice = advise(*sweep, 0, {1, 16}, nullptr, 0);
  REQUIRE(advice.batches.size() == 2);
  for (const BatchAdvice& a : advice.batches) {
    INFO("batch " << a.batch_size);
    Setup s = sweep->setup(advice.point);
    s.batch_size = a.batch_size;
    const auto with = predict(sweep->pricer(), s, sweep->scenario().methods[0]),
               plain = predict(sweep->pricer(), s, autoregressive());
    const StepBreakdown more = std::get<Prediction>(with).breakdown - std::get<Prediction>(plain).breakdown;
    const StepLosses& l = a.losses;
    CHECK(l.experts == Approx(more.of(Phase::verify, KernelKind::experts) / a.plain_step));
    CHECK(l.cache_reads == Approx(more.of(Phase::verify, KernelKind::attention) / a.plain_step));
    CHECK(l.communication == Approx(more.communication() / a.plain_step));
    CHECK((l.draft > 0 && l.experts > 0 && l.cache_reads > 0 && l.communication > 0));
    CHECK(1 + l.total() == Approx(a.step / a.plain_step).epsilon(1e-12));
  }
}

TEST_CASE("the largest batch is sought as far as a scenario may ask, and no further") {
  // 65536 sequences of 32 tokens and 2 drafts have 65536 x 34 x 6144 B = 13.7 GB of KV cache; an H200 has 141 GB.
  const auto sweep = ScenarioText(R"({"device": "h200", "engine": "vllm", "transformer": "llama-68m",
      "prompt_tokens": 16, "output_tokens": 16, "batch_size": 65536,
      "method": {"name": "medusa", "tree": {"nodes": [[0], [1]]}, "acceptance": {"ranks": [[0.5, 0.2]]}}})")
                         .sweep();
  CHECK(advise(*sweep, 0, {1}, nullptr, 0).largest_batch == 65536);
}

}  // namespace draftline
