// SPDX-License-Identifier: Apache-2.0
#include "inputs/acceptance.h"

#include <fstream>

#include "inputs/served_acceptance.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

using namespace draftline;

namespace {

struct Chain : Method {  // drafts as many, whoever asks
  explicit Chain(int drafts) : drafts(drafts) {}
  int depth() const override { return drafts; }
  Proposal propose(Ops&, Session&) override { return {}; }
  int drafts;
};

struct Built {
  explicit Built(int drafts, int rows = 0) : method(drafts), rows(rows > 0 ? rows : drafts + 1) {}
  operator BuiltMethod() const { return {spec, method, rows}; }
  MethodSpec spec;
  Chain method;
  int rows;
};

double tokens(const Acceptance& a, const BuiltMethod& m) { return std::get<double>(a.mean_length(m)); }
std::string refusal(const Acceptance& a, const BuiltMethod& m) { return std::get<std::string>(a.mean_length(m)); }

}  // namespace

TEST_CASE("what is said of acceptance is read for the drafts that are made") {
  const Built two(2);
  // Half of the first drafts, and half of the second behind them: 1 + 1/2 + 1/4.
  CHECK(tokens(Acceptance(Acceptance::Rate{0.5}), two) == 1.75);
  CHECK(tokens(Acceptance(Acceptance::Rates{{0.5, 0.5, 0.9}}), two) == 1.75);
  CHECK(tokens(Acceptance(Acceptance::Ranks{{{0.5, 0.2}, {0.5}}}), two) == 1.75);
  CHECK(tokens(Acceptance(Acceptance::MeanLength{1.75}), two) == 1.75);
}

TEST_CASE("what a form says nothing of is refused with a reason") {
  const Built two(2), tree(2, 7);
  CHECK(refusal(Acceptance(), two).starts_with("\"acceptance\" is required"));
  CHECK(refusal(Acceptance(Acceptance::Rates{{0.5}}), two) == "fewer rates (1) than drafts (2)");
  CHECK(refusal(Acceptance(Acceptance::Rate{0.5}), tree).starts_with("one rate applies to a chain"));
  CHECK(refusal(Acceptance(Acceptance::Rates{{0.5, 0.5}}), tree).starts_with("rates per position apply to a chain"));
  CHECK(refusal(Acceptance(Acceptance::MeanLength{3.5}), two).starts_with("\"mean_length\" exceeds the longest"));
  CHECK(refusal(Acceptance(Acceptance::Ranks{{{0.5}}}), two).starts_with("\"ranks\" have fewer levels (1)"));
}

TEST_CASE("the simulator draws what the prediction takes on average") {
  const Built three(3);
  for (const Acceptance& a :
       {Acceptance(Acceptance::Rate{0.6}), Acceptance(Acceptance::Rates{{0.9, 0.5, 0.2}}),
        Acceptance(Acceptance::MeanLength{2.2}), Acceptance(Acceptance::Ranks{{{0.7}, {0.6}, {0.5}}})}) {
    const DraftOutcomes outcomes = a.outcomes(three, false);
    CHECK(outcomes.depth() == 3);
    constexpr int kSteps = 40'000;
    double emitted = 0;
    auto text = outcomes.text(1, 0);
    for (int i = 0; i < kSteps; ++i) emitted += 1 + outcomes.accepted(text, i);
    CHECK(emitted / kSteps == Approx(tokens(a, three)).epsilon(0.02));  // of 40000 draws: four standard errors
  }
}

