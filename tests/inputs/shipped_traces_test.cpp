// SPDX-License-Identifier: Apache-2.0
// Traces by name, and acceptance that is borrowed for another target than its own.
#include "inputs/shipped_traces.h"

#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

using namespace draftline;

namespace {

const std::string kCode = "reference/prompt_lookup/code";

std::string with_lookup(const std::string& acceptance, int drafts = 8) {
  return R"({"name": "prompt_lookup", "draft_length": )" + std::to_string(drafts) + R"(, "acceptance": )" + acceptance +
         "}";
}
std::string traced(const std::string& name, const std::string& more = "") {
  return R"({"trace": ")" + name + "\"" + more + "}";
}

// A trace of ranks by EAGLE-3 with a checkpoint, on a target of another name.
void write_trained(const std::filesystem::path& file) {
  TraceHeader h;
  h.target = "small";
  h.weights = "checkpoint 0a";
  h.fingerprint = "0000000000000000";
  h.drafter = {"checkpoint 0b", "0c"};
  h.method = R"({"name": "eagle3", "checkpoint": "drafters/eagle3"})";
  h.depth = 2;
  TracedPrompt p{.prompt_tokens = 3, .tokens = {7, 8, 9, 7, 8}};
  p.ranks = {0, 1, kNoRank, 0, 0, 0, 2, 0, 0, 3};
  p.probabilities = {0.5, 0.25, 0, 0.5, 0.5, 0.5, 0.125, 0.5, 0.5, 0.0625};
  write_trace(file, h, {p});
}

}  // namespace

TEST_CASE("every trace that ships is read, has an origin, and is found by its name alone") {
  const Data data(kData);
  const auto names = shipped_traces(data);
  REQUIRE_FALSE(names.empty());
  for (const std::string& name : names) {
    INFO(name);
    const auto found = find_trace(name, "/nowhere", disk(), data);
    REQUIRE(std::holds_alternative<TraceFile>(found));
    CHECK(std::get<TraceFile>(found).ships);
    const Trace t = Trace::read(std::get<TraceFile>(found).path);
    CHECK(name.find("/" + std::string(Document::from_text(t.header().method, "m").root().at("name").text()) + "/") !=
          name.npos);
    CHECK(name.ends_with("/" + t.header().task));
    CHECK(t.header().random_weights().empty());
    CHECK(t.has_drafts() == t.header().steps());
    CHECK_FALSE(origin_of_trace(name, data).locator.empty());
  }
}

TEST_CASE("a trace by name is borrowed for another target, with a warning that names both") {
  const Prediction p = prediction(with_method(with_lookup(traced(kCode))));
  CHECK(p.acceptance_length == Approx(2.1).epsilon(0.02));
  bool warned = false;
  for (const std::string& warning : p.warnings)
    warned = warned || starts_with(warning,
                                   "the acceptance is borrowed: it was measured on smollm2-135m-instruct, not on "
                                   "llama-3.1-8b");
  CHECK(warned);
}

TEST_CASE("a method with hits and misses is priced at the drafts of its trace's steps") {
  const auto with_acceptance = [](const std::string& acceptance) {
    return prediction(with_method(with_lookup(acceptance)));
  };
  const Prediction steps = with_acceptance(traced(kCode));
  // 3321 of 5039 steps found their 8 drafts.
  const Prediction hits = with_acceptance(R"({"mean_length": 2.1, "hit_share": 0.6590593371700735})");
  CHECK(steps.step_time.value == Approx(hits.step_time.value));
  CHECK(steps.step_time < with_acceptance(R"({"mean_length": 2.1})").step_time);
}

TEST_CASE("an unknown name of a trace is a mistake that names the nearest one and where all are") {
  const auto mistake = [](const std::string& name) {
    return ScenarioText(with_method(with_lookup(traced(name)))).mistakes();
  };
  const std::string all = "; `draftline list traces` has all that ship", meant = "; did you mean \"" + kCode + "\"?";
  const auto said = [](const std::string& name) { return "#/method/acceptance/trace: no such file: \"" + name + "\""; };
  CHECK(mistake("reference/prompt_lookup/cod") == said("reference/prompt_lookup/cod") + meant + all);
  CHECK(mistake("prompt_lookup/code") == said("prompt_lookup/code") + meant + all);
  CHECK(mistake("code") == said("code") +
                               "; did you mean \"reference/clover/code\" or \"reference/dflash/code\" or "
                               "\"reference/draft_model/code\"?" +
                               all);
  CHECK(mistake("abacus.gz") == said("abacus.gz") + all);
  CHECK(mistake("") == "#/method/acceptance/trace: must be the name of a file or of a trace");
  const std::string above = "reference/self_spec/../prompt_lookup/code";
  CHECK(contains(mistake(above), said(above)));
  CHECK(ScenarioText(with_method(with_lookup(R"({"trace": 3})"))).mistakes() ==
        "#/method/acceptance/trace: must be a text, got the number 3");
  CHECK(contains(ScenarioText(with_method(with_lookup(traced(kCode, R"(, "borrowed": 1)")))).mistakes(),
                 "#/method/acceptance/borrowed: must be true or false"));
}

TEST_CASE("a file keeps to its target unless the scenario borrows it; a name may be kept to it") {
  const auto eagle = [](const std::string& more) {
    return with_method(R"({"name": "eagle3", "draft_length": 2, "acceptance": {"trace": "trained.gz")" + more + "}}");
  };
  const ScenarioText strict(eagle("")), borrowed(eagle(R"(, "borrowed": true)")),
      refused(eagle(R"(, "borrowed": false)"));
  for (const ScenarioText* s : {&strict, &borrowed, &refused}) write_trained(s->folder() / "trained.gz");
  const std::string other = "the trace was recorded on small, not on llama-3.1-8b";
  CHECK(contains(strict.mistakes(), other));
  CHECK(contains(strict.mistakes(), "\"borrowed\": true takes its acceptance"));
  CHECK(contains(refused.mistakes(), other));
  const Outcome o = borrowed.sweep()->at(0);
  REQUIRE(std::holds_alternative<Prediction>(o.result));
  // Ranks of a chain of two, from position 0: 2 and 3 tokens.
  CHECK(std::get<Prediction>(o.result).acceptance_length == 2.5);
  CHECK(contains(ScenarioText(with_method(with_lookup(traced(kCode, R"(, "borrowed": false)")))).mistakes(),
                 "the trace was recorded on smollm2-135m-instruct, not on llama-3.1-8b"));
}

TEST_CASE("what was recorded replays the drafts that were recorded, borrowed or not") {
  CHECK(contains(ScenarioText(with_method(with_lookup(traced(kCode), 4))).mistakes(),
                 "the trace holds the steps of {\"draft_length\":8,\"name\":\"prompt_lookup\"}"));
  CHECK(contains(
      ScenarioText(with_method(R"({"name": "suffix_decoding", "acceptance": )" + traced(kCode) + "}")).mistakes(),
      "the trace holds the steps of"));
}
