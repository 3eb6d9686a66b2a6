// SPDX-License-Identifier: Apache-2.0
// Laws that every prediction obeys, over many setups of shipped devices, transformers, engines and methods.
#include "predict/prediction.h"

#include <algorithm>
#include <map>

#include "decoder/priced/step_price.h"
#include "model/calibration/layer_fit.h"
#include "model/kernels/gpu_time.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static const std::string kLists =
    R"("device": ["h100-sxm", "a100-sxm", "rtx-4090"], "transformer": ["llama-3.1-8b", "qwen2.5-3b"],
       "engine": ["vllm", "hf-eager", "sglang", "draftline"], "prompt_tokens": [32, 700], "output_tokens": [2, 300])";
static const std::string kMethods =
    R"([{"name": "autoregressive"}, {"name": "medusa", "acceptance": {"mean_length": 2}},
        {"name": "hass", "draft_length": 3, "acceptance": {"rate": 0.7}}, {"name": "eagle3", "draft_length": [1, 5], "acceptance": {"rate": 0.7}},
        {"name": "eagle3", "acceptance": {"mean_length": 4}}, {"name": "specformer", "draft_length": 4, "acceptance": {"rate": 0.6}}])";

static std::string scenario_of(const std::string& methods, const std::string& more) {
  return "{" + kLists + ", \"method\": " + methods + ", " + more + "}";
}
static Prediction at(Sweep& s, std::size_t i) {
  const Outcome o = s.at(i);
  if (const auto* why = std::get_if<std::string>(&o.result)) FAIL("skipped: " << *why);
  return std::get<Prediction>(o.result);
}

TEST_CASE("every figure of a prediction is positive, and its parts are its step") {
  const auto s = ScenarioText(scenario_of(kMethods, R"("batch_size": [1, 7, 32])")).sweep();
  int predicted = 0, asked = 0;
  for (std::size_t i = 0; i < s->scenario().points(); i += 5) {
    ++asked;
    const Outcome o = s->at(i);
    INFO("point " << i << " " << s->scenario().methods[o.point.method].spec.name());
    const auto* p = std::get_if<Prediction>(&o.result);
    if (p == nullptr) continue;  // its networks do not fit the device
    ++predicted;
    CHECK((p->throughput.value > 0 && p->prefill_time.value > 0 && p->speedup > 0 && p->acceptance_length >= 1));
    const double output = s->scenario().output_tokens[o.point.output];  // the prompt's step emits the first of them
    CHECK(p->throughput_with_prefill < p->throughput * (output / (output - 1)));
    CHECK(p->request.e2e > p->request.ttft);
    for (const KindTimes& phase : p->breakdown.kernels)
      for (const Seconds t : phase) CHECK(t.value >= 0);
    CHECK(p->breakdown.host().value > 0);
    CHECK(p->breakdown.time == p->step_time);
    if (s->scenario().methods[o.point.method].spec.is_plain()) CHECK(p->speedup == 1);
    else CHECK(p->breakdown.of(Phase::draft).value > 0);
  }
  INFO(predicted << " of " << asked << " points were predicted");
  REQUIRE(2 * predicted > asked);
}

TEST_CASE("a point whose figures are no numbers is skipped, and says whose coefficients make them so") {
  const auto s = ScenarioText(with(R"("batch_size": 1)")).sweep();
  Setup setup = s->setup(point_at(s->scenario(), 0));
  Device spoilt = *setup.device;
  spoilt.bandwidth = BytesPerSecond{std::numeric_limits<double>::quiet_NaN()};
  setup.device = outliving(spoilt);
  const auto result = predict(s->pricer(), setup, s->scenario().methods[0]);
  REQUIRE(std::holds_alternative<std::string>(result));
  CHECK(contains(std::get<std::string>(result), "coefficients of h100-sxm or draftline have implausible values"));
}

