// SPDX-License-Identifier: Apache-2.0
// Intervals of predictions, from intervals of kernels.
#include "predict/prediction_interval.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

// Seconds that wait for each kind of kernel: GEMM, attention, elementwise, experts.
StepBreakdown step(double time, double gemm, double attention, double elementwise = 0, double experts = 0) {
  return {.time = Seconds{time},
          .waited = {Seconds{gemm}, Seconds{attention}, Seconds{experts}, Seconds{elementwise}, Seconds{}},
          .drafting = {}};
}
std::optional<PredictionInterval> against(const KnownErrors& known, const StepBreakdown& s,
                                          const StepBreakdown& plain) {
  const UncertainStep baseline(plain);
  return prediction_interval(known, s, &baseline);
}
KnownErrors errors(RatioInterval gemm, RatioInterval attention) {
  return {.of = {gemm, attention}, .plain_attention = attention};
}

Prediction predicted(const Device& d, const std::string& engine, const std::string& method) {
  const auto s =
      ScenarioText(R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": ")" + engine +
                   R"(", "prompt_tokens": 500, "output_tokens": 100, "batch_size": 8, "method": )" + method + "}")
          .sweep();
  const Scenario& all = s->scenario();
  Catalogue catalogue(kData);
  Recordings recordings([&](const NamedNetwork& draft) { return *catalogue.transformer(draft); });
  Pricer pricer(recordings);
  const Setup setup{outliving(d), all.engines[0], all.transformers[0], precision_at(all, {}), {}, 8, 500, 100};
  const auto outcome = predict(pricer, setup, all.methods[0]);
  return std::get<Prediction>(outcome);
}

const std::string kEagle = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})";
const std::string kPlain = R"({"name": "autoregressive"})";

Device h100() {
  const Document name = Document::from_text("\"h100-sxm\"", "test");
  return *Catalogue(kData).device(name.root());
}

}  // namespace

TEST_CASE("a step that is one kind of kernel is as uncertain as that kind") {
  const auto i = prediction_interval(errors({0.8, 1.25}, {0.5, 2}), step(2, 2, 0), nullptr);
  REQUIRE(i);
  CHECK(i->step_time.low == Approx(0.8));
  CHECK(i->step_time.high == Approx(1.25));
  CHECK(i->throughput.low == Approx(0.8));
  CHECK(i->throughput.high == Approx(1.25));
  CHECK(i->speedup.low == 1);  // its own baseline
  CHECK(i->speedup.high == 1);
  CHECK(i->covers == 1);
}

TEST_CASE("kinds add in quadrature over their shares, and what no interval is known of adds nothing") {
  // 10 s: 6 of GEMM, 30 % longer: 1.8; 2 of attention, 120 % longer: 2.4; sqrt(1.8^2 + 2.4^2) = 3.
  // Shorter: 6 x 0.5 = 3, 2 x 0 = 0. One second each of elementwise work and of the host.
  const auto i = prediction_interval(errors({0.5, 1.3}, {1, 2.2}), step(10, 6, 2, 1), nullptr);
  REQUIRE(i);
  CHECK(i->step_time.high == Approx(1.3));
  CHECK(i->step_time.low == Approx(0.7));
  CHECK(i->covers == Approx(0.8));
}

TEST_CASE("experts err with the GEMMs whose coefficients they share") {
  const KnownErrors e = errors({0.5, 1.3}, {1, 2.2});
  const auto apart = prediction_interval(e, step(10, 2, 2, 1, 4), nullptr),
             together = prediction_interval(e, step(10, 6, 2, 1), nullptr);
  REQUIRE((apart && together));
  CHECK(apart->step_time.high == Approx(together->step_time.high));
  CHECK(apart->step_time.low == Approx(together->step_time.low));
}

