// SPDX-License-Identifier: Apache-2.0
// What sparse attention costs: an indexer that reads the whole text, attention to the tokens that it chose.
#include "predict/kernel_times.h"
#include "predict/prediction.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"
#include "tests/source_folder.h"

namespace draftline {

namespace {

constexpr double kLayers = 61, kKeyBytes = 132, kScoreBytes = 8;

std::string sparse(const std::string& more, const std::string& transformer = "deepseek-v3.2") {
  return R"({"device": "h200", "engine": "vllm", "tensor_parallel": 8, "transformer": ")" + transformer +
         R"(", "method": {"name": "autoregressive"}, "output_tokens": 2)" + more + "}";
}
Prediction at(int batch, int prompt, const std::string& transformer = "deepseek-v3.2") {
  return prediction(sparse(
      R"(, "batch_size": )" + std::to_string(batch) + R"(, "prompt_tokens": )" + std::to_string(prompt), transformer));
}

Seconds of_op(const std::string& op, int batch, int prompt, const std::string& transformer = "deepseek-v3.2") {
  const auto s = ScenarioText(sparse(R"(, "batch_size": )" + std::to_string(batch) + R"(, "prompt_tokens": )" +
                                         std::to_string(prompt),
                                     transformer))
                     .sweep();
  const Point p = point_at(s->scenario(), 0);
  Seconds sum;
  for (const KernelTime& k : kernel_times(s->pricer(), s->setup(p), s->scenario().method(p)))
    if (k.op == op) sum += k.time;
  return sum;
}

}  // namespace

TEST_CASE("of each token a key of the indexer is kept beside its latent") {
  const Bytes more = at(1, 1600 + 1008).memory.cache - at(1, 1008).memory.cache;
  CHECK(more == Bytes{1600 * kLayers * (2 * (512 + 64) + kKeyBytes)});
}

TEST_CASE("beyond the chosen tokens a step grows by the indexer's keys and scores alone") {
  const Seconds grown = at(2, 80000).step_time - at(2, 40000).step_time,
                dense = at(2, 80000, "deepseek-v3").step_time - at(2, 40000, "deepseek-v3").step_time;
  const Seconds least = Bytes{kLayers * 2 * 40000 * (kKeyBytes + kScoreBytes)} / BytesPerSecond{4.8e12};
  CHECK(grown > least);
  CHECK(grown < 2.2 * least);  // arithmetic in 16 bits takes nearly as long as the bytes
  CHECK(dense > 3 * grown);
  const Seconds near = of_op("attention", 8, 3000);
  CHECK(of_op("attention", 8, 30000) == near);
  CHECK(of_op("attention", 8, 1000) < near);
}

TEST_CASE("layers that share a choice keep no key of an indexer and score nothing") {
  const std::string own = R"(glm-5", "precision": "fp8)", shared = R"(glm-5.2", "precision": "fp8)";
  const auto grown = [](const std::string& network) {
    return at(1, 2608, network).memory.cache - at(1, 1008, network).memory.cache;
  };
  CHECK(grown(own) - grown(shared) == Bytes{1600 * 57 * kKeyBytes});
  const auto ratio = [&](const char* op) { return of_op(op, 4, 30000, shared) / of_op(op, 4, 30000, own); };
  CHECK(ratio("select_tokens") == Approx(21.0 / 78).epsilon(1e-6));
  CHECK(ratio("attention") == Approx(1).epsilon(1e-6));
}

TEST_CASE("the target goes on behind an early exit only at a layer with an indexer of its own") {
  const auto skipping = [](int exit) {
    return R"({"device": "cpu", "engine": "draftline", "transformer": ")" +
           (test::kFixtures / "glm_moe_dsa_shared").string() +
           R"(", "method": {"name": "layerskip", "draft_length": 2, "exit": )" + std::to_string(exit) +
           R"(, "acceptance": {"rate": 0.5}}, "prompt_tokens": 20, "output_tokens": 20})";
  };
  CHECK(prediction(skipping(2)).step_time.value > 0);
  const auto why = ScenarioText(skipping(1)).mistakes();
  CHECK(contains(why, "#/method/exit: layer 1 of glm_moe_dsa_shared, counted from 0, reads the tokens"));
  CHECK(contains(why, "2 is the next that will do"));
  for (const char* method : {"layerskip", "kangaroo"}) {  // whose usual exits, 19 and 5 of 78, share
    const std::string early = R"({"device": "h200", "engine": "vllm", "tensor_parallel": 8, "transformer": "glm-5.2",
        "precision": "fp8", "method": {"name": ")" +
                              std::string(method) + R"(", "draft_length": 3, "acceptance": {"rate": 0.7}}})";
    CHECK(prediction(early).speedup > 0);
  }
}

TEST_CASE("an indexer is no faster than the arithmetic and the bandwidth that the engine's attention reaches") {
  // 989 TFLOP/s in 16 bits and 4.8 TB/s, of each layer; prompts are bound by the first, decoding by the second.
  const Seconds decoding = of_op("select_tokens", 8, 40000) / kLayers;
  CHECK(decoding > Bytes{8 * 40000 * (kKeyBytes + kScoreBytes)} / BytesPerSecond{4.8e12});
  const Seconds prompt = at(1, 60000).prefill_time, dense = at(1, 60000, "deepseek-v3").prefill_time;
  CHECK(prompt > kLayers * (Flops{2.0 * 64 * 128 * 60000.0 * 60000 / 2} / FlopsPerSecond{989e12}));
  CHECK(prompt < 3 * dense);
}

TEST_CASE("more rows, contexts or prompts never make sparse attention cheaper, below what may be chosen or beyond") {
  Seconds last, last_prompt;
  for (const int prompt : {100, 1000, 2040, 2050, 2100, 4000, 16000, 100000}) {
    INFO(prompt);
    const Prediction p = at(1, prompt);
    CHECK(p.step_time >= last);
    CHECK(p.prefill_time > last_prompt);
    last = p.step_time, last_prompt = p.prefill_time;
  }
  last = {};
  for (const int batch : {1, 2, 5, 16, 64}) {
    const Seconds step = at(batch, 4000).step_time;
    CHECK(step > last);
    last = step;
  }
}

TEST_CASE("nobody knows how far a price of sparse attention is off, and it says so") {
  const Prediction sparse = at(1, 2000), dense = at(1, 2000, "deepseek-v3");
  const auto warned = [](const Prediction& p) {
    return std::any_of(p.warnings.begin(), p.warnings.end(),
                       [](const std::string& w) { return contains(w, "sparse attention was not measured"); });
  };
  CHECK(warned(sparse));
  CHECK_FALSE(warned(dense));
  CHECK_FALSE(sparse.interval);
  const Prediction tiny = prediction(
      R"({"device": "cpu", "engine": "draftline", "transformer": ")" + (test::kFixtures / "deepseek_v32").string() +
      R"(", "method": {"name": "autoregressive"}, "prompt_tokens": 20, "output_tokens": 20})");
  REQUIRE(tiny.warnings.size() == 1);
  CHECK(contains(tiny.warnings.front(), "the decoder's loops take about twice as long"));
  CHECK_FALSE(tiny.interval);
}

}  // namespace draftline
