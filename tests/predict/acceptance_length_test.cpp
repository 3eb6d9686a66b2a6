// SPDX-License-Identifier: Apache-2.0
// What acceptance makes of a step: tokens by rates, by context and where only some sequences have drafts.
#include <algorithm>
#include <cmath>

#include "core/binomial.h"
#include "inputs/usual_acceptance.h"
#include "predict/prediction.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

TEST_CASE("a look-up drafter that finds nothing has plain steps, and its length is that of its hits") {
  const auto at = [](double hits, int batch) {
    return prediction(with(R"("batch_size": )" + std::to_string(batch),
                           R"({"name": "prompt_lookup", "draft_length": 5, "acceptance": {"rate": 0.8, "hit_share": )" +
                               std::to_string(hits) + "}}"));
  };
  const Prediction plain = prediction(with(R"("batch_size": 64)"));
  const Prediction none = at(0, 64), half = at(0.5, 64), all = at(1, 64);
  CHECK(none.acceptance_length == 1);
  CHECK(half.acceptance_length == Approx(0.5 * (1 + all.acceptance_length)));
  CHECK(none.breakdown.of(Phase::verify).value == Approx(plain.breakdown.of(Phase::verify).value).epsilon(1e-3));
  CHECK(none.step_time < half.step_time);
  CHECK(half.step_time < all.step_time);
  // One sequence: half of the steps are the one, half the other.
  CHECK(at(0.5, 1).step_time.value == Approx(0.5 * (at(0, 1).step_time + at(1, 1).step_time).value).epsilon(1e-3));
  CHECK(
      ScenarioText(with_method(R"({"name": "eagle3", "draft_length": 3,
                                      "acceptance": {"rate": 0.7, "hit_share": 0.5}})"))
          .mistakes() ==
      "#/method/acceptance/hit_share: eagle3 drafts in every step; only methods that look drafts up have a hit share");
}

TEST_CASE("without a hit share a look-up drafter finds drafts as often as the shipped traces have it") {
  const auto at = [](const std::string& acceptance) {
    return prediction(with(R"("batch_size": 64)",
                           R"({"name": "prompt_lookup", "draft_length": 5, "acceptance": )" + acceptance + "}"));
  };
  const auto misses = read_file(kData / "acceptance.json", read_usual_acceptance).misses_of("prompt_lookup").value();
  const auto given = [&](double product) {  // the mean length then is that of steps with drafts
    const double hits = 1 - product / 1.5;
    return at(R"({"mean_length": )" + std::to_string(1 + 0.5 / hits) + R"(, "hit_share": )" + std::to_string(hits) +
              "}");
  };
  const Prediction usual = at(R"({"mean_length": 1.5})"), same = given(misses.product);
  CHECK(usual.acceptance_length == 1.5);
  CHECK(same.acceptance_length == Approx(1.5).epsilon(1e-5));
  CHECK(usual.step_time.value == Approx(same.step_time.value).epsilon(1e-5));
  // The range of the traces is a part of the interval.
  const double few = given(misses.range.high).step_time / usual.step_time,
               many = given(misses.range.low).step_time / usual.step_time;
  REQUIRE(few < 1);
  REQUIRE(many > 1);
  const auto adds = [](double own, double all, double part) {
    return std::hypot(own - 1, part - 1) == Approx(std::abs(all - 1)).epsilon(1e-3);
  };
  CHECK(adds(same.interval->step_time.high, usual.interval->step_time.high, many));
  CHECK(adds(same.interval->step_time.low, usual.interval->step_time.low, few));
  // An accepted share is one of drafted tokens, so that it says nothing of the other steps.
  const Prediction drafted = at(R"({"accepted_share": 0.3})");
  const double hits = 1 - misses.product / drafted.acceptance_length;
  CHECK(drafted.acceptance_length == Approx(1 + hits * 0.3 * 5));
  CHECK(drafted.step_time.value ==
        Approx(at(R"({"accepted_share": 0.3, "hit_share": )" + std::to_string(hits) + "}").step_time.value)
            .epsilon(1e-5));
  CHECK(at(R"({"accepted_share": 0})").acceptance_length == 1);
  // All drafts of a hit are accepted at the least share.
  CHECK(at(R"({"rate": 1})").step_time == at(R"({"rate": 1, "hit_share": 1})").step_time);
}

TEST_CASE("a host that looks drafts up is waited for: once a step, and for each suffix tree") {
  const auto at = [](const std::string& method, int batch) {
    return prediction(
        with(R"("batch_size": )" + std::to_string(batch),
             R"({"name": ")" + method + R"(", "draft_length": 5, "acceptance": {"rate": 0.8, "hit_share": 0}})"));
  };
  const auto s = ScenarioText(with_method(R"({"name": "autoregressive"})")).sweep();
  const Engine& e = *s->setup({}).engine;
  REQUIRE(e.search.value > 0);
  for (const int batch : {1, 32})
    CHECK((at("suffix_decoding", batch).step_time - at("prompt_lookup", batch).step_time).value ==
          Approx((batch * (e.search - e.look_up)).value));
  // vLLM overlaps steps, but not where its host looks drafts up.
  const std::string overlaps =
      R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm-0.19", "method": )";
  const auto host = [&](const std::string& method) { return prediction(overlaps + method + "}").breakdown.host(); };
  CHECK(host(R"({"name": "prompt_lookup", "acceptance": {"rate": 0.8, "hit_share": 0}})") >= Seconds{1.17e-3});
  CHECK(host(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.8}})") < Seconds{1.17e-3});
}

