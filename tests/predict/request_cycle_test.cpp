// SPDX-License-Identifier: Apache-2.0
// How a request's tokens are spread over the steps of a full batch: counts that can be checked by head.
#include "predict/request_cycle.h"

#include "predict/kernel_times.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

constexpr int kBudget = 2048;

LoopedRequests requests(int batch, int prompt, double decode_steps, double rows = 1) {
  return {batch, prompt, rows, decode_steps, kBudget, false};
}

}  // namespace

TEST_CASE("alone, a request's prompt is a step of its own; in a batch the others decode beside it") {
  const RequestSteps alone = steps_of_request(requests(1, 512, 256));
  CHECK(alone.decode_steps == 256);
  CHECK(alone.own_steps == 1);
  CHECK(alone.prompt_steps == 1);
  CHECK(alone.plain_steps == 256);
  CHECK(alone.chunk == 512);
  CHECK(alone.decoding == 0);
  // Until it is through, each of the other three is replaced once: four steps with a prompt.
  const RequestSteps four = steps_of_request(requests(4, 512, 256));
  CHECK(four.prompt_steps == 4);
  CHECK(four.plain_steps == 253);
  CHECK(four.decoding == 3);
}

TEST_CASE("a prompt beyond the budget takes several steps, beside rows that have their part of it") {
  const RequestSteps s = steps_of_request(requests(48, 8000, 256));
  CHECK(s.own_steps == 4);  // 2048 - 47 tokens a step
  CHECK(s.chunk == 2000);
  CHECK(s.prompt_steps == 192);
  CHECK(s.decoding == 47);
}

TEST_CASE("when prompts are more than the budget has room for, every step is full and fewer sequences decode") {
  for (const LoopedRequests& r : {requests(48, 16000, 256), requests(64, 3000, 22, 4), requests(256, 512, 88, 4)}) {
    const RequestSteps s = steps_of_request(r);
    INFO(r.batch_size << " requests of " << r.prompt_tokens);
    CHECK(s.plain_steps == 0);
    CHECK(s.chunk + s.decoding * r.rows == Approx(kBudget));
    CHECK(s.own_steps > 1);
  }
}

TEST_CASE("the more rows are verified, the longer a prompt waits for room in the budget") {
  double waited = 0;
  for (const double rows : {1.0, 3.0, 5.0, 6.0, 8.0, 11.0, 64.0}) {
    const RequestSteps s = steps_of_request(requests(256, 512, 80, rows));
    INFO(rows);
    CHECK(s.own_steps >= waited);
    CHECK(s.chunk + s.decoding * rows < kBudget * 1.000001);
    waited = s.own_steps;
  }
  CHECK(waited > 100);
}

// The part of a request's time that it spends at the engine.
static Seconds at_engine(Seconds time, const std::string& engine) {
  return time - Catalogue(kData).engine(engine)->front_end;
}

TEST_CASE("alone, a request waits for its prompt as long as the prompt takes, also just behind a tile") {
  for (const char* device : {"a100-sxm", "h100-sxm"})
    for (const int prompt : {128, 129, 256, 257, 258, 513, 1025}) {
      const Prediction p = prediction(R"({"device": ")" + std::string(device) +
                                      R"(", "transformer": "llama-3.1-8b", "engine": "vllm-0.19", "method":
          {"name": "autoregressive"}, "prompt_tokens": )" +
                                      std::to_string(prompt) + "}");
      INFO(device << " " << prompt);
      CHECK(at_engine(p.request.ttft, "vllm-0.19").value ==
            Approx(p.prefill_time.value).epsilon(0.03));  // attention is between two sizes
    }
}

