// SPDX-License-Identifier: Apache-2.0
// Defaults that were measured: the key "intraclass_correlation" of an acceptance, and "hit_share".
#include "inputs/usual_acceptance.h"

#include <algorithm>
#include <numeric>

#include "inputs/shipped_traces.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"
#include "trace/step_statistics.h"

using namespace draftline;

namespace {

double correlation(const std::string& method) {
  const auto sweep = ScenarioText(with_method(method)).sweep();
  return sweep->scenario().methods.front().acceptance.intraclass_correlation();
}
std::string look_up(const std::string& acceptance) {
  return R"({"name": "prompt_lookup", "draft_length": 8, "acceptance": )" + acceptance + "}";
}

}  // namespace

TEST_CASE("the correlation of a request's steps is the scenario's, or the one that was measured with the method") {
  const auto defaults = read_file(kData / "acceptance.json", read_usual_acceptance);
  CHECK(defaults.correlation_of("prompt_lookup") > 0.1);
  CHECK(defaults.correlation_of("no such method") == defaults.other_correlation);
  CHECK(correlation(look_up(R"({"rate": 0.5})")) == defaults.correlation_of("prompt_lookup"));
  CHECK(correlation(look_up(R"({"rate": 0.5, "intraclass_correlation": 0.25})")) == 0.25);
  CHECK(correlation(look_up(R"({"mean_length": 2, "intraclass_correlation": 0})")) == 0);
  CHECK(correlation(R"({"name": "eagle3_1", "acceptance": {"mean_length": 3}})") == defaults.other_correlation);
  CHECK(correlation(look_up(R"({"trace": "reference/prompt_lookup/code"})")) == 0);
}

// The pooled traces of a method, as `draftline traces` counts them together.
TEST_CASE("each default is the correlation of the greedy traces that ship for its method") {
  const auto defaults = read_file(kData / "acceptance.json", read_usual_acceptance);
  REQUIRE_FALSE(defaults.correlations.empty());
  for (const auto& [method, correlation] : defaults.correlations) {
    INFO(method);
    std::vector<std::vector<int>> steps;
    int drafts = 0;
    for (const std::string& name : shipped_traces(Data(kData)))
      if (name.starts_with("reference/" + method + "/") && !name.ends_with("-sampled")) {
        const Trace t = Trace::read(kData / "traces" / (name + ".jsonl.gz"));
        const auto own = steps_of(t);
        steps.insert(steps.end(), own.begin(), own.end());
        drafts = std::max(drafts, most_accepted(t));
      }
    REQUIRE_FALSE(steps.empty());
    // Rounded to two decimals in the file.
    CHECK(step_statistics(steps, drafts, 0).intraclass_correlation.value().value ==
          Approx(correlation).margin(0.005001));
  }
}

TEST_CASE("the defaults of steps without a draft are those of the traces that ship") {
  const auto defaults = read_file(kData / "acceptance.json", read_usual_acceptance);
  CHECK_FALSE(defaults.misses_of("eagle3"));
  REQUIRE(defaults.misses.size() == 2);
  for (const auto& [method, misses] : defaults.misses) {
    INFO(method);
    std::vector<double> products;
    for (const std::string& name : shipped_traces(Data(kData)))
      if (name.starts_with("reference/" + method + "/")) {
        const Trace t = Trace::read(kData / "traces" / (name + ".jsonl.gz"));
        double steps = 0, tokens = 0;
        for (const std::vector<int>& prompt : steps_of(t))
          for (const int emitted : prompt) ++steps, tokens += emitted;
        products.push_back(t.shares_of_drafts().front() * tokens / steps);
      }
    REQUIRE(products.size() == 8);
    const auto [least, most] = std::ranges::minmax(products);
    const double mean = std::accumulate(products.begin(), products.end(), 0.0) / 8;
    CHECK(misses.product == Approx(mean).margin(0.005001));  // rounded to two decimals in the file
    CHECK(misses.range.low == Approx(least).margin(0.005001));
    CHECK(misses.range.high == Approx(most).margin(0.005001));
  }
}

TEST_CASE("a correlation is refused where nothing is drawn alike, or where it can't be") {
  const auto mistake = [](const std::string& acceptance) {
    return ScenarioText(with_method(look_up(acceptance))).mistakes();
  };
  const std::string place = "#/method/acceptance/intraclass_correlation: ";
  CHECK(contains(mistake(R"({"rate": 0.5, "intraclass_correlation": 1})"), place + "must be at most 0.99, got 1"));
  CHECK(contains(mistake(R"({"rate": 0.5, "intraclass_correlation": -0.1})"), place + "must be at least 0"));
  CHECK(contains(mistake(R"({"trace": "reference/prompt_lookup/code", "intraclass_correlation": 0.1})"),
                 place + "does not apply to a trace"));
  CHECK(contains(mistake(R"({"table": [{"context": 100, "rate": 0.5}], "intraclass_correlation": 0.1})"),
                 place + "does not apply to a \"table\""));
}

TEST_CASE("a correlation changes no prediction of the mean") {
  const auto speedup = [](const std::string& correlation) {
    return prediction(with_method(look_up(R"({"mean_length": 2, "intraclass_correlation": )" + correlation + "}")))
        .speedup;
  };
  CHECK(speedup("0") == speedup("0.9"));
}