TEST_CASE("a table's outcomes are those of the context and of as many drafts as are made") {
  const AcceptanceTable table({{1000, 1, {0.9}}, {1000, 2, {0.8, 0.5}}, {4000, 1, {0.5}}, {4000, 2, {0.4, 0.5}}});
  const Acceptance a{Acceptance::Form(table)};
  const Built one(1), two(2);
  const auto at = [&](const BuiltMethod& m, double context) { return std::get<double>(a.mean_length(m, context)); };
  CHECK(at(one, 1000) == Approx(1.9));
  CHECK(at(two, 1000) == Approx(1 + 0.8 + 0.8 * 0.5));
  CHECK(at(two, 2000) == Approx(1 + 0.6 + 0.6 * 0.5));  // half way in the logarithm
  CHECK(refusal(a, Built(3)).starts_with("the table has chains up to 2, but the method drafts 3"));
  CHECK(refusal(a, Built(2, 7)).starts_with("a table of rates applies to a chain"));
  CHECK(a.longest_chain() == 2);

  const DraftOutcomes outcomes = a.outcomes(two, false);
  CHECK(outcomes.by_length());
  const auto drawn = [&](int drafts, int prompt) {
    constexpr int kTexts = 20'000;
    double accepted = 0;
    for (int i = 0; i < kTexts; ++i) {
      auto text = outcomes.text(1, i, prompt);
      accepted += outcomes.accepted(text, 0, drafts);
    }
    return accepted / kTexts;
  };
  CHECK(drawn(1, 1000) == Approx(0.9).margin(0.01));  // of 20000 draws: more than four standard errors
  CHECK(drawn(1, 4000) == Approx(0.5).margin(0.015));
  CHECK(drawn(2, 1000) == Approx(1.2).margin(0.025));
}

TEST_CASE("recorded steps are those of a method, however it is priced") {
  TraceHeader h;
  h.method = R"({"name": "triforce", "draft": "small", "draft_length": 4})";
  h.steps_because = "what it drafts depends on its own path";
  h.depth = 4;
  const FreshFolder folder;
  const auto file = folder.path() / "steps.jsonl.gz";
  write_trace(file, h, {{.prompt_tokens = 3, .tokens = {1, 2, 3, 4, 5, 6}, .steps = {4, 2}}});
  const Acceptance steps(Acceptance::Traced{std::make_shared<Trace>(Trace::read(file)), {}});
  const Chain drafts(4);
  const auto length = [&](const std::string& more) {
    const auto text = Document::from_text(R"({"name": "triforce", "draft": "small", "draft_length": 4)" + more + "}",
                                          "scenario.json");
    const MethodSpec spec(text.root());
    return steps.mean_length({spec, drafts, 5});
  };
  CHECK(std::get<double>(length("")) == 3);
  CHECK(std::get<double>(length(R"(, "middle_rate": 0.8)")) == 3);
  CHECK(std::holds_alternative<std::string>(length(R"(, "budget": 100)")));
}

TEST_CASE("recorded steps are as long as what is drafted, or longer where fewer drafts are usual") {
  const FreshFolder folder;
  const auto length = [&](int depth, const std::vector<int>& emitted) {
    TraceHeader h;
    h.method = R"({"name": "triforce", "draft": "small", "draft_length": 4})";
    h.steps_because = "what it drafts depends on its own path";
    h.depth = depth;
    const auto file = folder.path() / (std::to_string(depth) + ".jsonl.gz");
    write_trace(file, h, {{.prompt_tokens = 3, .tokens = {1, 2, 3, 4, 5, 6, 7}, .steps = emitted}});
    const Acceptance steps(Acceptance::Traced{std::make_shared<Trace>(Trace::read(file)), {}});
    const auto text = Document::from_text(h.method, "scenario.json");
    const MethodSpec spec(text.root());
    const Chain drafts(4);
    return steps.mean_length({spec, drafts, 5});
  };
  CHECK(std::get<std::string>(length(0, {1, 1})) ==
        "the trace contains steps of at most 0 drafts, but the method drafts 4");
  CHECK(std::get<std::string>(length(3, {4, 2})) ==
        "the trace contains steps of at most 3 drafts, but the method drafts 4");
  CHECK(std::get<double>(length(4, {4, 2})) == 3);
  CHECK(std::get<double>(length(64, {4, 2})) == 3);
}

TEST_CASE("a mean length is one of its chain: other lengths go by its rate") {
  const Acceptance mean(Acceptance::MeanLength{1.5});  // of one draft: half are accepted
  CHECK(tokens(mean.of_other_lengths(1), Built(2)) == Approx(1.75));
  const Acceptance rates(Acceptance::Rates{{0.5, 0.25}});
  CHECK(tokens(rates.of_other_lengths(2), Built(1)) == 1.5);
}