TEST_CASE("a longer prompt takes no less time to read") {
  const auto s = ScenarioText(R"({"device": "b200", "transformer": ["phi-3-mini", "llama-3.1-8b"], "batch_size": 1,
      "engine": ["hf-eager", "vllm", "sglang", "tgi"], "method": {"name": "autoregressive"}, "output_tokens": 2,
      "prompt_tokens": [1, 2, 16, 64, 127, 128, 129, 150, 256, 1000]})")
                     .sweep();
  const std::size_t prompts = s->scenario().prompt_tokens.size();
  REQUIRE(s->scenario().points() == 8 * prompts);
  for (std::size_t i = 0; i < s->scenario().points(); ++i)
    if (const Point p = point_at(s->scenario(), i); p.prompt > 0) {
      INFO(s->scenario().engines[p.engine]->name << ", prompt " << s->scenario().prompt_tokens[p.prompt]);
      CHECK(at(*s, i).prefill_time.value >= (1 - 1e-12) * at(*s, i - 1).prefill_time.value);
    }
}

TEST_CASE("the folded price of a step is the walk over its ops") {
  const auto s = ScenarioText(scenario_of(kMethods, R"("batch_size": [1, 5])")).sweep();
  const Scenario& all = s->scenario();
  Catalogue catalogue(kData);
  Recordings recordings([&](const NamedNetwork& draft) { return *catalogue.transformer(draft); });
  Pricer pricer(recordings);
  for (std::size_t i = 0; i < all.points(); i += 7) {
    const Point p = point_at(all, i);
    const int batch = all.batch_sizes[p.batch];
    const Setup setup{all.devices[p.device],
                      all.engines[p.engine],
                      all.transformers[p.transformer],
                      precision_at(all, p),
                      {},
                      batch,
                      all.prompt_tokens[p.prompt],
                      all.output_tokens[p.output]};
    const Speculation speculation = all.methods[p.method].spec.speculation();
    const auto run = recordings.recorded_step(setup, all.methods[p.method]);
    const StepPrice folded(run, *setup.device, *setup.engine, speculation);
    for (const int length : {1, 100, 2047}) {
      INFO(all.methods[p.method].spec.name() << " on " << setup.engine->name << " at " << length);
      const std::vector<int> lengths(static_cast<std::size_t>(batch), length);
      const StepBreakdown walked = walk_step(run, lengths, *setup.device, *setup.engine, speculation),
                          whole = folded.breakdown(length);
      CHECK(folded(length) == whole.time);
      CHECK(whole.time.value == Approx(walked.time.value).epsilon(1e-9));
      CHECK(whole.host().value == Approx(walked.host().value).epsilon(1e-9));
      CHECK(whole.drafting.value == Approx(walked.drafting.value).epsilon(1e-9).margin(1e-12));
      for (std::size_t k = 0; k < kKernelKinds; ++k) {
        for (std::size_t p = 0; p < kPhases; ++p)
          CHECK(whole.kernels[p][k].value == Approx(walked.kernels[p][k].value).epsilon(1e-9));
        CHECK(whole.waited[k].value == Approx(walked.waited[k].value).epsilon(1e-9));
      }
    }
  }
}

TEST_CASE("the folded price is the walk where the device waits in layers and draft passes too") {
  const auto s =
      ScenarioText(with_method(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})")).sweep();
  Setup setup = s->setup({});
  Engine none = *setup.engine, waits = none;
  none.layer = {};
  none.layer_rows.reset();
  waits.layer = waits.layer_rows.emplace(5e-6);
  waits.draft_pass_exposed = Seconds{200e-6};
  const auto& method = s->scenario().methods.front();
  const auto run = s->recordings().recorded_step(setup, method);
  const std::vector<int> lengths(1, 700);
  setup.batch_size = 1;
  const Seconds folded = StepPrice(run, *setup.device, waits, Speculation::on)(700),
                walked = walk_step(run, lengths, *setup.device, waits, Speculation::on).time,
                without = StepPrice(run, *setup.device, none, Speculation::on)(700);
  CHECK(folded.value == Approx(walked.value).epsilon(1e-9));
  CHECK(folded - without > Seconds{3 * 200e-6 + 32 * 5e-6 - 1e-9});
}

