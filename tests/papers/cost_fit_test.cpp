// SPDX-License-Identifier: Apache-2.0
// The second reading: one cost is fitted to the named cells alone, and all cells are predicted anew with it.
#include "papers/cost_fit.h"

#include <cmath>
#include <sstream>

#include "papers/paper_stack.h"
#include "tests/core/messages.h"
#include "tests/papers/written.h"

using namespace draftline;

namespace {

// A step takes 10 ms and, for each of `rows` drafted rows, the cost. One token a step.
PaperCell cell(const std::string& task, std::int64_t rows, double printed) {
  PaperCell c;
  c.row = {{"task", task}, {"rows", rows}};
  c.column = "throughput";
  c.paper = printed;
  return c;
}

class Rig {
 public:
  explicit Rig(std::vector<PaperCell> cells) {
    paper.tables.push_back({"t1", "s", "l", "", {}, std::move(cells)});
    predict(paper, predictor());
  }

  // "none" if all is well, otherwise the mistakes that were noted.
  std::string fit(const std::string& fitted_cost = kCost) {
    const Document d = Document::from_text(fitted_cost, "paper.json");
    return mistake_of([&] {
      predict_with_fitted_cost(
          paper, d.root(), [&](std::optional<PaidCost> c) { paid_ = c; }, predictor());
      d.finish();
    });
  }
  const PaperCell& operator[](std::size_t i) const { return paper.tables[0].cells[i]; }
  bool pays_nothing() const { return !paid_; }

  static inline const std::string kCost =
      R"({"cost": "drafted_row", "kind": "calibrated", "source": "s", "locator": "l", "tables": ["t1"],
          "column": "throughput", "from": {"task": "a"}, "chosen": "first of all", "because": "rows cost"})";
  Paper paper{"p", "s", {}};

 private:
  CellPredictor predictor() {
    return [this](const PaperTable&, const PaperCell& c) -> std::optional<CellPrediction> {
      const double rows = static_cast<double>(c.number("rows").value_or(0));
      return CellPrediction{1 / (0.010 + rows * (paid_ ? paid_->each.value : 0)), std::nullopt,
                            paid_ ? "inferred 2" : "inferred 1"};
    };
  }
  std::optional<PaidCost> paid_;
};

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

}  // namespace

TEST_CASE("the cost is that with which its own cells are met, and all others are predicted with it") {
  // 100 steps/s without rows. Task a prints 50 with one row: 10 ms a row. Task b with three rows is then 25.
  Rig rig({cell("a", 1, 50), cell("b", 3, 20), cell("b", 0, 80)});
  CHECK(rig.fit() == "none");
  REQUIRE(rig.paper.fitted_cost);
  CHECK(rig.paper.fitted_cost->paid.each.value == Approx(0.010));
  CHECK(rig.paper.fitted_cost->cells == 1);
  CHECK(*rig[0].ours == Approx(100));  // the baseline-only reading stays as it was
  CHECK(*rig[0].fitted == Approx(50));
  CHECK(*rig[1].fitted == Approx(25));
  CHECK(*rig[1].error(TableReading::fitted) == Approx(0.25));
  CHECK(*rig[2].fitted == Approx(100));
  CHECK(*rig[1].note == "inferred 1; with the fitted cost inferred 2");
  CHECK(rig.pays_nothing());  // whoever asks the predictor next asks the baseline-only reading
}

TEST_CASE("cells that the cost is fitted to are calibrated then, and no part of the error of what is predicted") {
  Rig rig({cell("a", 1, 50), cell("b", 3, 20)});
  rig.fit();
  CHECK(rig[0].kind_in(TableReading::baseline_only) == FigureKind::predicted);
  CHECK(rig[0].kind_in(TableReading::fitted) == FigureKind::calibrated);
  CHECK(rig[1].kind_in(TableReading::fitted) == FigureKind::predicted);
  const auto all = [](const PaperCell&) { return true; };
  CHECK(rig.paper.tables[0].summary(true, all, TableReading::fitted).cells == 1);
  CHECK(*rig.paper.tables[0].summary(true, all, TableReading::fitted).largest == Approx(0.25));
  CHECK(rig.paper.tables[0].summary(true, all).cells == 2);
}

