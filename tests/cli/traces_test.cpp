// SPDX-License-Identifier: Apache-2.0
// Traces that ship, as a user meets them: listed, described, and borrowed in every verb that takes an acceptance.
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const std::string kCode = "reference/prompt_lookup/code";
const std::string kWarning = "it was measured on smollm2-135m-instruct, not on llama-3.1-8b";

Json scenario() {
  return {{"device", "h100-sxm"},
          {"transformer", "llama-3.1-8b"},
          {"engine", "vllm-0.24"},
          {"method",
           {{{"name", "autoregressive"}},
            {{"name", "prompt_lookup"}, {"draft_length", 8}, {"acceptance", {{"trace", kCode}}}}}},
          {"prompt_tokens", 128},
          {"output_tokens", 64}};
}
Json serving() {
  Json s = scenario();
  s["workload"] = {{"arrivals", {{"process", "poisson"}, {"rate", "5 /s"}}}, {"requests", 200}};
  s["slo"] = {{"ttft_p99", "2 s"}};
  return s;
}

}  // namespace

TEST_CASE("traces that ship are listed with method, kind of prompt, target and origin") {
  const Program draftline;
  const Ran table = draftline("list traces");
  CHECK(table.code == 0);
  CHECK(contains(table.out, kCode));
  const Json all = Json::parse(draftline("list traces --json").out);
  const auto one = std::ranges::find_if(all, [](const Json& t) { return t.at("name") == kCode; });
  REQUIRE(one != all.end());
  CHECK(one->at("method") == "prompt_lookup, k 8");
  CHECK(one->at("task") == "code");
  CHECK(one->at("prompts") == 100);
  CHECK(one->at("tokens_per_step").get<double>() == Approx(2.11).epsilon(0.01));
  CHECK(one->at("target") == "smollm2-135m-instruct");
  CHECK(starts_with(one->at("source").get<std::string>(), "draftline-engines, "));
  CHECK(contains(draftline("list traces " + kCode).out, "draftline traces " + kCode));
  const Ran unknown = draftline("list traces reference/prompt_lookup/cod");
  CHECK(unknown.code == 2);
  CHECK(contains(unknown.err, "did you mean \"" + kCode + "\"?"));
}

TEST_CASE("statistics of a trace are a table, JSON and CSV of the same figures") {
  const Program draftline;
  const Ran table = draftline("traces " + kCode);
  CHECK(table.code == 0);
  CHECK(contains(table.out, "2.11"));
  const Json trace = Json::parse(draftline("traces --json " + kCode).out).at("traces").at(0);
  CHECK(trace.at("method") == Json{{"name", "prompt_lookup"}, {"draft_length", 8}});
  CHECK(trace.at("prompts") == 100);
  CHECK(trace.at("per_position").size() == 8);
  CHECK(trace.at("autocorrelation").size() == 8);
  const Json& tokens = trace.at("tokens_per_step");
  CHECK(tokens.at("low") < tokens.at("value"));
  CHECK(tokens.at("value") < tokens.at("high"));
  double sum = 1;
  for (const Json& share : trace.at("per_position")) sum += share.at("value").get<double>();
  CHECK(tokens.at("value").get<double>() == Approx(sum));
  const Ran csv = draftline("traces --csv " + kCode);
  CHECK(contains(csv.out, kCode + ",\"prompt_lookup, k 8\",code,smollm2-135m-instruct,100,"));
  CHECK(contains(csv.out, ",autocorrelation,8,"));
  CHECK(draftline("traces --json " + kCode).out == draftline("traces --json --seed 0 " + kCode).out);

  const Json twice = Json::parse(draftline("traces --json " + kCode + " " + kCode).out).at("traces");
  REQUIRE(twice.size() == 3);
  CHECK(twice.at(2).at("trace") == "all");
  CHECK(twice.at(2).at("prompts") == 200);
  CHECK(twice.at(2).at("tokens_per_step").at("value") == tokens.at("value"));

  draftline.write("broken.gz", "no trace");
  for (const auto& [words, mistake] : std::initializer_list<std::pair<std::string, std::string>>{
           {"traces broken.gz", "broken.gz:1: "}, {"traces none.gz", "no such file: \"none.gz\""}}) {
    const Ran r = draftline(words);
    CHECK(r.code == 2);
    CHECK(r.out.empty());
    CHECK(contains(r.err, mistake));
  }
}

TEST_CASE("a borrowed acceptance is marked and warned about in every verb and format") {
  const Program draftline;
  draftline.write("s.json", scenario().dump());
  draftline.write("w.json", serving().dump());
  for (const std::string& words : std::initializer_list<std::string>{
           "run s.json", "advise s.json --no-load", "simulate w.json", "plan w.json", "run s.json --json",
           "advise s.json --no-load --json", "simulate w.json --json", "plan w.json --json", "run s.json --html",
           "plan w.json --csv", "ask --model llama-3.1-8b --gpu h100 --method ngram --k 8 --acceptance " + kCode}) {
    INFO(words);
    const Ran r = draftline(words);
    CHECK(r.code == 0);
    CHECK(contains(r.out, kWarning));
  }
  for (const std::string& words : std::initializer_list<std::string>{"run s.json --csv", "simulate w.json --csv"}) {
    const Ran r = draftline(words);
    CHECK(contains(r.out, ",borrowed_from,"));
    CHECK(contains(r.out, ",smollm2-135m-instruct,"));
  }
  const Json results = Json::parse(draftline("run s.json --json").out).at("results");
  CHECK_FALSE(results.at(0).at("inputs").contains("borrowed_from"));
  CHECK(results.at(1).at("inputs").at("borrowed_from") == "smollm2-135m-instruct");
}

}  // namespace draftline