TEST_CASE("a layer's kernels, as layers are calibrated, are what a step has more with a layer more") {
  const auto s = ScenarioText(R"({"device": "draftline-h100-sxm", "engine": "draftline", "transformer": "llama-3.1-8b",
                                  "method": {"name": "autoregressive"}})")
                     .sweep();
  const int sequences = GENERATE(1, 4, 64), context = GENERATE(512, 4096);
  Setup setup = s->setup({});
  setup.batch_size = sequences;
  Engine engine = *setup.engine;
  engine.layer = {};
  engine.layer_rows.reset();
  engine.record = {};
  setup.engine = outliving(engine);
  const auto with_layers = [&](const TransformerShape& t) {
    setup.transformer = outliving(t);
    return s->pricer().step_price(setup, s->scenario().methods.front())(context).value;
  };
  TransformerShape few = *setup.transformer, more = few;
  few.resize_layers(2);
  more.resize_layers(6);
  const AttentionHeads heads = few.usual_heads();
  const MeasuredPoint layer{"layer",
                            {{"hidden", few.hidden},
                             {"heads", heads.heads},
                             {"kv_heads", heads.kv_heads},
                             {"head_dim", heads.head_dim},
                             {"intermediate", few.intermediate},
                             {"sequences", sequences},
                             {"context", context}}};
  CHECK(kernels_of_layer(*setup.device, layer).value ==
        Approx((with_layers(more) - with_layers(few)) / 4).epsilon(1e-3));
}

TEST_CASE("a layer of several rows may take another time beyond its kernels than one of a single row") {
  const auto s =
      ScenarioText(with_method(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})")).sweep();
  Setup setup = s->setup({});
  setup.batch_size = 1;
  const auto run = s->recordings().recorded_step(setup, s->scenario().methods.front());
  Engine engine = *setup.engine;
  engine.layer = {};
  engine.layer_rows.reset();
  const auto time = [&] { return StepPrice(run, *setup.device, engine, Speculation::on)(700).value; };
  const double without = time();
  engine.layer_rows = Seconds{9e-6};  // of the target's 32 layers, and of the drafter's first pass
  CHECK(time() - without == Approx(33 * 9e-6));
  engine.layer = Seconds{4e-6};  // of its two other passes
  CHECK(time() - without == Approx(33 * 9e-6 + 2 * 4e-6));
}

TEST_CASE("a drafter whose passes wait for the host takes their time, and no more where the device is slower") {
  const auto s =
      ScenarioText(with_method(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})")).sweep();
  const Setup setup = s->setup({});
  const auto run = s->recordings().recorded_step(setup, s->scenario().methods.front());
  Engine slow = *setup.engine;
  slow.ops["verify_greedy"].waits = 1;  // the host reads what was accepted before it drafts
  const auto drafting = [&](double pass) {
    slow.draft_pass = Seconds{pass};
    const std::vector<int> lengths(1, 700);
    const StepBreakdown folded = StepPrice(run, *setup.device, slow, Speculation::on).breakdown(700);
    CHECK(folded.drafting.value == Approx(walk_step(run, lengths, *setup.device, slow, Speculation::on).drafting.value)
                                       .epsilon(1e-9)
                                       .margin(1e-12));
    CHECK(folded.drafting <= folded.host());
    return folded.drafting.value;
  };
  CHECK(drafting(0) == Approx(0).margin(1e-9));
  // Three passes, one of them behind the read: each waits a millisecond, less the kernels of the one before it.
  CHECK(drafting(1e-3) < 3e-3);
  CHECK(drafting(1e-3) > 2e-3);
  CHECK(drafting(2e-3) - drafting(1e-3) == Approx(3e-3));
}

