// SPDX-License-Identifier: Apache-2.0
// A device, an engine and a network of round figures (tests/predict/data), so that a step can be summed in the head:
// bytes / 1 GB/s for weights, the context's keys and what an attention reads to find them, nothing for the rest.
// kRounded leaves room for what is read from an L2 a million times as fast.
#include <cmath>

#include "core/text_file.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

// 64 wide; q, k, v: 64 x 128; o: 64 x 64; gate and up: 64 x 256; down: 128 x 64; head: 64 x 1000. In 16 bits:
static constexpr double kProducts = 2e-9 * (8192 + 4096 + 16384 + 8192 + 64000);  // 201.728 us
static constexpr double kKey = 2e-9 * 2 * 2 * 16;  // keys and values of 2 heads of 16: 128 ns
static constexpr double kRounded = 1e-6;
// Row starts, places in the cache and lengths, 4 bytes each: B + 1, B and B of them.
static constexpr double index_time(int sequences) { return 4e-9 * (3 * sequences + 1); }

static std::string round_scenario(const std::string& method, const std::string& more) {
  const std::string folder = std::string(DRAFTLINE_SOURCE_DIR) + "/tests/predict/data/";
  return R"({"device": ")" + folder + R"(round_device.json", "transformer": ")" + folder +
         R"(round_transformer.json", "engine": ")" + folder + R"(round_engine.json", "method": )" + method + ", " +
         more + "}";
}
// 22 tokens: the first from the prefill, 21 from steps over 90 to 110 committed tokens, 100 on average.
static const std::string kText = R"("prompt_tokens": 90, "output_tokens": 22, "batch_size": )";

TEST_CASE("an autoregressive step is its weights and keys over the bandwidth, and the engine's fixed costs") {
  const std::string ar = R"({"name": "autoregressive"})";
  const Prediction one = prediction(round_scenario(ar, kText + "1"));
  const double step =
      1e-3 + kProducts + 100 * kKey + index_time(1) + 10e-6;  // the root's own key is still in L2; one read
  CHECK(one.step_time.value == Approx(step + 1e-6).epsilon(kRounded));
  CHECK(one.throughput.value == Approx(1 / (step + 1e-6)).epsilon(kRounded));
  CHECK(one.breakdown.of(Phase::verify).value == Approx(kProducts + 100 * kKey + index_time(1)).epsilon(kRounded));
  CHECK(one.breakdown.host().value == Approx(1e-3 + 10e-6 + 1e-6).epsilon(kRounded));
  CHECK(one.breakdown.of(Phase::draft).value == 0);
  CHECK(one.acceptance_length == 1);
  CHECK(one.speedup == 1);

  // Four sequences read the weights once, but their own keys, and emit four tokens at 1 us.
  const Prediction four = prediction(round_scenario(ar, kText + "4"));
  CHECK(four.step_time.value ==
        Approx(1e-3 + kProducts + 4 * 100 * kKey + index_time(4) + 10e-6 + 4e-6).epsilon(kRounded));
  CHECK(four.throughput.value == Approx(4 / four.step_time.value).epsilon(1e-12));
}

// A step under the round engine with more in its profile, or a method of its own.
static double step_with(const std::string& profile, const std::string& method = R"({"name": "autoregressive"})") {
  const std::string folder = std::string(DRAFTLINE_SOURCE_DIR) + "/tests/predict/data/";
  std::string engine = read_text_file(folder + "round_engine.json");
  engine.insert(engine.find("\"ops\": {"), profile);
  const FreshFolder fresh;
  write_text_file(fresh.path() / "other.json", engine);
  std::string text = round_scenario(method, kText + "1");
  const std::string file = folder + "round_engine.json";
  text.replace(text.find(file), file.size(), (fresh.path() / "other.json").string());
  return prediction(text).step_time.value;
}

TEST_CASE(
    "what a device takes beside its kernels counts for each layer and each draft pass, and a share of its bandwidth") {
  const std::string because = R"(, "kind": "guess", "because": "a round figure"}, )",
                    layer = R"("layer": {"value": "7 us")" + because,
                    pass = R"("draft_pass_exposed": {"value": "30 us", "low": "20 us", "high": "40 us")" + because,
                    half = R"("bandwidth_share": {"value": 0.5)" + because;
  CHECK(step_with(layer) - step_with("") == Approx(7e-6));  // one layer
  CHECK(step_with(pass) == step_with(""));
  CHECK(step_with(half) - step_with("") == Approx(kProducts + 100 * kKey + index_time(1)).epsilon(kRounded));
  // The network drafts for itself, one layer a pass: three passes for three drafts, and the target's.
  const std::string draft = R"({"name": "draft_model", "draft_length": 3, "acceptance": {"rate": 0.5}, "draft": ")" +
                            std::string(DRAFTLINE_SOURCE_DIR) + R"(/tests/predict/data/round_transformer.json"})";
  CHECK(step_with(pass, draft) - step_with("", draft) == Approx(3 * 30e-6));
  CHECK(step_with(layer, draft) - step_with("", draft) == Approx(4 * 7e-6));
}