TEST_CASE(
    "several cells are met in the mean of the logarithms; excluded ones, and those of other columns, have no say") {
  // One row each: 100 / (1 + c) twice, against 50 and 12.5, geometric mean 25: c = 3 steps of 10 ms.
  PaperCell wrong = cell("a", 1, 99), other = cell("a", 1, 99), calibrated = cell("a", 1, 99);
  wrong.excluded = "contradicts its neighbour";
  other.column = "speedup";
  calibrated.kind = FigureKind::calibrated;
  Rig rig({cell("a", 1, 50), cell("a", 1, 12.5), wrong, other, calibrated});
  CHECK(rig.fit() == "none");
  CHECK(rig.paper.fitted_cost->paid.each.value == Approx(0.030));
  CHECK(rig.paper.fitted_cost->cells == 2);
  CHECK(rig[3].kind_in(TableReading::fitted) == FigureKind::calibrated);  // of the same rows: no test of the cost
}

TEST_CASE("a cost is never below zero: cells that are faster than without it leave it there") {
  Rig rig({cell("a", 1, 200), cell("b", 3, 20)});
  CHECK(rig.fit() == "none");
  CHECK(rig.paper.fitted_cost->paid.each.value == 0);
  CHECK(*rig[1].fitted == Approx(100));
}

TEST_CASE("mistakes of a fitted cost have their places, and leave one reading") {
  const auto mistake = [](const std::string& from, const std::string& to) {
    Rig rig({cell("a", 1, 50), cell("b", 3, 20)});
    const std::string text = rig.fit(with(Rig::kCost, from, to));
    CHECK_FALSE(rig.paper.fitted_cost);
    CHECK_FALSE(rig[1].fitted);
    return text;
  };
  CHECK(mistake("\"t1\"", "\"t2\"").find("paper.json#/tables/0: the paper has no such table") != std::string::npos);
  CHECK(mistake("\"a\"", "\"z\"").find("paper.json#/from: no credible cell") != std::string::npos);
  CHECK(mistake(R"({"task": "a"})", "{}").find("paper.json#/from: must name the rows") != std::string::npos);
  CHECK(mistake("throughput", "speedup").find("paper.json#/from: no credible cell") != std::string::npos);
  CHECK(mistake("drafted_row", "drafted_rows").find("did you mean \"drafted_row\"") != std::string::npos);
  CHECK(mistake("\"chosen\"", "\"chosn\"").find("paper.json#/chosn: unknown key") != std::string::npos);
  CHECK(mistake("\"source\": \"s\", ", "").find("source") != std::string::npos);
  Rig never({cell("a", 0, 50)});  // no rows: no cost makes it slower
  CHECK(never.fit().find("the cost would be above 1 s") != std::string::npos);
}

TEST_CASE(
    "both readings are printed: their errors over the same cells, the cost with its unit, the cells it came from") {
  Rig rig({cell("a", 1, 50), cell("b", 3, 20)});
  rig.fit();
  const std::string text = written(rig.paper, Format::table);
  INFO(text);
  CHECK(text.find("10.0 ms per drafted row, fitted to 1 cells (task a)") != std::string::npos);
  CHECK(text.find("Fitted to these cells first of all.") != std::string::npos);
  CHECK(text.find("predicted, used to fit the cost") != std::string::npos);
  CHECK(text.find("400 %") < text.find("25 %"));  // task b without and with it
  CHECK(written(rig.paper, Format::markdown).find("10.0 ms per drafted row") != std::string::npos);

  std::ostringstream out;
  JsonWriter json(out, 0);
  write_json(json, rig.paper);
  json.finish();
  const Reader p = Document::from_text(out.str(), "out").root();
  CHECK(p.at("fitted_cost").at("cost").text() == "drafted_row");
  CHECK(p.at("fitted_cost").at("value").number() == Approx(0.010));
  CHECK(p.at("fitted_cost").at("unit").text() == "s");
  CHECK(p.at("fitted_cost").at("from").at("task").text() == "a");
  const Reader t = p.at("tables").item(0), readings = t.at("summary").at("readings");
  CHECK(t.at("cells").item(0).at("fitted").at("kind").text() == "calibrated");
  CHECK(t.at("cells").item(1).at("fitted").at("ours").number() == Approx(25));
  CHECK(t.at("cells").item(1).at("fitted").at("error").number() == Approx(0.25));
  CHECK(readings.at("baseline_only").at("credible").at("cells").integer() == 1);
  CHECK(readings.at("baseline_only").at("credible").at("median_abs_error").number() == Approx(4));
  CHECK(readings.at("fitted").at("credible").at("median_abs_error").number() == Approx(0.25));
  CHECK(t.at("summary").at("columns").at("throughput").at("readings").at("fitted").at("all").at("cells").integer() ==
        1);

  const std::string csv = to_csv({rig.paper});
  INFO(csv);
  CHECK(csv.starts_with("paper,table,task,rows,column,printed,kind,ours,error,fitted_kind,fitted,fitted_error,"));
  CHECK(csv.find("p,t1,a,1,throughput,50,predicted,100,1,calibrated,") != std::string::npos);
}