TEST_CASE("experts with a fit of their own err by themselves, and a relative's fit has no known error") {
  // 10 s: 4 of GEMM, half as long again: 2; 3 of experts, twice as long: 3; sqrt(2^2 + 3^2) = sqrt(13).
  KnownErrors e = errors({0.9, 1.5}, {0.9, 1.1});
  e.experts_as_gemm = false;
  CHECK_FALSE(prediction_interval(e, step(10, 4, 0, 3, 3), nullptr));
  CHECK(prediction_interval(e, step(10, 4, 0, 6), nullptr));  // no experts in it
  e.of[static_cast<std::size_t>(KernelKind::experts)] = RatioInterval{0.9, 2};
  const auto i = prediction_interval(e, step(10, 4, 0, 3, 3), nullptr);
  REQUIRE(i);
  CHECK(i->step_time.high == Approx(1 + std::sqrt(13.0) / 10));
  CHECK(i->covers == Approx(0.7));
}

TEST_CASE("a speedup is as uncertain as its two steps together") {
  // A baseline that is all host, a step that is all GEMM: the step's factor alone.
  const StepBreakdown host = step(1, 0, 0), products = step(1, 1, 0);
  const auto whole = against(errors({0.8, 1.25}, {0.9, 1.1}), products, host);
  REQUIRE(whole);
  CHECK(whole->speedup.low == Approx(0.8));
  CHECK(whole->speedup.high == Approx(1.25));
  // Half of this step and all of that one is GEMM, half or twice as long: logarithms of 1.5 and 0.5, of 0.75 and 2.
  const auto part = against(errors({0.5, 2}, {0.9, 1.1}), step(1, 0.5, 0), products);
  REQUIRE(part);
  CHECK(part->speedup.low == Approx(std::exp(-std::hypot(std::log(1.5), std::log(0.5)))));
  CHECK(part->speedup.high == Approx(std::exp(std::hypot(std::log(0.75), std::log(2)))));
}

TEST_CASE("what an engine leaves unmodelled widens a step and not its speedup") {
  KnownErrors known = errors({0.6, 1.3}, {1, 1});
  const StepBreakdown products = step(1, 1, 0), host = step(1, 0, 0);
  const auto before = against(known, products, host);
  known.steps = {0.7, 1.4};
  const auto after = against(known, products, host);
  REQUIRE((before && after));
  CHECK(after->step_time.low == Approx(0.5));   // 0.4 and 0.3
  CHECK(after->step_time.high == Approx(1.5));  // 0.3 and 0.4
  CHECK(after->speedup.low == before->speedup.low);
  CHECK(after->speedup.high == before->speedup.high);
}

TEST_CASE("an interval is absent where the error of a GEMM or an attention in it is not known") {
  KnownErrors e = errors({0.8, 1.25}, {0.9, 1.1});
  e.of[1] = e.plain_attention = std::nullopt;
  const StepBreakdown products = step(1, 1, 0), both = step(1, 0.9, 0.1);
  CHECK(against(e, products, products));
  CHECK_FALSE(against(e, both, products));
  CHECK_FALSE(against(e, products, both));
  Device d = h100();
  CHECK(predicted(d, "vllm", kPlain).interval);
  d.gpu().gemm.origin.interval.reset();
  CHECK_FALSE(predicted(d, "vllm", kPlain).interval);
  d = h100();
  d.gpu().attention.fits[0].prefill.origin.interval.reset();
  CHECK(predicted(d, "vllm", kPlain).interval);  // which has one row a sequence
  CHECK_FALSE(predicted(d, "vllm", kEagle).interval);
  d.gpu().attention.fits[0].decode.origin.interval.reset();
  CHECK_FALSE(predicted(d, "vllm", kPlain).interval);
}

TEST_CASE("terms of the engine add their effects to those of the kernels, in quadrature") {
  // 10 s: 8 of GEMM, half as long again: 4; a term that may add 3 s or save 1: sqrt(4^2 + 3^2) = 5.
  const StepBreakdown s = step(10, 8, 0);
  const TermEffect term{&engine_field("step"), Seconds{-1}, Seconds{3}};
  const auto i = prediction_interval(errors({1, 1.5}, {1, 1}), UncertainStep(s, {&term, 1}), nullptr);
  REQUIRE(i);
  CHECK(i->step_time.high == Approx(1.5));
  CHECK(i->step_time.low == Approx(0.9));
}

