// SPDX-License-Identifier: Apache-2.0
// The mode of a step by the rows of a profile, and of the shipped profiles.
#include "model/engines/step_mode.h"

#include "model/engines/engine.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/source_folder.h"

namespace draftline {

namespace {

Engine shipped(const std::string& name) {
  return read_whole(Document::from_file(test::source_folder() / "data" / "engines" / (name + ".json")), read_engine);
}

ModeFacts facts(const std::string& method, const std::string& attention = "flash_attention_3") {
  return {.method = method, .attention = attention, .speculating = !method.empty(), .looks_up = method == "ngram"};
}

Engine with_modes(const std::string& modes) {
  return read_whole(Document::from_text(
                        R"({"name": "e", "version": "1", "source": "s", "locator": "l", "ops": {},
                            "graphs": {"value": true, "kind": "guess", "because": "why"}, "modes": )" +
                            modes + "}",
                        "engine.json"),
                    read_engine);
}

}  // namespace

TEST_CASE("without rules passes are as the profile says, and scheduling overlaps") {
  Engine e;
  CHECK(mode_of(e, facts("eagle3")) == StepMode{});
  e.graphs = true;
  CHECK(mode_of(e, facts("eagle3")) == StepMode{Graphs::full, Graphs::full, Graphs::full, true});
  CHECK(e.step_mode() == mode_of(e, facts("")));
  e.options.enforce_eager = true;
  CHECK(mode_of(e, facts("")) == StepMode{});
}

TEST_CASE("the first row whose conditions hold is the mode") {
  const Engine e = with_modes(R"({
    "target": [
      {"mode": "NONE", "methods": ["medusa"], "experts": true, "kind": "guess", "because": "experts"},
      {"mode": "PIECEWISE", "speculating": true, "attention": ["a", "b"], "kind": "guess", "because": "library"}]})");
  const auto target = [&](const ModeFacts& f) { return mode_of(e, f).target; };
  CHECK(target(facts("", "a")) == Graphs::full);
  CHECK(target(facts("eagle", "a")) == Graphs::piecewise);
  CHECK(target(facts("eagle", "c")) == Graphs::full);
  ModeFacts medusa = facts("medusa", "a");
  CHECK(target(medusa) == Graphs::piecewise);
  medusa.experts = true;
  CHECK(target(medusa) == Graphs::none);
  CHECK(e.modes.target.front().because == "experts");
  CHECK(e.guesses == std::vector<std::string>{"graphs", "modes/target", "modes/target"});
}

TEST_CASE("a pass with more rows than the largest graph runs without graphs") {
  Engine e;
  e.graphs = true;
  e.graph_sizes = {1, 8, 64};
  ModeFacts f = facts("eagle3");
  f.sequences = 32;
  f.rows = 64;
  CHECK(mode_of(e, f).target == Graphs::full);
  f.rows = 65;
  CHECK(mode_of(e, f) == StepMode{Graphs::none, Graphs::full, Graphs::full, true});
  e.graphs_by_sequence = true;
  CHECK(mode_of(e, f).target == Graphs::full);
  f.sequences = 65;
  CHECK(mode_of(e, f) == StepMode{Graphs::none, Graphs::none, Graphs::full, true});
}

TEST_CASE("mistakes in rows of modes are noted at their places") {
  const auto mistakes = [](const std::string& modes) {
    try {
      with_modes(modes);
    } catch (const InputErrors& e) { return std::string(e.what()); }
    return std::string("none");
  };
  CHECK(contains(mistakes(R"({"target": [{"mode": "HALF", "kind": "guess", "because": "why"}]})"),
                 "engine.json#/modes/target/0/mode"));
  CHECK(contains(mistakes(R"({"scheduling": [{"mode": "FULL", "kind": "guess", "because": "why"}]})"),
                 "engine.json#/modes/scheduling/0/mode"));
  CHECK(contains(mistakes(R"({"drafter": [{"mode": "FULL", "kind": "guess"}]})"), "because"));
  CHECK(contains(mistakes(R"({"tagret": []})"), "tagret"));
}

TEST_CASE("vllm-0.19: full graphs unless attention has none for several rows, and host drafts end the overlap") {
  const Engine e = shipped("vllm-0.19");
  CHECK(mode_of(e, facts("")) == StepMode{Graphs::full, Graphs::piecewise, Graphs::piecewise, true});
  CHECK(mode_of(e, facts("eagle3")) == StepMode{Graphs::full, Graphs::piecewise, Graphs::piecewise, true});
  CHECK(mode_of(e, facts("eagle3", "flashinfer")).target == Graphs::piecewise);
  CHECK(mode_of(e, facts("", "flashinfer")).target == Graphs::full);
  CHECK_FALSE(mode_of(e, facts("draft_model")).overlapped);
  CHECK_FALSE(mode_of(e, facts("ngram")).overlapped);
  ModeFacts some = facts("ngram");
  some.uniform = false;
  CHECK(mode_of(e, some).target == Graphs::piecewise);
  ModeFacts hybrid = facts("mtp");
  hybrid.recurrent = true;
  CHECK(mode_of(e, hybrid).target == Graphs::full);
  CHECK_FALSE(mode_of(e, hybrid).overlapped);
}

TEST_CASE("options of a server change the mode") {
  Engine e = shipped("vllm-0.19");
  const auto with = [&](std::string_view mode) {
    e.options.cudagraph_mode = value_named(kCudagraphModes, mode);
    return mode_of(e, facts("eagle3"));
  };
  CHECK(with("NONE") == StepMode{});
  CHECK(with("PIECEWISE") == StepMode{Graphs::piecewise, Graphs::piecewise, Graphs::piecewise, true});
  CHECK(with("FULL_DECODE_ONLY") == StepMode{Graphs::full, Graphs::none, Graphs::none, true});
  CHECK(with("FULL") == StepMode{Graphs::full, Graphs::piecewise, Graphs::full, true});
  e.options = {};
  e.options.overlap = false;
  CHECK_FALSE(mode_of(e, facts("")).overlapped);
  CHECK(in_mode(e, mode_of(e, facts(""))).step == e.step_serial);
  CHECK(in_mode(e, mode_of(e, facts("eagle3"))).step_speculating == e.step_serial_speculating);
  e.options.overlap = true;
  CHECK(mode_of(e, facts("draft_model")).overlapped);
  CHECK(first_rule(e.modes.scheduling, facts("ngram"), e.options)->refuses);
}

TEST_CASE("vllm-0.10 has piecewise graphs and full ones for hybrids; sglang loses its overlap with speculation") {
  const Engine old = shipped("vllm-0.10");
  CHECK(mode_of(old, facts("")).target == Graphs::piecewise);
  ModeFacts hybrid = facts("");
  hybrid.recurrent = true;
  CHECK(mode_of(old, hybrid).target == Graphs::full);
  CHECK_FALSE(mode_of(old, facts("")).overlapped);
  Engine sglang = shipped("sglang-0.5");
  CHECK(mode_of(sglang, facts("")).overlapped);
  CHECK_FALSE(mode_of(sglang, facts("EAGLE")).overlapped);
  sglang.options.overlap = true;
  CHECK(mode_of(sglang, facts("EAGLE")).overlapped);
  CHECK_FALSE(mode_of(sglang, facts("NGRAM")).overlapped);
}

}  // namespace draftline