TEST_CASE("without a fitted cost there is one reading") {
  Rig rig({cell("a", 1, 50)});
  std::ostringstream out;
  JsonWriter json(out, 0);
  write_json(json, rig.paper);
  json.finish();
  CHECK(out.str().find("fitted") == std::string::npos);
  CHECK(written(rig.paper, Format::table).find("fitted") == std::string::npos);
  CHECK(to_csv({rig.paper}).find("p,t1,a,1,throughput,50,predicted,100,1,,,,") != std::string::npos);
}

namespace {

// The step of a row of a paper's table while a cost is paid; "" method: plain decoding.
class Steps {
 public:
  Steps(const std::string& name, const std::string& table, const std::string& key, const std::string& value)
      : file_(Document::from_file(DRAFTLINE_SOURCE_DIR "/data/papers/" + name + ".json")),
        stack_(DRAFTLINE_SOURCE_DIR "/data", file_) {
    table_.table = table;
    row_.row = {{key, value}};
    setting_ = stack_.setting_of(table_, row_);
    shape_ = stack_.transformer(*setting_, table_, row_);
  }
  double seconds(const std::string& method, int draft_length, int batch, std::optional<PaidCost> paid) {
    stack_.pay(paid);
    return stack_.step(*setting_, table_, *shape_, {method, draft_length, batch}).time.value;
  }
  double issue() const { return setting_->engine.issue.value; }

 private:
  Document file_;
  PaperStack stack_;
  PaperTable table_;
  PaperCell row_;
  const PaperSetting* setting_;
  const TransformerShape* shape_;
};

}  // namespace

TEST_CASE("a drafted row costs every sequence what is paid for it, a plain step nothing") {
  Steps steps("clover", "table1", "model", "small");
  const PaidCost ms{CostOf::drafted_row, Seconds{1e-3}};
  const double without = steps.seconds("clover", 3, 8, {});
  CHECK(steps.seconds("clover", 3, 8, ms) - without == Approx(8 * 4 * 1e-3));  // a tree of 4
  CHECK(steps.seconds(PaperStack::kPlain, 0, 8, ms) == steps.seconds(PaperStack::kPlain, 0, 8, {}));
  CHECK(steps.seconds("clover", 3, 8, {}) == without);
}

TEST_CASE("added launches at the issue time cost what they did, at nothing a drafting step's host is a plain one's") {
  Steps steps("space", "table1", "transformer", "llama-2-7b");
  const auto at = [&](double each) {
    return steps.seconds("space", 5, 1, PaidCost{CostOf::added_launch, Seconds{each}});
  };
  const double without = steps.seconds("space", 5, 1, {}), plain = steps.seconds(PaperStack::kPlain, 0, 1, {});
  CHECK(at(steps.issue()) == Approx(without));
  CHECK(at(steps.issue() / 2) - at(0) == Approx((without - at(0)) / 2).epsilon(0.02));  // the host decides: a line
  CHECK(at(0) < without);
  CHECK(at(0) >= plain);
  CHECK(at(0) < 1.05 * plain);  // what is left are the reads that wait for the device, 20 of 20 us, and its work
  CHECK(steps.seconds(PaperStack::kPlain, 0, 1, PaidCost{CostOf::added_launch, Seconds{}}) == plain);
}