TEST_CASE("kernels of a graph overlap a share of their launches, those outside graphs nothing") {
  const auto s = ScenarioText(R"({"device": "h100-sxm", "engine": "vllm-0.19", "transformer": "llama-3.1-8b",
                                  "method": {"name": "autoregressive"}})")
                     .sweep();
  const Setup setup = s->setup({});
  const auto run = s->recordings().recorded_step(setup, s->scenario().methods.front());
  const std::vector<int> lengths(1, 700);
  Engine engine = *setup.engine;
  engine.step = engine.step_speculating = Seconds{};
  const auto time = [&](double overlap) {
    engine.launch_overlap = overlap;
    const Seconds folded = StepPrice(run, *setup.device, engine, Speculation::off)(700);
    CHECK(folded.value ==
          Approx(walk_step(run, lengths, *setup.device, engine, Speculation::off).time.value).epsilon(1e-9));
    return folded;
  };
  const double saved = (time(0) - time(1)).value;
  CHECK((time(0) - time(0.25)).value == Approx(0.25 * saved));
  CHECK((time(-0.5) - time(0)).value == Approx(0.5 * saved));
  // Of a layer: four GEMMs, attention, two norms, the gate and the rotary embedding; the network's ends are small.
  const GpuModel& gpu = setup.device->gpu();
  const AttentionFit& attention = *attention_of(setup).fit;
  const double layer = 4 * gpu.gemm.fixed.value + std::min(attention.decode.fixed, attention.prefill.fixed).value +
                       2 * gpu.copy.of[ElementOp::rms_norm]->fixed.value +
                       gpu.copy.of[ElementOp::silu_mul]->fixed.value + gpu.copy.fixed.value;
  CHECK(saved > 32 * layer);
  CHECK(saved < 33 * layer);
  engine.graphs = false;
  engine.issue = {};
  CHECK(time(0.25).value == Approx(time(0).value));
}

TEST_CASE("layers that verify a tree cost what the engine says, those of a chain do not") {
  const auto longer = [](const std::string& drafts) {
    const auto s = ScenarioText(with_method(R"({"name": "eagle3", )" + drafts + "}")).sweep();
    const Setup setup = s->setup({});
    const auto run = s->recordings().recorded_step(setup, s->scenario().methods.front());
    Engine trees = *setup.engine;
    trees.layer_tree = Seconds{25e-6};
    const auto time = [&](const Engine& e) { return StepPrice(run, *setup.device, e, Speculation::on)(700).value; };
    return time(trees) - time(*setup.engine);
  };
  CHECK(longer(R"("draft_length": 5, "acceptance": {"rate": 0.7})") == Approx(0).margin(1e-12));
  CHECK(longer(R"("tree": {"top_k": 3, "passes": 4, "nodes": 5}, "acceptance": {"mean_length": 2})") ==
        Approx(32 * 25e-6));
}

TEST_CASE("a long prompt is launched kernel by kernel where the engine has no graphs of that size") {
  const auto s = ScenarioText(with("")).sweep();
  Setup setup = s->setup({});
  Engine eager = *setup.engine;
  eager.issue = Seconds{1e-3};
  const auto time = [&](int tokens) {
    setup.engine = std::make_shared<const Engine>(eager);
    return s->pricer().of(setup, autoregressive())->prompt_price(tokens, tokens)(0);
  };
  const Seconds replayed = time(64), longer = time(600);
  eager.prompt_graphs = 512;
  CHECK(time(64) == replayed);
  CHECK(time(600) > longer + Seconds{0.2});  // more than 200 kernels
}