TEST_CASE("acceptance by context: steps gather where fewer drafts are accepted") {
  const auto at = [](const std::string& acceptance) {
    return prediction(with(R"("batch_size": 4, "prompt_tokens": 1000, "output_tokens": 3002)",
                           R"({"name": "eagle3", "draft_length": 1, "acceptance": )" + acceptance + "}"));
  };
  const Prediction low = at(R"({"rates": [0.25]})"), high = at(R"({"rates": [0.75]})");
  const Prediction same = at(R"({"table": [{"context": 1000, "rates": [0.25]}, {"context": 4000, "rates": [0.25]}]})");
  CHECK(same.throughput.value == Approx(low.throughput.value));
  const Prediction falls = at(R"({"table": [{"context": 1000, "rates": [0.75]}, {"context": 4000, "rates": [0.25]}]})");
  CHECK(low.acceptance_length < falls.acceptance_length);
  CHECK(falls.acceptance_length < high.acceptance_length);
  CHECK(falls.step_time > high.step_time);  // more of its steps are at long contexts
  // Tokens over steps: the mean of 1 / length over the text, whose rate falls from .75 to .25 in the logarithm. By
  // Simpson's rule over 1000, 2500 and 4000 tokens: rates .75, .4195, .25.
  CHECK(1 / falls.acceptance_length == Approx((1 / 1.75 + 4 / 1.4195 + 1 / 1.25) / 6).epsilon(0.005));
  const Prediction by_length =
      at(R"({"table": [{"draft_length": 1, "rates": [0.75]}, {"draft_length": 4, "rates": [0.25, 0.2, 0.2, 0.2]}]})");
  CHECK(by_length.acceptance_length == Approx(1.75));
}

TEST_CASE("an acceptance beyond the measured contexts is noted with the answer, also of a method that is in no file") {
  const auto s = ScenarioText(with(R"("prompt_tokens": 8000, "output_tokens": 200)",
                                   R"({"name": "eagle3", "draft_length": 1,
                                       "acceptance": {"table": [{"context": 1000, "rates": [0.7]},
                                                                {"context": 4000, "rates": [0.6]}]}})"))
                     .sweep();
  const std::string note = "the acceptance at a context of 8200 tokens is that at 4000, the longest measured";
  const auto has = [&](const std::vector<std::string>& all) {
    return std::any_of(all.begin(), all.end(), [&](const std::string& one) { return one.ends_with(note); });
  };
  MethodChoice m = s->scenario().methods.at(0);
  const Setup setup = s->setup(point_at(s->scenario(), 0));
  CHECK(has(s->scenario().document.notes()));
  CHECK_FALSE(has(std::get<Prediction>(predict(s->pricer(), setup, m)).warnings));
  m.in.reset();
  CHECK(has(std::get<Prediction>(predict(s->pricer(), setup, m)).warnings));
}

TEST_CASE("hits of a batch have the mean and the variance of independent sequences") {
  const int n = GENERATE(1, 3, 8, 9, 10, 64, 200, 2000);
  const double p = GENERATE(0.002, 0.02, 0.05, 0.1, 0.3, 0.95, 0.999);
  INFO(n << " sequences, " << p);
  double shares = 0, mean = 0, squares = 0;
  for (const auto& [hits, share] : binomial(n, p)) {
    CHECK((hits >= 0 && hits <= n));
    shares += share, mean += share * hits, squares += share * hits * hits;
  }
  CHECK(shares == Approx(1));
  CHECK(mean == Approx(n * p).epsilon(n > 8 ? 1e-3 : 1e-9));
  CHECK(squares - mean * mean == Approx(n * p * (1 - p)).epsilon(n > 8 ? 0.03 : 1e-9));
  CHECK(binomial(4, 1) == std::vector<std::pair<int, double>>{{4, 1}});
  CHECK(binomial(4, 0) == std::vector<std::pair<int, double>>{{0, 1}});
}

TEST_CASE("a sequence without a hit verifies one row") {
  const auto sweep = ScenarioText(with(R"("batch_size": 2)", R"({"name": "prompt_lookup", "draft_length": 5,
    "acceptance": {"rate": 0.8, "hit_share": 0.5}})"))
                         .sweep();
  const Setup setup = sweep->setup({});
  const ExpectedStep step = sweep->pricer()
                                .of(setup, sweep->scenario().method(Point{}))
                                ->step(setup.batch_size, DraftCounts::of_hits(5, 0.5))
                                ->price;
  CHECK(step.rows() == VerifiedRows{{2, 0.25}, {7, 0.5}, {12, 0.25}});
  CHECK(mean_rows(step.rows()) == 7);
}