TEST_CASE("of several that end in a step, the prompts are computed together where prompts have steps of their own") {
  LoopedRequests r = requests(4, 512, 256);
  r.prompts_apart = true;
  const RequestSteps few = steps_of_request(r);
  CHECK(few.plain_steps == 256);
  CHECK(few.prompt_steps == 4);
  CHECK(few.decoding == 0);
  r.batch_size = 512;
  const RequestSteps many = steps_of_request(r);
  CHECK(many.prompt_steps == 256);
  CHECK(many.chunk == 1024);
  r.decode_steps = 1;
  r.batch_size = 1;
  CHECK(steps_of_request(r).prompt_steps == 1);  // each has a prompt, and decodes in a whole step
}

TEST_CASE("no token is lost or done twice, whatever the batch") {
  for (const bool apart : {false, true})
    for (const int batch : {1, 2, 7, 64, 300, 5000})
      for (const int prompt : {1, 500, 9000})
        for (const double decode_steps : {1.0, 15.6, 359.6}) {
          LoopedRequests r = requests(batch, prompt, decode_steps, 4);
          r.prompts_apart = apart;
          const RequestSteps s = steps_of_request(r);
          INFO(batch << " x " << prompt << ", " << decode_steps << (apart ? " apart" : ""));
          CHECK(s.prompt_steps * s.chunk == Approx(1.0 * batch * prompt));
          CHECK(s.plain_steps * batch + s.prompt_steps * s.decoding == Approx(batch * s.decode_steps));
          CHECK(s.plain_steps >= 0);
          CHECK(s.decoding >= -1e-9);
          CHECK(s.own_steps >= 1);
        }
}

TEST_CASE("prompts take their share of a gain: the longer they are, the less of it a request sees") {
  const std::string eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.83, 0.723, 0.75]}})";
  double last = 10;
  for (const int prompt : {100, 1000, 8000}) {
    const Prediction p = prediction(with(R"("batch_size": 16, "prompt_tokens": )" + std::to_string(prompt), eagle));
    INFO(prompt);
    CHECK(p.speedup_with_prefill < p.speedup);
    CHECK(p.speedup_with_prefill < last);
    CHECK(p.request.ttft < p.request.e2e);
    CHECK(p.throughput_with_prefill.value == Approx(16 * 256 / p.request.e2e.value));
    last = p.speedup_with_prefill;
  }
  const Prediction plain = prediction(with(R"("batch_size": 16, "prompt_tokens": 8000)"));
  CHECK(plain.speedup_with_prefill == 1);
}

// A request alone: its prompt's step, and as many decode steps as its output takes. Two tokens take one step, whatever
// is drafted. The step's time is of the mean context, the cycle's too, but for rounding.
TEST_CASE("a request's time has whole steps: what the last one emits beyond the output is thrown away") {
  const auto steps = [](int output, const std::string& method) {
    const Prediction p =
        prediction(with(R"("prompt_tokens": 128, "output_tokens": )" + std::to_string(output), method));
    return (p.request.e2e - p.request.ttft) / p.step_time;
  };
  const std::string eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": )";
  // EAGLE-3's 0.83, 0.723 and 0.75 make 2.88 tokens a step, 15 over them 5.21 steps.
  for (const auto& [output, expected] : {std::pair{2, 1.0}, {16, 5.6155}})
    CHECK(steps(output, eagle + R"({"rates": [0.83, 0.723, 0.75]}})") == Approx(expected).epsilon(1e-4));
  CHECK(steps(16, eagle + R"({"mean_length": 4}})") == Approx(4).epsilon(1e-4));  // 4 + 4 + 4 + 3
  CHECK(steps(18, eagle + R"({"rate": 1}})") == Approx(5).epsilon(1e-4));         // 4 + 4 + 4 + 4 + 1
  CHECK(steps(16, R"({"name": "medusa", "acceptance": {"mean_length": 1}})") == Approx(15).epsilon(1e-4));
  const std::string table =
      R"({"table": [{"context": 1, "rates": [1, 1, 1]}, {"context": 99999, "rates": [1, 1, 1]}]})";
  CHECK(steps(16, eagle + table + "}") == Approx(4).epsilon(1e-4));
  // Half of the steps find nothing and emit one token, the others four: three tokens take one step, or one more.
  const std::string lookup =
      R"({"name": "prompt_lookup", "draft_length": 3, "acceptance": {"rate": 1, "hit_share": 0.5}})";
  CHECK(steps(4, lookup) == Approx(1 + 0.5 * (1 + 0.5 * 1)).epsilon(1e-4));
}