TEST_CASE("a divided drafter whose heads the ranks don't divide is refused where it was asked for") {
  const std::string draft =
      R"({"name": "draft_model", "draft": "llama-68m", "draft_length": 3, "acceptance": {"rate": 0.5})";
  const auto mistakes = [&](const std::string& ranks, const std::string& more) {
    return ScenarioText(R"({"device": "h100-sxm", "transformer": "llama-2-7b", "engine": "draftline",
                            "tensor_parallel": )" +
                        ranks + R"(, "method": )" + draft + more + "}}")
        .mistakes();
  };
  CHECK(starts_with(mistakes("8", R"(, "shard_draft": true)"),
                    "#/method/shard_draft: tensor_parallel 8 does not divide the 12 heads of llama-68m"));
  CHECK(mistakes("8", "") == "none");
  CHECK(mistakes("[1, 4]", R"(, "shard_draft": true)") == "none");
}

TEST_CASE("the mean over a text lies between the steps at its ends") {
  for (const char* engine : {"vllm", "hf-eager"}) {
    const auto mean = [&](int prompt, int output) {
      return prediction(
                 R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": ")" + std::string(engine) +
                 R"(", "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, "batch_size": 32, "prompt_tokens": )" +
                 std::to_string(prompt) + ", \"output_tokens\": " + std::to_string(output) + "}")
          .step_time;
    };
    const Seconds first = mean(500, 2), whole = mean(500, 502), last = mean(1000, 2);  // two tokens: one step
    CHECK(first < whole);
    CHECK(whole < last);
  }
}

TEST_CASE("the host's share of a step that waits for kernels does not grow with the text") {
  const auto host = [](int output) {
    return prediction(
               R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "batch_size": 32,
                   "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, "prompt_tokens": 16, "output_tokens": )" +
               std::to_string(output) + "}")
        .breakdown.host()
        .value;
  };
  for (const int output : {100, 500, 4000}) CHECK(host(output) == Approx(host(2)).epsilon(1e-9));
}

TEST_CASE("each entry of a mean step is the mean of that entry") {
  const auto s = ScenarioText(scenario_of(kMethods, R"("batch_size": 4)")).sweep();
  Catalogue catalogue(kData);
  Recordings recordings([&](const NamedNetwork& draft) { return *catalogue.transformer(draft); });
  Pricer pricer(recordings);
  const Scenario& all = s->scenario();
  const Setup setup = s->setup(point_at(all, all.points() - 1));
  const StepPrice price = pricer.step_price(setup, all.methods.back());
  // A text of two tokens has one step; the entries of a long one lie between those of its first and last step.
  const StepBreakdown first = mean_step(price, 100, 2), mean = mean_step(price, 100, 3000),
                      last = mean_step(price, 3098, 2);
  CHECK(mean.time == mean_step_time(price, 100, 3000));
  for (std::size_t p = 0; p < kPhases; ++p)
    for (std::size_t k = 0; k < kKernelKinds; ++k) {
      CHECK(mean.kernels[p][k].value >= first.kernels[p][k].value * (1 - 1e-12));
      CHECK(mean.kernels[p][k].value <= last.kernels[p][k].value * (1 + 1e-12));
    }
  CHECK(first.of(Phase::verify, KernelKind::attention) < mean.of(Phase::verify, KernelKind::attention));
  const StepBreakdown none = mean - mean;
  CHECK((none.time.value == 0 && none.device().value == 0 && none.host().value == 0));
}

TEST_CASE("experts are an entry of their own") {
  const auto s = ScenarioText(R"({"device": "h100-sxm", "engine": "draftline", "transformer": "qwen3-30b-a3b",
                                  "method": {"name": "autoregressive"}, "prompt_tokens": 100, "output_tokens": 2})")
                     .sweep();
  Catalogue catalogue(kData);
  Recordings recordings([&](const NamedNetwork& draft) { return *catalogue.transformer(draft); });
  Pricer pricer(recordings);
  const Setup setup = s->setup(point_at(s->scenario(), 0));
  const std::vector<int> lengths{100};
  Seconds experts;
  for (const OpPrice& op : op_prices(recordings.recorded_step(setup, autoregressive()), lengths, *setup.device,
                                     *setup.engine, Speculation::off))
    if (op.key == "expert_mlp") experts += op.time;
  const StepBreakdown step = pricer.step_price(setup, autoregressive()).breakdown(100);
  CHECK(experts.value > 0);
  CHECK(step.of(Phase::verify, KernelKind::experts).value == Approx(experts.value).epsilon(1e-12));
}