TEST_CASE("how long a chain it speaks of") {
  CHECK(Acceptance().longest_chain() == 0);
  CHECK(Acceptance(Acceptance::Rates{{0.5, 0.5}}).longest_chain() == 2);
  CHECK(Acceptance(Acceptance::Ranks{{{0.5}, {0.5}, {0.5}}}).longest_chain() == 3);
  CHECK(!Acceptance(Acceptance::Rate{0.5}).longest_chain());
  CHECK(!Acceptance(Acceptance::MeanLength{1.5}).longest_chain());
}

TEST_CASE("what engines write of acceptance is read as it is: benchmarks and metrics") {
  const FreshFolder folder;
  const auto read = [&](const std::string& text) {
    const auto file = folder.path() / "served";
    std::ofstream(file) << text;
    return ServedAcceptance::read(file);
  };
  const ServedAcceptance bench = read(R"({"completed": 9, "spec_decode_acceptance_length": 2.92, "rates": [7],
    "spec_decode_per_position_acceptance_rates": [0.8, 0.63, 0.49]})");
  CHECK(bench.per_position == std::vector{0.8, 0.63, 0.49});
  CHECK(bench.mean_length == 2.92);
  const ServedAcceptance lines = read("{\"accept_length\": 2.5}\n{\"accept_length\": 3.25, \"concurrency\": 8}\n");
  CHECK(lines.per_position.empty());
  CHECK(lines.mean_length == 3.25);  // of the last run
  const ServedAcceptance vllm = read(R"(# HELP vllm:spec_decode_num_drafts_total drafts
vllm:spec_decode_num_drafts_total{engine="0",model_name="m"} 60.0
vllm:spec_decode_num_drafts_total{engine="1",model_name="m"} 40.0
vllm:spec_decode_num_draft_tokens_total{engine="0",model_name="m"} 300.0
vllm:spec_decode_num_accepted_tokens_total{engine="0",model_name="m"} 120.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="0"} 50.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="1",model_name="m",position="0"} 30.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="1"} 40.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{engine="0",model_name="m",position="2"} 0.0
)");
  CHECK(vllm.per_position == std::vector{0.8, 0.4});  // the third was never drafted
  CHECK(vllm.mean_length == 2.2);
  CHECK(
      read("llamacpp:spec_decode_num_drafts_total 10\nllamacpp:spec_decode_num_accepted_tokens_total 25").mean_length ==
      3.5);
  CHECK(read("sglang:spec_accept_length{model_name=\"m\"} 2.75").mean_length == 2.75);
  for (const char* nothing : {"", "{}", "{\"accept_length\": null}", "vllm:num_requests_running 3\n", "a{b\n",
                              "vllm:spec_decode_num_drafts_total 0\n", "vllm:spec_decode_num_drafts_total nan\n"}) {
    INFO(nothing);
    CHECK(contains(mistake_of([&] { read(nothing); }), "contains no acceptance"));
  }
  CHECK(contains(mistake_of([&] { read(R"({"accept_length": 0.2})"); }), "accept_length"));
}

TEST_CASE("metrics whose labels hold braces, quotes and escapes are read") {
  const FreshFolder folder;
  const auto file = folder.path() / "metrics";
  std::ofstream(file) << R"(vllm:spec_decode_num_drafts_total{model_name="a}b"} 1000.0
vllm:spec_decode_num_accepted_tokens_total{model_name="a\"},b{",engine="0"} 1900.0
)";
  CHECK(ServedAcceptance::read(file).mean_length == 2.9);
}

