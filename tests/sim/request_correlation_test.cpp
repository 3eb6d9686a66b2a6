// SPDX-License-Identifier: Apache-2.0
// Requests whose acceptance differs: latencies of a replayed trace against those of steps drawn by its rates.
#include <cmath>
#include <nlohmann/json.hpp>

#include "inputs/shipped_traces.h"
#include "tests/sim/served.h"
#include "trace/step_statistics.h"

namespace draftline {

namespace {

using Json = nlohmann::json;

const std::string kLookUps = "reference/prompt_lookup/";

Trace shipped(const std::string& name) {
  return Trace::read(std::get<TraceFile>(find_trace(name, {}, disk(), Data(kData))).path);
}

ServingResult serve(const Json& acceptance, int drafts, const std::string& rate, int requests) {
  const Json scenario{{"device", "h100-sxm"},
                      {"transformer", "llama-3.1-8b"},
                      {"engine", "vllm-0.24"},
                      {"method", {{"name", "prompt_lookup"}, {"draft_length", drafts}, {"acceptance", acceptance}}},
                      {"prompt_tokens", 256},
                      {"output_tokens", 256},
                      {"workload", {{"arrivals", {{"process", "poisson"}, {"rate", rate}}}, {"requests", requests}}}};
  return served(scenario.dump());
}

}  // namespace

TEST_CASE("with a trace's correlation the slowest requests are nearer to its replay than with independent steps") {
  double off_alike = 0, off_unlike = 0;  // of TPOT p99, as logarithms of ratios
  for (const std::string kind : {"code", "summary", "structured"})
    for (const std::string rate : {"1 /s", "12 /s"}) {
      INFO(kind << ", " << rate);
      const Trace trace = shipped(kLookUps + kind);
      const StepStatistics s = step_statistics(steps_of(trace), most_accepted(trace), 0);
      const double hits = trace.shares_of_drafts().back();
      Json rates{{"per_position", Json::array()}, {"hit_share", hits}};
      for (const auto& p : s.positions) rates["per_position"].push_back(p.of_all.value().value / hits);
      const auto p99 = [&](const Json& acceptance) {
        return serve(acceptance, 8, rate, 4000).runs.front().figures.tpot.quantile(0.99).value;
      };
      const auto drawn = [&](double correlation) {
        Json all = rates;
        all["intraclass_correlation"] = correlation;
        return p99(all);
      };
      const double replay = p99({{"trace", kLookUps + kind}});
      const double alike = std::abs(std::log(drawn(0) / replay)),
                   unlike = std::abs(std::log(drawn(s.intraclass_correlation.value().value) / replay));
      CHECK(unlike < alike);
      off_alike += alike;
      off_unlike += unlike;
    }
  CHECK(off_unlike < off_alike / 2);
}

TEST_CASE("the correlation of a request's steps leaves the mean of tokens per step as it is") {
  constexpr int kRequests = 4000;
  const auto tokens = [](double correlation) {
    return serve({{"rates", {0.7, 0.6, 0.5}}, {"intraclass_correlation", correlation}}, 3, "5 /s", kRequests)
        .runs.front()
        .figures.acceptance_length();
  };
  // 2.33 tokens per step with a variance of 1.5; a request of 256 tokens has 110 steps. With a correlation of 0.2 the
  // mean of a request varies by 0.3, so that the mean of 4,000 has a standard error of sqrt(0.3 / 4000), 0.009: 0.4 %.
  // The last step of a request is cut, which costs both alike.
  const double alike = tokens(0);
  CHECK(alike == Approx(1 + 0.7 + 0.42 + 0.21).epsilon(0.01));
  CHECK(tokens(0.2) == Approx(alike).epsilon(0.016));
  CHECK(tokens(0.2) != alike);
}

TEST_CASE("what a request accepts belongs to it, whatever the load, and to the seed") {
  const auto outcomes = DraftOutcomes::from_rates(std::array{0.7, 0.6}, 0.3);
  const auto steps = [&](std::uint64_t seed, int request) {
    auto text = outcomes.text(seed, request);
    std::vector<int> all;
    for (int position = 0; position < 200; ++position) all.push_back(outcomes.accepted(text, position));
    return all;
  };
  CHECK(steps(1, 5) == steps(1, 5));
  CHECK(steps(1, 5) != steps(1, 6));
  CHECK(steps(1, 5) != steps(2, 5));
  // Several at once are drawn as each alone.
  std::vector<DraftOutcomes::Text> texts;
  std::vector<int> positions, together(7);
  for (int i = 0; i < 7; ++i) {
    texts.push_back(outcomes.text(1, i));
    positions.push_back(3 * i);
  }
  outcomes.accepted(texts, positions, 0, together);
  for (int i = 0; i < 7; ++i) CHECK(together[at(i)] == outcomes.accepted(texts[at(i)], positions[at(i)]));
}

}  // namespace draftline
