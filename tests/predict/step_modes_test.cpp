// SPDX-License-Identifier: Apache-2.0
// What the mode of a step costs: launches that are counted anyway, by hand.
#include "predict/step_modes.h"

#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

constexpr int kLlamaLayers = 32;  // of Llama-3.1-8B

std::string vllm(const std::string& more, const std::string& method = R"({"name": "autoregressive"})",
                 const std::string& engine = "vllm-0.19") {
  return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": ")" + engine + R"(", "method": )" + method +
         (more.empty() ? "" : ", " + more) + "}";
}
std::string eagle3(int drafts) {
  return R"({"name": "eagle3", "draft_length": )" + std::to_string(drafts) + R"(, "acceptance": {"mean_length": 1.5}})";
}

// The host's time of a step alone, of the given mode.
Seconds host(const Sweep& s, StepMode mode, const std::function<void(Engine&)>& change = {}) {
  Setup setup = s.setup({});
  Engine e = *setup.engine;
  if (change) change(e);
  const MethodChoice& m = s.scenario().methods.front();
  Recordings& recordings = const_cast<Sweep&>(s).recordings();
  const auto runs = recordings.recorded_step(setup, m);
  return StepPrice(runs, *setup.device, in_mode(e, mode), m.spec.speculation()).host_alone();
}

}  // namespace

TEST_CASE("piecewise graphs cost a replay for each piece and the launches between them") {
  const auto s = ScenarioText(vllm("")).sweep();
  const Engine& e = *s->scenario().engines.front();
  const Seconds full = host(*s, {Graphs::full, Graphs::full}), pieces = host(*s, {Graphs::piecewise, Graphs::full});
  // A piece before each attention and one behind the last; between two, the cache is written, then attended to.
  CHECK(
      (pieces - full).value ==
      Approx((kLlamaLayers * e.graph_launch + kLlamaLayers * 2 * e.issue).value + e.graph_launch.value).epsilon(1e-9));
  const Seconds eager = host(*s, {});
  CHECK(eager > pieces);
}

TEST_CASE("a step takes at least as long as its host, which works on the next one meanwhile") {
  const auto s = ScenarioText(vllm("")).sweep();
  Setup setup = s->setup({});
  Engine e = *setup.engine;
  const auto runs = s->recordings().recorded_step(setup, autoregressive());
  const auto time = [&](bool overlapped) {
    const Engine in = in_mode(e, {Graphs::full, Graphs::full, Graphs::full, overlapped});
    const StepPrice price(runs, *setup.device, in, Speculation::off);
    const std::vector<int> lengths(1, 500);
    CHECK(walk_step(runs, lengths, *setup.device, in, Speculation::off).time.value ==
          Approx(price(500).value).epsilon(1e-9));
    CHECK(price.breakdown(500).time == price(500));
    return price(500);
  };
  const Seconds hidden = time(true);
  e.step_serial = Seconds{20e-3};
  CHECK(time(true).value == Approx((e.step_serial + e.graph_launch).value).epsilon(1e-9));
  CHECK(time(false).value == Approx((hidden + e.step_serial - e.step).value).epsilon(1e-9));
}

TEST_CASE("the time of a look-up is charged for each text") {
  const std::string ngram = R"({"name": "prompt_lookup", "draft_length": 3, "acceptance": {"mean_length": 1.2}})";
  const auto s = ScenarioText(vllm(R"("batch_size": 16)", ngram)).sweep();
  const auto of = [&](double us) {
    return host(*s, {Graphs::full, Graphs::full, Graphs::full, false},
                [us](Engine& e) { e.look_up = Seconds{us * 1e-6}; });
  };
  CHECK((of(3) - of(1)).value == Approx(16 * 2e-6).epsilon(1e-9));
}

TEST_CASE("warnings name a mode that a method changes, its cause and its cost") {
  const auto warnings = [](const std::string& scenario) {
    std::string all;
    for (const std::string& w : prediction(scenario).warnings) all += w + "\n";
    return all;
  };
  const std::string fp8 = R"("precision": {"kv_cache": "fp8"})";
  CHECK_FALSE(contains(warnings(vllm("", eagle3(3))), "CUDA graphs"));
  CHECK_FALSE(contains(warnings(vllm("")), "CUDA graphs"));
  std::string on_l40s = vllm(fp8 + R"(, "host_speed": 0.3)", eagle3(3));  // the device hides launches of a fast host
  on_l40s.replace(on_l40s.find("h100-sxm"), 8, "l40s");
  on_l40s.replace(on_l40s.find("llama-3.1-8b"), 12, "llama-3.2-1b");
  CHECK(contains(warnings(on_l40s), "verifies in piecewise CUDA graphs (FlashInfer"));
  CHECK(contains(warnings(on_l40s), " of a step"));
  const std::string ngram = R"({"name": "prompt_lookup", "draft_length": 3, "acceptance": {"rate": 0.4)";
  const auto with_recurrence = [&](const std::string& method) {
    std::string scenario = vllm(R"("batch_size": 4)", method);
    return scenario.replace(scenario.find("llama-3.1-8b"), 12, "qwen3.5-9b");
  };
  CHECK(contains(warnings(vllm("", ngram + "}}")), "does not schedule the next step while the device computes"));
  CHECK(contains(warnings(with_recurrence(ngram + R"(, "hit_share": 0.5}})")),
                 "verifies in piecewise CUDA graphs where sequences have different numbers of drafts"));
  CHECK(contains(warnings(vllm("", R"({"name": "draft_model", "draft": "llama-3.2-1b", "draft_length": 3,
                                        "acceptance": {"rate": 0.7}})")),
                 "asynchronous scheduling is off by default with a draft model"));
  CHECK(contains(warnings(vllm(R"("cudagraph_mode": "FULL_DECODE_ONLY")", eagle3(3))), "drafts without CUDA graphs"));
}

TEST_CASE("a schedule of lengths has its own mode in loads") {
  const std::string load = R"("workload": {"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 10})";
  const auto options = [&](const std::string& policy) {
    const auto s = ScenarioText(vllm(load + R"(, "policy": )" + policy, eagle3(3))).sweep();
    return s->setup({}).engine->options.lengths_by_batch;
  };
  CHECK_FALSE(options(R"("fixed")"));
  CHECK(options(R"({"off_above": 32})"));
}

}  // namespace draftline