TEST_CASE("every op of a step is recorded before its graph is launched") {
  const auto step = [](const std::string& record) { return step_with(record); };
  const std::string one = R"("record": {"value": "1 us", "kind": "guess", "because": "a round figure"}, )",
                    three = R"("record": {"value": "3 us", "kind": "guess", "because": "a round figure"}, )";
  const double ops = (step(one) - step("")) / 1e-6;
  CHECK(ops == Approx(std::round(ops)).epsilon(1e-6));
  CHECK(ops > 10);
  CHECK(step(three) - step("") == Approx(3e-6 * ops));
}

TEST_CASE("a speculative step adds the drafter's weights and emits its mean length of tokens") {
  // One Medusa head: 64 x 64 and an LM head of its own, 64 x 1000.
  const double head = 2e-9 * (4096 + 64000);
  const Prediction p =
      prediction(round_scenario(R"({"name": "medusa", "draft_length": 1, "acceptance": {"rate": 0.5}})", kText + "1"));
  CHECK(p.acceptance_length == 1.5);
  CHECK(p.breakdown.of(Phase::draft).value == Approx(head).epsilon(kRounded));
  CHECK(p.breakdown.of(Phase::verify).value == Approx(kProducts + 100 * kKey + index_time(1)).epsilon(kRounded));
  const double step = 2e-3 + head + kProducts + 100 * kKey + index_time(1) + 10e-6 + 1.5e-6;
  CHECK(p.step_time.value == Approx(step).epsilon(kRounded));
  CHECK(p.throughput.value == Approx(1.5 / step).epsilon(kRounded));
  const double plain = 1e-3 + kProducts + 100 * kKey + index_time(1) + 10e-6 + 1e-6;
  CHECK(p.speedup == Approx(1.5 / step * plain).epsilon(kRounded));
}

TEST_CASE("memory is weights, blocks of 16 tokens and activations") {
  const Prediction p = prediction(round_scenario(R"({"name": "autoregressive"})", kText + "3"));
  CHECK(p.memory.weights.value == kProducts * 1e9 + 2 * 64000 + 2 * 3 * 64);  // the embedding, three norms
  CHECK(p.memory.cache.value == 3 * 8 * 16 * 128);                            // 90 + 22 + 1 tokens: 8 blocks each
  CHECK(p.memory.draft_weights.value == 0);
  CHECK(p.memory.activations.value > 0);
}

TEST_CASE("a batch that does not fit is skipped with the two sizes") {
  // 0.33 MB of weights leave room for about 40 sequences of 16 KiB on a device of 1 MB.
  const ScenarioText s(round_scenario(R"({"name": "autoregressive"})", R"("prompt_tokens": 90, "output_tokens": 22,
      "batch_size": [1, 64, 8])"));
  const auto sweep = s.sweep();
  CHECK(std::holds_alternative<Prediction>(sweep->at(0).result));
  REQUIRE(std::holds_alternative<std::string>(sweep->at(1).result));
  const std::string why = std::get<std::string>(sweep->at(1).result);
  CHECK(why.starts_with("needs "));
  CHECK(why.ends_with("round_device has 977 KiB, of which 879 KiB may be used"));
  CHECK(std::holds_alternative<Prediction>(sweep->at(2).result));
}

TEST_CASE("a prompt is read before its text decodes; beside another text its products read no weights again") {
  // 90 rows: products still meet the bandwidth (184 FLOP a weight against 1000 FLOP per byte), the head on one row
  // alone.
  const Prediction one = prediction(round_scenario(R"({"name": "autoregressive"})", kText + "1"));
  CHECK(one.prefill_time.value == Approx(1e-3 + kProducts + 90 * kKey + 10e-6).epsilon(0.05));  // and q, o of attention
  CHECK(one.request.ttft.value == Approx(one.prefill_time.value).epsilon(1e-3));  // between nodes of the tables
  CHECK(one.request.e2e.value == Approx(one.request.ttft.value + 21 * one.step_time.value).epsilon(1e-9));
  CHECK(one.throughput_with_prefill.value == Approx(22 / one.request.e2e.value).epsilon(1e-12));
  // Two: 22 steps each, of which two have a prompt beside the other's decoding. Read one by one they took two prefills.
  const Prediction two = prediction(round_scenario(R"({"name": "autoregressive"})", kText + "2"));
  const double prompt = two.request.ttft.value - one.step_time.value;
  CHECK(prompt > 0);
  CHECK(prompt <= 90 * kKey + kRounded * kProducts);  // attention alone, of which the device's idle time hides a part
  CHECK(two.request.e2e.value == Approx(20 * two.step_time.value + 2 * two.request.ttft.value).epsilon(1e-9));
}

}  // namespace draftline