// The experts of rows that are seldom there are no part of the step that the others have, so a prompt does not share
// them: a prompt of 500 tokens reads nearly all experts, and the others read hardly any.
TEST_CASE("beside look-ups that seldom find something a prompt of a mixture is no faster than alone") {
  for (const double hits : {0.0, 0.02, 0.1, 1.0}) {
    const Prediction p = prediction(
        R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm-0.19", "batch_size": 4,
            "prompt_tokens": 500, "output_tokens": 100, "method": {"name": "prompt_lookup", "draft_length": 16,
            "acceptance": {"rate": 0.5, "hit_share": )" +
        std::to_string(hits) + "}}}");
    INFO(hits);
    CHECK(p.request.ttft > p.prefill_time);
  }
}

// 512 rows are the largest graph of vLLM's profile; the host takes longer to launch this network's kernels than the
// device takes to run them.
TEST_CASE("a prompt is replayed as a graph while its step has few enough rows, alone and beside others") {
  const auto at = [](int batch, int prompt) {
    return prediction(R"({"device": "h100-sxm", "transformer": "llama-3.2-1b", "engine": "vllm-0.19",
      "method": {"name": "autoregressive"}, "output_tokens": 20, "prompt_tokens": )" +
                      std::to_string(prompt) + R"(, "batch_size": )" + std::to_string(batch) + "}");
  };
  for (const int prompt : {32, 512, 600, 1024}) {
    INFO(prompt);
    const Prediction p = at(1, prompt);
    // The last kernels run once all are launched; the cycle has them hidden by the launches of a graph's pieces.
    const double alone = at_engine(p.request.ttft, "vllm-0.19").value;
    CHECK(alone <= 1.01 * p.prefill_time.value);
    CHECK(alone > 0.88 * p.prefill_time.value);
  }
  const Seconds launched = at(1, 513).request.ttft;
  CHECK(at(2, 511).request.ttft < launched);
  CHECK(at(2, 512).request.ttft > 0.99 * launched);  // but for the launch of a graph
  CHECK(at(2, 600).request.ttft > 0.99 * launched);
}

TEST_CASE("a prefix is in memory once for all sequences, or once for each group of them") {
  const auto cache = [](const std::string& more, const std::string& transformer, const std::string& method) {
    return prediction(R"({"device": "h100-sxm", "engine": "vllm", "transformer": ")" + transformer +
                      R"(", "batch_size": 16, "prompt_tokens": 2300, "output_tokens": 300)" + more + R"(, "method": )" +
                      method + "}")
        .memory;
  };
  const std::string plain = R"({"name": "autoregressive"})", prefix = R"(, "shared_prefix": )";
  const auto saved = [&](const std::string& shared, const std::string& transformer) {
    return cache("", transformer, plain).cache - cache(prefix + shared, transformer, plain).cache;
  };
  constexpr Bytes kLlama{2.0 * 2 * 8 * 128 * 32};  // of a token: keys and values in 16 bits, 8 heads, 32 layers
  CHECK(saved("2000", "llama-3.1-8b") == 15 * 2000 * kLlama);
  CHECK(saved("2015", "llama-3.1-8b") == 15 * 2000 * kLlama);  // 125 blocks of 16 tokens
  CHECK(saved(R"({"tokens": 2000, "groups": 4})", "llama-3.1-8b") == 12 * 2000 * kLlama);
  CHECK(saved(R"({"tokens": 2000, "groups": 99})", "llama-3.1-8b") == Bytes{});
  CHECK(cache(R"(, "cached_prompt_tokens": 2000)", "llama-3.1-8b", plain).cache ==
        cache("", "llama-3.1-8b", plain).cache);
  // gpt-oss: 12 of 24 layers see the last 128 tokens, which lie behind the prefix.
  constexpr Bytes kGptOss{2.0 * 2 * 8 * 64 * 12};
  CHECK(saved("2000", "gpt-oss-20b") == 15 * 2000 * kGptOss);
  const auto told = [&](const std::string& transformer) {
    return prediction(R"({"device": "h100-sxm", "engine": "vllm", "transformer": ")" + transformer +
                      R"(", "prompt_tokens": 2300, "shared_prefix": 2000, "method": )" + plain + "}")
        .warnings;
  };
  CHECK(told("llama-3.1-8b").empty());
  REQUIRE(told("mistral-7b-v0.1").size() == 1);  // all its layers have windows
  CHECK(told("mistral-7b-v0.1").front().starts_with("\"shared_prefix\" is applied"));
  // A drafter's cache has the same tokens.
  const std::string eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})";
  CHECK(cache("", "llama-3.1-8b", eagle).draft_cache - cache(prefix + "2000", "llama-3.1-8b", eagle).draft_cache ==
        15 * 2000 * Bytes{2.0 * 2 * 8 * 128});
}