TEST_CASE("a term that moves a step and the plain step alike leaves their speedup alone") {
  const KnownErrors exact = errors({1, 1}, {1, 1});
  const StepBreakdown s = step(10, 0, 0), plain = step(5, 0, 0);
  const auto speedup = [&](Seconds mine, Seconds base) {
    const TermEffect a{&engine_field("step"), {}, mine}, b{&engine_field("step"), {}, base};
    const UncertainStep baseline(plain, {&b, 1});
    return prediction_interval(exact, UncertainStep(s, {&a, 1}), &baseline)->speedup;
  };
  CHECK(speedup(Seconds{2}, Seconds{1}).low == Approx(1));  // a fifth of both
  CHECK(speedup(Seconds{2}, Seconds{1}).high == Approx(1));
  CHECK(speedup(Seconds{1}, Seconds{1}).high == Approx(1.2 / 1.1));  // the plain step grows by a fifth, the other half
  CHECK(speedup(Seconds{1}, Seconds{1}).low == Approx(1));
  CHECK(speedup(Seconds{10}, Seconds{}).low == Approx(0.5));  // a term of speculation alone
}

TEST_CASE("the effect of a term is that of a profile with the term at the end of its interval") {
  const Device d = h100();
  for (const std::string engine : {"vllm", "hf-eager", "sglang"})
    for (const std::string& method : {kPlain, kEagle}) {
      const auto s = ScenarioText(R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": ")" + engine +
                                  R"(", "prompt_tokens": 256, "output_tokens": 2, "method": )" + method + "}")
                         .sweep();
      Setup setup = s->setup({});
      const MethodChoice& m = s->scenario().methods[0];
      for (const int batch : {1, 32}) {
        setup.batch_size = batch;
        const auto own = s->pricer().of(setup, m);
        const double tokens = 2;
        const auto time = [&](const Engine& e) {
          Setup other = setup;
          other.engine = std::make_shared<const Engine>(e);  // the pricer keeps it
          const Seconds t = s->pricer().of(other, m)->step_price(batch)(256);
          return t + batch * tokens * e.token;
        };
        const auto effects = own->term_effects(batch, 256, tokens);
        CHECK(!effects.empty());
        for (const TermEffect& effect : effects) {
          INFO(engine << " " << method << " " << batch << " " << effect.field->key);
          const Interval ends = interval_of(engine_term(effect.field->key, *setup.engine, d), *setup.engine);
          const Engine low = with_term(*setup.engine, *effect.field, ends.low),
                       high = with_term(*setup.engine, *effect.field, ends.high);
          CHECK(effect.at_low.value == Approx((time(low) - time(*setup.engine)).value).margin(1e-12));
          CHECK(effect.at_high.value == Approx((time(high) - time(*setup.engine)).value).margin(1e-12));
        }
      }
    }
}

TEST_CASE("a fitted value has the interval of its fit, an edited one that of the prior") {
  const Device d = h100();
  const auto engine_of = [&](const std::string& draft_pass) {
    nlohmann::json profile = nlohmann::json::parse(read_text_file(kData / "engines/vllm-0.19.json"));
    profile["draft_pass"] = nlohmann::json::parse(draft_pass);
    return read_engine(Document::from_text(profile.dump(), "e.json").root());
  };
  const auto ends = [&](const Engine& e) { return interval_of(engine_term("draft_pass", e, d), e); };
  const std::string fit = R"("low": "190 us", "high": "220 us", "kind": "guess", "because": "a test"})";
  const Interval fitted = ends(engine_of(R"({"value": "200 us", )" + fit)),
                 edited = ends(engine_of(R"({"value": "300 us", )" + fit)),
                 guess = ends(engine_of(R"({"value": "300 us", "kind": "guess", "because": "a test"})"));
  CHECK(fitted.low == Approx(190e-6));
  CHECK(fitted.high == Approx(220e-6));
  CHECK(edited.low == guess.low);
  CHECK(guess.high == Approx(300e-6 * std::pow(3, 1.645)));
}

