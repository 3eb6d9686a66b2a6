// SPDX-License-Identifier: Apache-2.0
#include "measure/validation.h"

#include <sstream>

#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/predict/small_on_cpu.h"

using namespace draftline;

namespace {

struct World : SmallOnCpu {
  Validation validation{
      device, engine, {{"net", target}}, [](const NamedNetwork&) { return TransformerShape{}; }, {.rate = 0.5}};
};

MeasuredCell cell(const MethodSpec& method, int batch, double plain, double step, double length = 100) {
  return {.transformer = "net",
          .method = method,
          .batch_size = batch,
          .context = 100,
          .plain = {{.time = Seconds{plain}, .length = length}},
          .turns = {{.time = Seconds{step}, .length = length}}};
}

}  // namespace

TEST_CASE("a machine that takes what is predicted has no error, and one twice as slow errs by a half") {
  World w;
  const MeasuredCell first = cell(kHeads, 4, 1, 1);
  const ValidationCell once = w.validation.compare(first);
  const MeasuredCell exact = cell(kHeads, 4, once.plain.predicted, once.step.predicted),
                     slow = cell(kHeads, 4, once.plain.predicted, 2 * once.step.predicted);
  const ValidationCell same = w.validation.compare(exact), half = w.validation.compare(slow);
  CHECK(same.step.error() == Approx(0).margin(1e-12));
  CHECK(same.plain.error() == Approx(0).margin(1e-12));
  CHECK(same.speedup.error() == Approx(0).margin(1e-12));
  CHECK(half.step.error() == Approx(-0.5));
  CHECK(half.speedup.error() == Approx(1));
  // Three drafts of which each is accepted with 0.5: 1 + 0.5 + 0.25 + 0.125 tokens a step, in both worlds.
  CHECK(same.acceptance_length == Approx(1.875));
  CHECK(same.speedup.predicted == Approx(1.875 * same.plain.predicted / same.step.predicted));
  REQUIRE(same.speedup.interval);
  CHECK(same.speedup.interval->low < same.speedup.predicted);
  CHECK(same.speedup.interval->high > same.speedup.predicted);
}

TEST_CASE("what is compared is what `run` predicts: the predictor's own price of the step") {
  World w;
  Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
  Pricer pricer(recordings);
  const Setup setup{
      outliving(w.device), outliving(w.engine), outliving(w.target), Precision(DType::fp32), {}, 4, 100, 2};
  const MeasuredCell m = cell(kHeads, 4, 1, 1, 123);
  const ValidationCell c = w.validation.compare(m);
  CHECK(c.step.predicted == Approx(pricer.step_price(setup, {kHeads})(123).value));
  CHECK(c.plain.predicted == Approx(pricer.step_price(setup, autoregressive())(123).value));
}

TEST_CASE("a cell is predicted for the machine as it was beside it") {
  World w;
  const MemoryTimes probed{Seconds{1e-3}, Seconds{1e-2}};
  Validation there{w.device,
                   w.engine,
                   {{"net", w.target}},
                   [](const NamedNetwork&) { return TransformerShape{}; },
                   {0.5, DType::fp32, probed}};
  MeasuredCell m = cell(kHeads, 4, 1, 1);
  const ValidationCell unknown = there.compare(m);
  m.memory = probed;
  const ValidationCell same = there.compare(m);
  CHECK(same.step.predicted == unknown.step.predicted);
  m.memory = {2 * probed.llc, 2 * probed.memory};
  const ValidationCell slower = there.compare(m);
  CHECK(slower.step.predicted > same.step.predicted);
  CHECK(slower.step.predicted < 2 * same.step.predicted);
  CHECK(w.validation.compare(m).step.predicted == unknown.step.predicted);  // a probe without a memory reference
}