TEST_CASE("what is cached of a prompt is not computed, but the rest attends to it, and so does the drafter") {
  const std::string eagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.83, 0.723, 0.75]}})";
  const auto cached = [](int tokens, int prompt, const std::string& method) {
    return prediction(
        with(R"("prompt_tokens": )" + std::to_string(prompt) + R"(, "cached_prompt_tokens": )" + std::to_string(tokens),
             method));
  };
  const Prediction cold = cached(0, 20000, eagle), warm = cached(18000, 20000, eagle), rest = cached(0, 2000, eagle);
  CHECK(cold.request.ttft.value == prediction(with(R"("prompt_tokens": 20000)", eagle)).request.ttft.value);
  for (const auto& [all, some, alone] : {std::tuple{cold.prefill_time, warm.prefill_time, rest.prefill_time},
                                         {cold.request.ttft, warm.request.ttft, rest.request.ttft}}) {
    CHECK(some < all / 4);
    CHECK(some > 1.05 * alone);  // 18000 keys more for each of 2000 rows
  }
  CHECK(warm.step_time == cold.step_time);
  CHECK(warm.memory.total() == cold.memory.total());
  CHECK(warm.speedup == cold.speedup);
  CHECK(warm.speedup_with_prefill > cold.speedup_with_prefill);
  // A drafter with a cache of its own makes the rest longer by its own pass over it, not by one over the whole prompt.
  const auto drafters = [&](int tokens) {
    return cached(tokens, 20000, eagle).prefill_time -
           cached(tokens, 20000, R"({"name": "autoregressive"})").prefill_time;
  };
  CHECK(drafters(18000) < drafters(0) / 4);
}

TEST_CASE("the kernels of a step are all that the device does in it") {
  for (const char* method :
       {R"({"name": "autoregressive"})", R"({"name": "medusa", "acceptance": {"mean_length": 2}})"})
    for (const int ranks : {1, 2}) {
      const auto sweep = ScenarioText(R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
        "batch_size": 4, "output_tokens": 2, "prompt_tokens": 700, "tensor_parallel": )" +
                                      std::to_string(ranks) + R"(, "method": )" + method + "}")
                             .sweep();
      const Outcome o = sweep->at(0, true);
      Seconds sum;
      int kernels = 0;
      for (const KernelTime& k : o.kernels) {
        INFO(k.op << " " << k.shape);
        CHECK(!k.shape.empty());
        CHECK(k.count > 0);
        sum += k.time, kernels += k.count;
      }
      INFO(method << " on " << ranks);
      CHECK(kernels > 200);
      CHECK(o.kernels.size() < 60);
      CHECK(sum.value == Approx(std::get<Prediction>(o.result).breakdown.device().value).epsilon(1e-9));
      CHECK(sweep->at(0).kernels.empty());
    }
}

}  // namespace draftline