TEST_CASE("a step on a shipped profile is never exact, and neither is its speedup") {
  const Device d = h100();
  for (const std::string engine : {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}) {
    const Prediction p = predicted(d, engine, kEagle);
    INFO(engine);
    if (!p.interval) {
      CHECK(starts_with(p.no_interval, "no interval: "));
      continue;
    }
    CHECK(p.no_interval.empty());
    CHECK(p.interval->step_time.high > 1.02);
    CHECK(p.interval->speedup.low < 0.98);
  }
}

TEST_CASE("a step without an interval says which errors are unknown, and why") {
  Device d = h100();
  d.gpu().gemm.origin.borrowed_from = "a100-sxm";
  d.gpu().gemm.origin.interval.reset();
  CHECK(predicted(d, "vllm", kPlain).no_interval ==
        "no interval: unknown errors of GEMMs (the fit is that of a100-sxm)");
  d.gpu().gemm.origin.borrowed_from.clear();
  d.gpu().gemm.origin.because = "of a100-sxm: so";
  CHECK(predicted(d, "vllm", kPlain).no_interval == "no interval: unknown errors of GEMMs (the fit is a relative's)");
}

TEST_CASE("attention of one row and of several err by intervals of their own") {
  // All of it is attention: a plain step by that of one row, a speculative one by the other; their speedup by both.
  KnownErrors e = errors({0.9, 1.1}, {0.5, 2});
  e.plain_attention = RatioInterval{0.8, 1.25};
  const StepBreakdown s = step(2, 0, 2);
  const auto plain = prediction_interval(e, s, nullptr), verify = against(e, s, s);
  REQUIRE((plain && verify));
  CHECK(plain->step_time.high == Approx(1.25));
  CHECK(verify->step_time.high == Approx(2));
  CHECK(verify->speedup.low == Approx(std::exp(-std::hypot(std::log(2), std::log(0.8)))));
}

TEST_CASE("a library that was not measured on a device makes the interval wider") {
  const Device d = h100();
  AttentionChoice choice = attention_choice(d.gpu().attention, "flash_attention_3", DType::bf16);
  const auto own = known_errors(d, Precision(), choice).plain_attention;
  choice = attention_choice(d.gpu().attention, "triton", DType::bf16);
  REQUIRE_FALSE(choice.measured);
  const auto other = known_errors(d, Precision(), choice).plain_attention;
  REQUIRE((own && other));
  const RatioInterval apart = *d.gpu().attention.other_library;
  CHECK(apart.low < own->low);
  CHECK(other->low == apart.low);
  CHECK(other->high == apart.high);
  Device silent = d;
  silent.gpu().attention.other_library.reset();
  choice = attention_choice(silent.gpu().attention, "triton", DType::bf16);
  CHECK_FALSE(known_errors(silent, Precision(), choice).plain_attention);
}

TEST_CASE("GEMMs with 8-bit operands err as their own fit or as that of 16 bits; by a guess their error is not known") {
  constexpr auto kGemm = static_cast<std::size_t>(KernelKind::gemm);
  const Precision wide, fp8("fp8", {.weights = DType::fp8, .inputs = DType::fp8}, DType::bf16),
      weights_alone("fp8", {.weights = DType::fp8}, DType::bf16);
  Device d = h100();
  d.gpu().gemm.origin.interval = RatioInterval{0.9, 1.3};
  d.gpu().narrow_gemm[NarrowFormat::fp8]->origin.interval = RatioInterval{0.7, 1.1};
  const auto error = [&](const Precision& p) {
    const auto e = known_errors(d, p).of[kGemm];
    return e ? std::pair(e->low, e->high) : std::pair(0.0, 0.0);
  };
  CHECK(error(wide) == std::pair(0.9, 1.3));
  CHECK(error(weights_alone) == std::pair(0.0, 0.0));  // by kernels of another kind
  CHECK(error(fp8) == std::pair(0.7, 1.3));
  d.gpu().narrow_gemm = {};
  CHECK(error(fp8) == std::pair(0.0, 0.0));
  d.peak[static_cast<std::size_t>(DType::fp8)] = FlopsPerSecond{0};  // widened, by kernels of another kind too
  CHECK(error(fp8) == std::pair(0.0, 0.0));
}