TEST_CASE("the median over turns is compared, and their spread is the noise") {
  World w;
  MeasuredCell m = cell(kHeads, 1, 1, 1);
  m.plain.assign(5, {Seconds{1}, 100, 1, {}});
  m.turns.clear();
  for (const double t : {1.0, 2.0, 2.0, 2.0, 90.0}) m.turns.push_back({Seconds{t}, 100, 1, {}});
  const ValidationCell c = w.validation.compare(m);
  CHECK(c.step.measured == Approx(2));
  CHECK(c.speedup.measured == Approx(1.875 / 2));
  CHECK(c.step.noise == Approx(0).margin(1e-12));  // the middle half of them agree
}

TEST_CASE("a step that was steered is replayed from its answers") {
  World w;
  const MethodSpec lookup = spec(R"({"draft_length":4,"name":"prompt_lookup"})");
  const auto steered = [&](const std::vector<int>& drafted) {
    MeasuredCell m = cell(lookup, 2, 1, 1);
    m.turns = {{Seconds{1}, 100, 1, {0}}};
    m.history = {{drafted, {1, 1}}};
    return w.validation.compare(m).step.predicted;
  };
  const double none = steered({0, 0}), some = steered({0, 4}), all = steered({4, 4});
  CHECK(none < some);
  CHECK(some < all);
  // With nothing drafted a step is a plain one, but for its verification.
  const MeasuredCell plain = cell(lookup, 2, 1, 1);
  CHECK(none == Approx(w.validation.compare(plain).plain.predicted).epsilon(0.1));
}

TEST_CASE("a block that shrinks by what is accepted is replayed with the steps before it") {
  World w;
  const MethodSpec block = spec(R"({"block":6,"name":"jacobi"})");
  MeasuredCell m = cell(block, 1, 1, 1);
  m.history = {{{1}}, {{1}}, {{4}}, {{1}}};  // rows of the steps: 6, 5, 4, and, the block being done, 6
  std::vector<double> predicted;
  for (const int counted : {0, 1, 2, 3}) {
    m.turns = {{Seconds{1}, 100, 1, {counted}}};
    predicted.push_back(w.validation.compare(m).step.predicted);
  }
  CHECK(predicted[0] > predicted[1]);
  CHECK(predicted[1] > predicted[2]);
  CHECK(predicted[3] > predicted[2]);
}

TEST_CASE("ops that take as long as predicted add nothing to the error budget, and the one that does not comes first") {
  World w;
  MeasuredCell m = cell(kHeads, 4, 1, 1);
  m.ops = {{"linear", Phase::verify, Seconds{0}, 1}};  // no op is compared where none was clocked
  const ValidationCell priced = w.validation.compare(m);
  m.ops.clear();
  for (const ComparedOp& op : priced.ops) {
    if (op.key == "host") continue;
    const auto slash = op.key.find('/');
    const std::string phase = op.key.substr(0, slash);
    m.ops.push_back({op.key.substr(slash + 1),
                     phase == "draft"    ? Phase::draft
                     : phase == "verify" ? Phase::verify
                                         : Phase::commit,
                     Seconds{op.key == "verify/argmax" ? 3 * op.predicted : op.predicted}, 1});
  }
  m.turns.front().time = Seconds{priced.step.predicted};
  const ValidationCell c = w.validation.compare(m);
  const auto all = error_budget({c});
  REQUIRE(all.size() > 5);
  CHECK((all[0].key == "verify/argmax" || all[0].key == "host"));  // what one takes more, the other has less
  CHECK((all[1].key == "verify/argmax" || all[1].key == "host"));
  for (std::size_t i = 2; i < all.size(); ++i) CHECK(all[i].absolute == Approx(0).margin(1e-9));
}

TEST_CASE("a method stops paying where its speedup falls through one") {
  World w;
  std::vector<MeasuredCell> measured;
  // At batches 1, 4, 16 the measured speedup is 2, 1.5, 0.5: half way from 4 to 16 in the logarithm, 8.
  const std::map<int, double> speedups{{1, 2.0}, {4, 1.5}, {16, 0.5}};
  for (const auto& [batch, s] : speedups) measured.push_back(cell(kHeads, batch, 1, 1.875 / s));
  std::vector<ValidationCell> cells;
  for (const MeasuredCell& m : measured) cells.push_back(w.validation.compare(m));
  const auto found = stops_paying(cells);
  REQUIRE(found.size() == 1);
  REQUIRE(found.front().measured);
  CHECK(*found.front().measured == Approx(8));
}