TEST_CASE("an engine's own cost of a layer of experts replaces that of the engine that was measured") {
  const auto s = ScenarioText(with(R"("batch_size": 4)")).sweep();
  Catalogue catalogue(kData);
  const auto network = catalogue.transformer("qwen3-30b-a3b");
  Setup setup = s->setup({});
  setup.transformer = network;
  Engine measured = *setup.engine, own = measured;
  measured.ops["expert_mlp"].fixed.reset();
  own.ops["expert_mlp"].fixed = Seconds{9e-6};
  const auto experts = [&](const Engine& e) {
    setup.engine = outliving(e);
    return s->pricer().step_price(setup, autoregressive()).breakdown(500).of(Phase::verify, KernelKind::experts);
  };
  const GpuModel& gpu = setup.device->gpu();
  CHECK((experts(measured) - experts(own)).value == Approx(48 * (gpu.experts->fixed.value - 9e-6)));
  setup.precision = Precision("fp8", format_named("fp8")->layers, DType::bf16);
  REQUIRE(gpu.narrow_experts[NarrowFormat::fp8_block]);  // which prices fp8's experts here
  const Seconds fixed = gpu.narrow_experts[NarrowFormat::fp8_block]->fixed;
  REQUIRE(fixed != gpu.experts->fixed);
  CHECK((experts(measured) - experts(own)).value == Approx(48 * (fixed.value - 9e-6)));
}

TEST_CASE("more acceptance is never slower") {
  const auto s =
      ScenarioText(
          scenario_of(R"({"name": "eagle3", "draft_length": 4, "acceptance": {"rate": [0, 0.3, 0.6, 0.9, 1]}})",
                      R"("batch_size": [1, 32])"))
          .sweep();
  const Scenario& all = s->scenario();
  const std::size_t stride = all.batch_sizes.size() * all.prompt_tokens.size() * all.output_tokens.size();
  for (std::size_t i = 0; i + stride < all.points(); ++i) {
    if (point_at(all, i).method + 1 == all.methods.size()) continue;
    const Prediction less = at(*s, i), more = at(*s, i + stride);
    CHECK(less.throughput < more.throughput);
    CHECK(less.speedup < more.speedup);
  }
}

TEST_CASE("a larger batch never emits fewer tokens a second without speculation, nor takes less memory") {
  const auto s =
      ScenarioText(scenario_of(R"({"name": "autoregressive"})", R"("batch_size": [1, 2, 3, 4, 6, 8, 12, 16])")).sweep();
  for (std::size_t i = 0; i + 1 < s->scenario().points(); ++i) {
    if (point_at(s->scenario(), i + 1).batch == 0) continue;
    const Prediction few = at(*s, i), many = at(*s, i + 1);
    INFO("point " << i);
    CHECK(few.throughput < many.throughput);
    CHECK(few.memory.total() < many.memory.total());
  }
}

TEST_CASE("two devices never need more memory each than one, and every rank talks") {
  const auto s =
      ScenarioText(
          R"({"device": "h100-sxm", "tensor_parallel": [1, 2, 4, 8], "transformer": ["llama-3.1-8b", "qwen3-14b"],
    "engine": "vllm", "batch_size": [1, 16], "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, {"name": "medusa", "acceptance": {"mean_length": 2}}]})")
          .sweep();
  const std::size_t stride = s->scenario().points() / 4;
  for (std::size_t i = 0; i < 3 * stride; ++i) {
    const Prediction fewer = at(*s, i), more = at(*s, i + stride);
    CHECK(more.memory.total() < fewer.memory.total());
    CHECK(more.breakdown.communication().value > 0);  // not always more: eight may use a better algorithm than four
    CHECK(more.step_time < fewer.step_time);
  }
  CHECK(at(*s, 0).breakdown.communication().value == 0);
}