TEST_CASE("an interval holds its prediction and widens with the device's") {
  for (const std::string engine : {"vllm", "hf-eager"})
    for (const std::string& method : {kPlain, kEagle}) {
      INFO(engine << " " << method);
      Device d = h100();
      const Prediction narrow = predicted(d, engine, method);
      d.gpu().gemm.origin.interval->low /= 1.5;
      d.gpu().gemm.origin.interval->high *= 1.5;
      const Prediction wide = predicted(d, engine, method);
      REQUIRE((narrow.interval && wide.interval));
      CHECK(wide.step_time == narrow.step_time);
      CHECK(narrow.interval->step_time.low < 1);
      CHECK(narrow.interval->step_time.high > 1);
      CHECK(wide.interval->step_time.low < narrow.interval->step_time.low);
      CHECK(wide.interval->step_time.high > narrow.interval->step_time.high);
      CHECK(wide.interval->throughput.low < narrow.interval->throughput.low);
      CHECK(wide.interval->throughput.high > narrow.interval->throughput.high);
      CHECK((narrow.interval->covers > 0 && narrow.interval->covers < 1));
      if (method == kPlain) {
        CHECK(wide.interval->speedup.low == 1);
        CHECK(wide.interval->speedup.high == 1);
      } else {
        CHECK((narrow.interval->speedup.low < 1 && narrow.interval->speedup.high > 1));
        CHECK(wide.interval->speedup.low < narrow.interval->speedup.low);
        CHECK(wide.interval->speedup.high > narrow.interval->speedup.high);
      }
    }
}

TEST_CASE("kernels with known errors are a smaller part of a step whose host is slower") {
  const Device d = h100();
  const Prediction graphs = predicted(d, "vllm", kPlain), eager = predicted(d, "hf-eager", kPlain);
  CHECK(eager.breakdown.host() / eager.step_time > graphs.breakdown.host() / graphs.step_time);
  CHECK(eager.interval->covers < graphs.interval->covers);
}

TEST_CASE("formats that nobody measured, and drafters that a network does not have, are warned of") {
  const auto warned = [](const std::string& scenario, const std::string& of) {
    const auto all = prediction(scenario).warnings;
    return std::any_of(all.begin(), all.end(), [&](const std::string& w) { return contains(w, of); });
  };
  const std::string formats = "GEMMs in these formats were not measured", module = "has no MTP module";
  CHECK(!warned(with(""), formats));
  CHECK(!warned(with(R"("precision": "fp8")"), formats));
  CHECK(warned(with(R"("precision": "int4")"), formats));
  CHECK(warned(with(R"("precision": "nvfp4")"), formats));  // an H100 widens them
  const std::string mtp = R"({"name": "mtp", "draft_length": 1, "acceptance": {"rate": 0.8}})";
  CHECK(warned(with_method(mtp), module));
  CHECK(!warned(with(""), module));
  const std::string glm = R"({"device": "h100-sxm", "tensor_parallel": 4, "transformer": "glm-4.5-air",
                              "engine": "vllm", "method": )" +
                          mtp + "}";
  CHECK(!warned(glm, module));
  const auto moe = [](const std::string& device, const std::string& format) {
    return R"({"device": ")" + device + R"(", "transformer": "qwen3-30b-a3b", "engine": "vllm", "precision": ")" +
           format + R"(", "method": {"name": "autoregressive"}})";
  };
  const std::string slow = "experts are slower in this format than in 16 bits";
  CHECK(warned(moe("h100-sxm", "fp8-static"), slow));  // FlashInfer's kernels, docs/explanation/kernel_model.md
  for (const char* format : {"bf16", "fp8", "fp8-block"}) CHECK(!warned(moe("h100-sxm", format), slow));
  CHECK(!warned(moe("b200", "fp8-static"), slow));
}

}  // namespace draftline