TEST_CASE("positions that contradict each other or their total are refused") {
  const FreshFolder folder;
  const auto mistake = [&](const std::vector<std::pair<int, int>>& positions) {
    const auto file = folder.path() / "metrics";
    std::ofstream out(file);
    out << "vllm:spec_decode_num_drafts_total 1000\nvllm:spec_decode_num_accepted_tokens_total 1900\n";
    for (const auto& [position, times] : positions)
      out << "vllm:spec_decode_num_accepted_tokens_per_pos_total{position=\"" << position << "\"} " << times << "\n";
    out.close();
    return mistake_of([&] { ServedAcceptance::read(file); });
  };
  CHECK(mistake({{0, 900}, {1, 700}, {2, 300}}) == "none");
  CHECK(contains(mistake({{0, 100}, {1, 900}, {2, 900}}),
                 "position 1 is accepted in 0.900 of the steps, the position before it in 0.100"));
  // Without the counter of position 1 that of position 2 is not read.
  CHECK(contains(mistake({{0, 900}, {2, 300}}), "its positions sum up to 1.90 tokens a step, its total to 2.90"));
}

TEST_CASE("a mean that was measured with another draft length is taken as the rate that gives it, and a note says so") {
  const std::string metrics =
      "vllm:spec_decode_num_drafts_total 100\nvllm:spec_decode_num_draft_tokens_total 300\n"
      "vllm:spec_decode_num_accepted_tokens_total 175.2\n";  // 1 + 0.8 + 0.64 + 0.512 = 2.952 less rounding
  std::vector<std::string> notes;                            // of the last
  const auto length = [&](int k) {
    const ScenarioText s(with_method(R"({"name": "eagle3", "draft_length": )" + std::to_string(k) +
                                     R"(, "acceptance": {"measured": "metrics.txt"}})"));
    std::ofstream(s.folder() / "metrics.txt") << metrics;
    const auto sweep = s.sweep();
    const auto outcome = sweep->at(0);
    REQUIRE(std::holds_alternative<Prediction>(outcome.result));
    notes = sweep->scenario().document.notes();
    return std::get<Prediction>(outcome.result).acceptance_length;
  };
  CHECK(length(3) == Approx(2.752));
  CHECK(notes.empty());
  CHECK(length(1) < 2);
  CHECK(notes.size() == 1);
  CHECK(length(5) > 2.752);
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0], "was measured with 3 drafts per step; a rate of"));
}

TEST_CASE("one mean length over several draft lengths is told to make short drafts look better than they are") {
  const auto told = [&](const std::string& lengths, const std::string& acceptance) {
    const ScenarioText text(
        with_method(R"({"name": "eagle3", "draft_length": )" + lengths + R"(, "acceptance": )" + acceptance + "}"));
    return text.sweep()->scenario().document.notes();
  };
  CHECK(contains(told("[2, 3, 5]", R"({"mean_length": 2.5})").at(0), "is used for each draft length (2, 3, 5)"));
  CHECK(told("3", R"({"mean_length": 2.5})").empty());
  CHECK(told("[2, 3]", R"({"rates": [0.8, 0.7, 0.6]})").empty());
}

TEST_CASE("a scenario names the file of an engine, and predicts as with its figures") {
  const ScenarioText s(
      with_method(R"({"name": "eagle3", "draft_length": 2, "acceptance": {"measured": "bench.json"}})"));
  std::ofstream(s.folder() / "bench.json") << R"({"spec_decode_per_position_acceptance_rates": [0.8, 0.6]})";
  const auto sweep = s.sweep();
  const auto outcome = sweep->at(0);
  REQUIRE(std::holds_alternative<Prediction>(outcome.result));
  CHECK(std::get<Prediction>(outcome.result).acceptance_length == Approx(2.4));
  const ScenarioText none(
      with_method(R"({"name": "eagle3", "draft_length": 2, "acceptance": {"measured": "no.json"}})"));
  CHECK(contains(none.mistakes(), "/acceptance/measured: no such file"));
  const ScenarioText more(
      with_method(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"measured": "bench.json"}})"));
  std::ofstream(more.folder() / "bench.json") << R"({"spec_decode_per_position_acceptance_rates": [0.8, 0.6]})";
  CHECK(contains(more.mistakes(), "fewer rates (2) than drafts (3)"));
}