TEST_CASE("a plain step on several devices sums behind each sublayer and the embedding, and gathers its logits") {
  const auto s = ScenarioText(R"({"device": "h100-sxm", "tensor_parallel": 8, "transformer": "llama-3.1-8b",
    "engine": "vllm-0.19", "batch_size": 16, "method": {"name": "autoregressive"}})")
                     .sweep();
  const Device& d = *s->scenario().devices[0];
  const EngineLinks& engine = s->scenario().engines[0]->links;
  const auto call = [&](Collective c, double bytes) {
    return collective_time(d.links, engine, {c, Bytes{bytes}, 8}, d.name);
  };
  // 32 layers of two sublayers; 16 rows of 4096 columns and of 128256 logits, two bytes each; the engine copies the
  // logits.
  const Seconds expected =
      65 * call(Collective::all_reduce, 16 * 4096 * 2) + call(Collective::all_gather, 16 * 128256 * 2) + launch_time(d);
  CHECK(at(*s, 0).breakdown.communication().value == Approx(expected.value));
}

TEST_CASE("a step of more than a hundred kinds of kernels has a price") {
  // On a CPU each product is a kind by when its weights were met: layers left out make that differ from pass to pass.
  const Prediction p = prediction(
      R"({"device": "cpu", "engine": "draftline", "transformer": "qwen2.5-3b", "prompt_tokens": 64, "output_tokens": 64,
    "method": {"name": "self_spec", "draft_length": 4, "acceptance": {"rate": 0.5}}})");
  CHECK(p.step_time.value > 0);
  CHECK(p.breakdown.device() < p.step_time);
}

TEST_CASE("links of another card, and batches beyond what an engine runs at once, are told") {
  const auto told = [](const std::string& device, const std::string& engine, const std::string& more,
                       const char* what) {
    const Prediction p = prediction(R"({"device": ")" + device + R"(", "engine": ")" + engine +
                                    R"(", "transformer": "llama-3.1-8b", "method": {"name": "eagle3", "draft_length": 3,
        "acceptance": {"rate": 0.7}}, )" +
                                    more + "}");
    return std::any_of(p.warnings.begin(), p.warnings.end(), [&](const auto& w) { return contains(w, what); });
  };
  const char* links = "the times of communication are those of l40s (cards on PCIe";
  CHECK(told("rtx-pro-6000", "vllm", R"("tensor_parallel": 2)", links));
  CHECK_FALSE(told("rtx-pro-6000", "vllm", R"("tensor_parallel": 1)", links));
  CHECK_FALSE(told("l40s", "vllm", R"("tensor_parallel": 2)", "the times of communication"));
  CHECK(told("rtx-4090", "vllm", R"("tensor_parallel": 2)", "the times of communication are a guess"));
  CHECK(told("mi300x", "vllm", R"("batch_size": 1)", "may be too narrow for mi300x"));
  CHECK_FALSE(told("rtx-3060", "vllm", R"("precision": "int4")", "may be too narrow"));
  CHECK(told("v100-sxm", "vllm", R"("batch_size": 1)", "v100-sxm has no arithmetic in BF16: priced in FP16"));
  CHECK_FALSE(told("v100-sxm", "vllm", R"("precision": "fp16")", "no arithmetic in BF16"));
  CHECK(told("h100-sxm", "vllm", R"("tensor_parallel": 16)", "times between nodes of 8 were not measured"));
  CHECK(told("gb300", "vllm", R"("tensor_parallel": 32)",
             "all_reduce among 32 devices was not measured: the times of 16 devices"));
  CHECK_FALSE(told("gb300", "vllm", R"("tensor_parallel": 16)", "were not measured"));
  const char* limit = "sglang runs 48 concurrent sequences by default while it speculates";
  CHECK(told("h100-sxm", "sglang", R"("batch_size": 49)", limit));
  CHECK_FALSE(told("h100-sxm", "sglang", R"("batch_size": 48)", limit));
}