TEST_CASE("a drafter that stops early is priced at the drafts that it makes") {
  const auto at = [](const std::string& method, int drafts, const std::string& mean, int batch = 1) {
    return prediction(with(R"("batch_size": )" + std::to_string(batch),
                           R"({"name": ")" + method + R"(", "draft_length": )" + std::to_string(drafts) +
                               R"(, "acceptance": {"mean_length": 1.2)" + mean + "}}"));
  };
  const auto mean = [](const std::string& drafts) { return R"(, "mean_drafts": )" + drafts; };
  const auto unknown = [](const Prediction& p) {
    return std::ranges::any_of(p.warnings, [](const std::string& w) { return w.find("mean_drafts") != w.npos; });
  };
  for (const std::string method : {"self_spec", "kangaroo"}) {
    INFO(method);
    const Prediction all = at(method, 4, ""), four = at(method, 4, mean("4")), one = at(method, 4, mean("1")),
                     two = at(method, 4, mean("2"));
    CHECK(unknown(all));
    CHECK_FALSE(unknown(four));
    CHECK(four.step_time.value == all.step_time.value);
    // A step that stops after one draft of at most four is the step of at most one.
    CHECK(one.step_time.value == Approx(at(method, 1, "").step_time.value));
    CHECK((one.step_time < two.step_time && two.step_time < four.step_time));
    // The longest chain of a batch decides, so that more sequences draft longer together.
    CHECK(at(method, 4, mean("2"), 16).breakdown.of(Phase::draft) > two.breakdown.of(Phase::draft));
  }
  const std::string draft = R"(bild", "draft": "llama-3.2-1b)";  // whose unsure draft is dropped: no step has to draft
  CHECK(at(draft, 4, mean("0.5")).step_time < at(draft, 4, mean("1")).step_time);
  const auto wrong = [](const std::string& method) { return ScenarioText(with_method(method)).mistakes(); };
  CHECK(wrong(R"({"name": "medusa", "draft_length": 3, "acceptance": {"rate": 0.5, "mean_drafts": 2}})") ==
        "#/method/acceptance/mean_drafts: applies only to methods that stop drafting early; medusa does not");
  CHECK(wrong(R"({"name": "kangaroo", "draft_length": 3, "acceptance": {"rate": 0.5, "mean_drafts": 3.5}})") ==
        "#/method/acceptance/mean_drafts: must be at most the draft length, 3");
  CHECK(wrong(R"({"name": "kangaroo", "draft_length": 3, "acceptance": {"mean_length": 2.5, "mean_drafts": 1.2}})") ==
        "#/method/acceptance/mean_drafts: 1.20 drafts yield at most 2.20 tokens per step, fewer than the acceptance's "
        "2.50");
  CHECK(wrong(R"({"name": "kangaroo", "draft_length": 3, "acceptance": {"mean_length": 1.2, "mean_drafts": 0.5}})") ==
        "#/method/acceptance/mean_drafts: must be at least 1: kangaroo verifies a draft in every step");
  CHECK(wrong(R"({"name": "prompt_lookup", "draft_length": 8,
                  "acceptance": {"trace": "reference/prompt_lookup/code", "hit_share": 0.5}})") ==
        "#/method/acceptance/hit_share: the trace has the drafts of each step");
  CHECK_FALSE(unknown(at("kangaroo", 1, "")));  // which verifies its one draft in every step
  // A share of the drafts that were made yields tokens only with their number.
  CHECK(prediction(with_method(R"({"name": "kangaroo", "draft_length": 6,
                                   "acceptance": {"accepted_share": 0.5, "mean_drafts": 3}})"))
            .acceptance_length == 2.5);
}

TEST_CASE("mean lengths of a chain, with the bonus") {
  const auto length = [](const std::string& acceptance) {
    return prediction(with_method(R"({"name": "eagle3", "draft_length": 3, "acceptance": )" + acceptance + "}"))
        .acceptance_length;
  };
  CHECK(length(R"({"rates": [0.5, 0.5, 0.5]})") == Approx(1.875).epsilon(1e-14));
  CHECK(length(R"({"rates": [0.8, 0.5, 0.25, 0.9]})") ==
        Approx(1 + 0.8 + 0.4 + 0.1).epsilon(1e-14));  // the fourth is not met
  CHECK(length(R"({"rate": 0.5})") == Approx(1.875).epsilon(1e-14));
  CHECK(length(R"({"per_position": [0.805, 0.632, 0.483, 0.2]})") ==
        Approx(1 + 0.805 + 0.632 + 0.483).epsilon(1e-14));  // shares of all steps: they add
  CHECK(length(R"({"per_position": [0.5, 0, 0]})") == 1.5);
  CHECK(length(R"({"rate": 1})") == 4);
  CHECK(length(R"({"rate": 0})") == 1);
  CHECK(length(R"({"mean_length": 2.25})") == 2.25);
}

}  // namespace draftline
