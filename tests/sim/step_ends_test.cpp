// SPDX-License-Identifier: Apache-2.0
// Simulations with steps at the ends of their 90 % interval.
#include "inputs/catalogue.h"
#include "sim/serving.h"
#include "sim/step_scale.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {
namespace {

std::string loop(const std::string& arrivals, const std::string& device = "h100-sxm") {
  return R"({"device": ")" + device + R"(", "transformer": "llama-3.1-8b", "engine": "vllm",
             "method": {"name": "autoregressive"}, "workload": {"arrivals": )" +
         arrivals + R"(, "requests": 400, "lengths": {"prompt": 500, "output": 100}}})";
}

ServingResult with_intervals(const std::string& scenario, bool intervals = true) {
  ServingSweep sweep(Document::from_text(scenario, "s.json"), kData);
  sweep.validate();
  ServingSweep::Options options;
  options.intervals = intervals;
  return std::get<ServingResult>(sweep.at(0, options).result);
}

double tpot(const ServingRun& run) { return run.figures.tpot.mean().value; }
double ttft(const ServingRun& run) { return run.figures.ttft.mean().value; }

}  // namespace

TEST_CASE("without a queue the interval of TPOT is that of a step") {
  const ServingResult r = with_intervals(loop(R"({"process": "closed", "concurrency": 1})"));
  REQUIRE(r.ends.has_value());
  CHECK(r.no_interval.empty());
  CHECK(r.ends->step.low < 1);
  CHECK(r.ends->step.high > 1);
  const double predicted = tpot(r.runs.front());
  CHECK(tpot(r.ends->shortest) == Approx(predicted).epsilon(1e-6));  // by its own clock
  CHECK(tpot(r.ends->longest) == Approx(predicted).epsilon(1e-6));
}

TEST_CASE("the interval of TTFT contains those of the front end and of what prompts add") {
  const ServingResult r = with_intervals(loop(R"({"process": "closed", "concurrency": 1})"));
  const auto engine = Catalogue(kData).engine("vllm");
  REQUIRE(r.ends.has_value());
  REQUIRE(engine->prompt_error.high > 1);
  const Interval front_end = engine->intervals.at("front_end");
  const double predicted = ttft(r.runs.front()) - engine->front_end.value;  // of one prompt
  const auto expected = [&](double prompts, double step, double front) { return prompts * step * predicted + front; };
  CHECK(r.ends->step.low * ttft(r.ends->shortest) ==
        Approx(expected(engine->prompt_error.low, r.ends->step.low, front_end.low)).epsilon(0.05));
  CHECK(r.ends->step.high * ttft(r.ends->longest) ==
        Approx(expected(engine->prompt_error.high, r.ends->step.high, front_end.high)).epsilon(0.05));
}

TEST_CASE("near the capacity the interval of TTFT is wider than that of a step") {
  const ServingResult r = with_intervals(loop(R"({"process": "poisson", "rate": "70 /s"})"));
  REQUIRE(r.ends.has_value());
  CHECK(ttft(r.ends->longest) > 1.5 * ttft(r.runs.front()));
}

TEST_CASE("a device with unknown errors has no interval, and a reason") {
  const ServingResult r = with_intervals(loop(R"({"process": "closed", "concurrency": 1})", "rtx-4090"));
  CHECK(!r.ends.has_value());
  CHECK(!r.no_interval.empty());
}

TEST_CASE("intervals are computed where they are asked for, and leave the run as it is") {
  const std::string scenario = loop(R"({"process": "poisson", "rate": "10 /s"})");
  const ServingResult with = with_intervals(scenario), without = with_intervals(scenario, false);
  CHECK(!without.ends.has_value());
  CHECK(without.no_interval.empty());
  CHECK(with.runs.front().figures.fingerprint() == without.runs.front().figures.fingerprint());
}

TEST_CASE("a scale of steps is gone with its end") {
  ServingSweep sweep(Document::from_text(loop(R"({"process": "poisson", "rate": "10 /s"})"), "s.json"), kData);
  sweep.validate();
  const auto point = sweep.prepare(point_at(sweep.scenario(), 0));
  const auto seconds = [&] { return point->fleet.front_end.value; };
  const double before = seconds();
  REQUIRE(before > 0);
  {
    const StepScale scale(*point, 2);
    CHECK(seconds() == before / 2);
    CHECK(mean_rate(point->workload) == 20);
  }
  CHECK(seconds() == before);
  CHECK(mean_rate(point->workload) == 10);
}

}  // namespace draftline