TEST_CASE("an engine is priced with the kernels that its profile names, where the device has fits of them") {
  const auto s = ScenarioText(R"({"device": ["h200", "a100-sxm"], "engine": ["vllm", "tensorrt-llm"],
    "transformer": "llama-3.1-8b", "method": {"name": "autoregressive"}})")
                     .sweep();
  for (std::size_t i = 0; i < s->scenario().points(); ++i) {
    const Setup setup = s->setup(point_at(s->scenario(), i));
    const GpuModel& file = s->scenario().devices[setup.device->name == "h200" ? 0 : 1]->gpu();
    const bool own = setup.engine->kernels == "tensorrt_llm" && !file.libraries.empty();
    CAPTURE(setup.device->name, setup.engine->name);
    CHECK(own == (setup.device->name == "h200" && setup.engine->name.starts_with("tensorrt-llm")));
    CHECK((setup.device->gpu().gemm.fixed != file.gemm.fixed) == own);
    const Prediction p = std::get<Prediction>(s->at(i).result);
    CHECK(p.interval.has_value());
  }
}

TEST_CASE("what some devices or networks of a sweep can't share is skipped, what none can is a mistake") {
  const auto sweep =
      ScenarioText(R"({"device": ["h100-nvl", "l40s"], "transformer": ["qwen3-8b", "qwen2.5-0.5b"], "engine": "vllm",
    "tensor_parallel": [1, 4], "method": {"name": "autoregressive"}})")
          .sweep();
  sweep->validate();
  std::map<std::string, int> reasons;
  for (std::size_t i = 0; i < sweep->scenario().points(); ++i) {
    const Outcome o = sweep->at(i);
    const auto* why = std::get_if<std::string>(&o.result);
    ++reasons[why != nullptr ? why->substr(0, why->find(';')) : "runs"];
  }
  CHECK(reasons == std::map<std::string, int>{{"runs", 5},
                                              {"h100-nvl has no link data for 4 devices", 2},
                                              {"tensor_parallel 4 does not divide the 14 heads of qwen2.5-0.5b", 1}});
  const auto alone = [](const std::string& devices) {
    return ScenarioText(R"({"device": "l40s", "transformer": "qwen2.5-0.5b", "engine": "vllm",
      "tensor_parallel": )" +
                        devices + R"(, "method": {"name": "autoregressive"}})")
        .mistakes();
  };
  CHECK(alone("[1, 4]") == "none");
  CHECK(starts_with(alone("[8, 4]"), "#/tensor_parallel/0: tensor_parallel 8 does not divide the 14 heads"));
  CHECK(contains(alone("[8, 4]"), "#/tensor_parallel/1: tensor_parallel 4 does not divide the 14 heads"));
}

TEST_CASE("where devices can't share one network and the method can't draft for the other, both are mistakes") {
  const auto mistakes = [](const std::string& devices) {
    return ScenarioText(R"({"device": "h100-sxm", "transformer": ["qwen2.5-0.5b", "llama-3.1-8b"], "engine": "vllm",
      "tensor_parallel": )" +
                        devices + R"(, "method": {"name": "draft_model", "draft": "qwen2.5-0.5b", "draft_length": 3,
                        "acceptance": {"rate": 0.7}}})")
        .mistakes();
  };
  CHECK(mistakes("[4, 2]") == "none");
  const std::string both = mistakes("4");
  CHECK(contains(both, "#/tensor_parallel: tensor_parallel 4 does not divide the 14 heads of qwen2.5-0.5b"));
  CHECK(contains(both, "#/method"));
  CHECK(!contains(both, "no point can run"));
}

}  // namespace draftline