TEST_CASE("a summary of errors counts their sizes, whatever their sign") {
  const ErrorSummary s = summarize({-0.2, 0.1, -0.3, 0.05, -0.1});
  CHECK(s.cells == 5);
  CHECK(s.median.value() == Approx(0.1));
  CHECK(s.largest.value() == Approx(0.3));
  CHECK_FALSE(summarize({}).median.has_value());
  // Weights 1, 2, 1: their middles stand at 1/8, 4/8 and 7/8 of the whole.
  const ErrorSummary weighted = summarize({0.3, -0.1, 0.2}, {1, 1, 2});
  CHECK(weighted.median.value() == Approx(0.2));
  CHECK(weighted.largest.value() == Approx(0.3));
  CHECK(summarize({0.3, 0.1, 0.2}, {1, 1, 1e6}).p90.value() == Approx(0.2).epsilon(0.5));
  CHECK(summarize({0.4}, {3}).p90.value() == Approx(0.4));
}

TEST_CASE("measured steps are what they were after a way through their file, and hostile files are refused") {
  MeasuredSteps m{{"cpu", "a CPU", "abc", "draftline-probe", "here", {"validate"}, {{"cores", 4}}},
                  {cell(kHeads, 4, 0.5, 0.25)}};
  m.cells[0].turns[0].steered = {1};
  m.cells[0].turns[0].clock_mhz = 1755;
  m.cells[0].memory = {Seconds{0.0625}, Seconds{0.75}};
  m.cells[0].history = {{{1, 2}, {}, {3}}, {{7}}};
  m.cells[0].ops = {{"linear", Phase::draft, Seconds{0.125}, 7}};
  std::ostringstream out;
  write_measured_steps(out, m);
  const auto read = [](const std::string& text) {
    const Document d = Document::from_text(text, "steps.json");
    const MeasuredSteps all = read_measured_steps(d.root());
    d.finish();
    return all;
  };
  const MeasuredSteps back = read(out.str());
  REQUIRE(back.cells.size() == 1);
  CHECK(same_cell(back.cells[0], m.cells[0]));
  CHECK(back.cells[0].turns[0].time.value == 0.25);
  CHECK(back.cells[0].turns[0].steered == m.cells[0].turns[0].steered);
  CHECK(back.cells[0].turns[0].clock_mhz == 1755);
  CHECK_FALSE(back.cells[0].plain[0].clock_mhz);
  CHECK(back.cells[0].history == m.cells[0].history);
  CHECK(back.cells[0].memory->llc == Seconds{0.0625});
  CHECK(back.cells[0].memory->memory == Seconds{0.75});
  CHECK(back.cells[0].ops[0].phase == Phase::draft);
  std::ostringstream twice;
  write_measured_steps(twice, back);
  CHECK(twice.str() == out.str());

  struct Case {
    const char *from, *to, *message;
  };
  const Case c =
      GENERATE(Case{"\"time\":0.5", "\"time\":-1", "/time"}, Case{"\"time\":0.5", "\"time\":1e99", "/time"},
               Case{"\"batch_size\":4", "\"batch_size\":0", "/batch_size"}, Case{"\"plain\":[", "\"plian\":[", "plain"},
               Case{"\"clock_mhz\":1755", "\"clock_mhz\":0", "/clock_mhz"}, Case{"\"draft\"", "\"daft\"", "daft"},
               Case{"\"steered\":[1]", "\"steered\":[2]", "history lacks"},
               Case{"\"schema_version\": 2", "\"schema_version\": 3", "schema_version"});
  std::string text = out.str();
  const auto at = text.find(c.from);
  REQUIRE(at != std::string::npos);
  text.replace(at, std::string(c.from).size(), c.to);
  std::string said;
  try {
    read(text);
  } catch (const InputErrors& e) {
    for (const auto& one : e.messages()) said += one + "\n";
  }
  CHECK(said.find(c.message) != std::string::npos);
}
