// SPDX-License-Identifier: Apache-2.0
// Paper tables: cells, summaries, the audit, and that SpecFormer's tables were copied without slips.
#include "papers/paper_table.h"
#include "tests/core/messages.h"
#include "tests/papers/written.h"

#include <cmath>
#include <filesystem>
#include <set>
#include <sstream>

using namespace draftline;

namespace {

Paper computed_specformer() {
  const Document d = Document::from_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/papers/specformer.json");
  Paper p = read_paper(d.root());
  return p;
}

PaperCell cell(double paper, double ours, std::optional<double> share = std::nullopt,
               FigureKind kind = FigureKind::predicted) {
  PaperCell c;
  c.column = "speedup";
  c.kind = kind;
  c.paper = paper;
  c.ours = ours;
  c.peak_share = share;
  return c;
}

using PrintedRows = std::map<std::string, std::map<std::string, const PaperCell*>>;  // printed row -> column -> cell
PrintedRows rows_of(const PaperTable& t) {
  PrintedRows rows;
  for (const PaperCell& c : t.cells) {
    std::string name;
    for (const auto& [key, value] : c.row) name += c.text(key) + " ";
    rows[name][c.column] = &c;
  }
  return rows;
}

// Can the ratio of two throughputs rounded to integers round to the printed speedup?
bool agrees(double with, double without, double speedup) {
  return (with - 0.5) / (without + 0.5) <= speedup + 0.005 + 1e-9 &&
         (with + 0.5) / (without - 0.5) >= speedup - 0.005 - 1e-9;
}

std::string read_errors(const std::string& text) {
  const Document d = Document::from_text(text, "paper.json");
  return mistake_of([&] {
    read_paper(d.root());
    d.finish();
  });
}

}  // namespace

TEST_CASE("a summary counts predicted cells with both values, and the credible one leaves out what is no fair target") {
  PaperTable t;
  for (const double error : {0.1, -0.2, 0.3, -0.4, 0.5}) t.cells.push_back(cell(1, 1 + error));
  t.cells.push_back(cell(1, 3, 0.51));                                  // needs more than half of the peak
  t.cells.push_back(cell(1, 4, 0.5));                                   // just credible
  t.cells.push_back(cell(1, 9, std::nullopt, FigureKind::calibrated));  // fitted: no prediction
  t.cells.push_back(cell(1, 5));
  t.cells.back().excluded = "contradicts its neighbour";
  t.cells.push_back(cell(1, 6));
  t.cells.back().paper.reset();  // not legible
  const ErrorSummary credible = t.summary(true), all = t.summary(false);
  CHECK(credible.cells == 6);  // .1 .2 .3 .4 .5 3
  CHECK(*credible.median == Approx(0.35));
  CHECK(*credible.p90 == Approx(0.5 + 0.5 * 2.5));  // at 4.5 of 0..5
  CHECK(*credible.largest == Approx(3));
  CHECK(all.cells == 8);
  CHECK(*all.largest == Approx(4));
  CHECK_FALSE(PaperTable{}.summary(true).median.has_value());
}

TEST_CASE("the audit takes the larger share, of arithmetic or of bandwidth") {
  Device d;
  d.peak[static_cast<std::size_t>(DType::bf16)] = FlopsPerSecond{100};
  d.bandwidth = BytesPerSecond{10};
  const Work heavy{Flops{20}, Bytes{0.5}, Bytes{0.5}}, wide{Flops{1}, Bytes{3}, Bytes{2}};
  CHECK(peak_share(heavy, PerSecond{2}, d, DType::bf16) == Approx(0.4));
  CHECK(peak_share(wide, PerSecond{3}, d, DType::bf16) == Approx(1.5));
  CHECK(credibility(0.5) == Credibility::credible);
  CHECK(credibility(0.51) == Credibility::not_credible);
  CHECK(credibility(1) == Credibility::not_credible);
  CHECK(credibility(1.33) == Credibility::impossible);
}

TEST_CASE("a predictor is asked for predicted and calibrated cells; inputs are ours as they stand") {
  Paper p{"p", "s", {PaperTable{}}};
  auto& cells = p.tables[0].cells;
  cells = {cell(2, 0), cell(3, 0, std::nullopt, FigureKind::input), cell(4, 0, std::nullopt, FigureKind::calibrated),
           cell(5, 0, std::nullopt, FigureKind::quoted)};
  for (PaperCell& c : cells) c.ours.reset();
  cells[0].note = "printed so";
  predict(p, [](const PaperTable&, const PaperCell& c) -> std::optional<CellPrediction> {
    if (c.kind == FigureKind::calibrated) return std::nullopt;
    return CellPrediction{*c.paper * 1.1, 0.2, "two levels"};
  });
  CHECK(*cells[0].error() == Approx(0.1));
  CHECK(*cells[0].note == "printed so; two levels");
  CHECK(*cells[1].ours == 3);
  CHECK_FALSE(cells[2].ours.has_value());
  CHECK_FALSE(cells[3].ours.has_value());
}

TEST_CASE("a table is written with the keys others build on") {
  PaperTable t{"table1", "shi2026", "Table 1", "", {{"transformer", "llama"}}, {cell(2, 2.1, 1.4)}};
  t.cells[0].row = {{"method", std::string("hass")}, {"batch_size", std::int64_t{16}}};
  t.cells[0].excluded = "why";
  const Paper p{"specformer", "shi2026", {t}};
  std::ostringstream out;
  JsonWriter json(out, 0);
  write_json(json, p);
  json.finish();
  const Reader table = Document::from_text(out.str(), "out").root().at("tables").items().at(0);
  const Reader c = table.at("cells").items().at(0);
  CHECK(c.at("row").at("method").text() == "hass");
  CHECK(c.at("row").at("batch_size").integer() == 16);
  CHECK(c.at("kind").text() == "predicted");
  CHECK(c.at("paper").number() == 2);
  CHECK(c.at("error").number() == Approx(0.05));
  CHECK(c.at("peak_share").number() == 1.4);
  CHECK(c.at("excluded").text() == "why");
  CHECK(c.at("note").is_null());
  CHECK(table.at("summary").at("credible").at("cells").integer() == 0);
  CHECK(table.at("summary").at("credible").at("median_abs_error").is_null());
  CHECK(table.at("summary").at("all").at("p90_abs_error").number() == Approx(0.05));

  const std::string text = written(p, Format::table);
  CHECK(text.find("impossible, excluded [1]") != std::string::npos);
  CHECK(text.find("[1] why") != std::string::npos);
  CHECK(text.find("140 %") != std::string::npos);
  CHECK(text.find("errors of predicted cells") < text.find("impossible"));  // the summary comes first
  const std::string markdown = written(p, Format::markdown);
  CHECK(markdown.find("## ") == 0);
  CHECK(markdown.find("\n|---|") != std::string::npos);
  CHECK(markdown.find("\n[1] why") != std::string::npos);
}

TEST_CASE("a page shows each column's predictions over what is printed, and which cells are not credible") {
  PaperTable t{"table1", "shi2026", "Table 1", "", {}, {cell(2, 2.1, 0.3), cell(4, 3, 0.7), cell(3, 2.9, 0.3)}};
  for (PaperCell& c : t.cells) c.row = {{"method", std::string("hass")}, {"batch_size", std::int64_t{16}}};
  t.cells[2].row[0].second = std::string("eagle");
  t.cells[2].excluded = "why";
  const std::string page = written({"specformer", "shi2026", {t}}, Format::html);
  for (const char* shown :
       {"table1, speedup", ">hass<", "hass, not credible", "eagle, excluded", "batch_size 16", "predicted / printed"}) {
    INFO(shown);
    CHECK(page.find(shown) != std::string::npos);
  }
}

TEST_CASE("a paper's file with mistakes names them") {
  const std::string text = read_errors(R"({"paper": "p", "source": "s", "columns": {"speedup": {"kind": "predicted"}},
    "tables": [{"table": "t", "source": "s", "locator": "l", "rows": [
      {"method": "a", "speedup": "fast"}, {"method": "b", "speedup": 1, "notes": {"speed": "x"}},
      {"method": "c", "speedup": 1, "kinds": {"speedup": "predicte"}}]}]})");
  INFO(text);
  CHECK(text.find("paper.json#/tables/0/rows/0/speedup") != std::string::npos);
  CHECK(text.find("paper.json#/tables/0/rows/1/notes/speed: the row has no such cell") != std::string::npos);
  CHECK(text.find("did you mean \"predicted\"") != std::string::npos);
}

TEST_CASE("SpecFormer's tables have every printed cell") {
  const Paper p = computed_specformer();
  REQUIRE(p.tables.size() == 5);
  // Table 1: 15 rows x 4 methods x (kappa, TPS, speedup); Table 2: 3 x 3; Table 3: 15 x 3 x 4; Table 4: 4; Figure 1: no
  // values
  const std::map<std::string, std::size_t> cells{
      {"table1", 180}, {"table2", 9}, {"table3", 180}, {"table4", 4}, {"figure1", 5}};
  for (const PaperTable& t : p.tables) {
    INFO(t.table);
    CHECK(t.cells.size() == cells.at(t.table));
    std::set<std::pair<std::string, std::string>> distinct;
    for (const PaperCell& c : t.cells) {
      std::string row;
      for (const auto& [key, value] : c.row) row += c.text(key) + " ";
      distinct.insert({row, c.column});
      CHECK(c.paper.has_value() == (t.table != "figure1"));
    }
    CHECK(distinct.size() == t.cells.size());
  }
  // Sums of the printed columns, added up from the text of the paper by another script: a slip of one digit shows.
  std::map<std::string, double> sum;
  for (const std::string table : {"table1", "table3"})
    for (const PaperTable& t : p.tables)
      if (t.table == table)
        for (const PaperCell& c : t.cells)
          if (c.text("method") != "autoregressive") sum[table + c.column] += *c.paper;
  CHECK(sum["table1throughput"] == Approx(135803));
  CHECK(sum["table1speedup"] == Approx(78.87));
  CHECK(sum["table1acceptance_length"] == Approx(98.13));
  CHECK(sum["table3throughput"] == Approx(58785));
  CHECK(sum["table3speedup"] == Approx(44.5));
  CHECK(sum["table3acceptance_length"] == Approx(52.55));
  CHECK(sum["table3theta"] == Approx(35.39));
}

TEST_CASE("theta of Table 3 is kappa over the printed speedup, in all thirty cells") {
  int cells = 0;
  for (const PaperTable& t : computed_specformer().tables) {
    if (t.table != "table3") continue;
    for (const auto& [name, row] : rows_of(t)) {
      if (row.at("theta")->text("method") == "autoregressive") continue;
      ++cells;
      INFO(name);
      CHECK(std::abs(*row.at("acceptance_length")->paper / *row.at("speedup")->paper - *row.at("theta")->paper) <
            0.008);
    }
  }
  CHECK(cells == 30);
}

TEST_CASE("the throughputs that contradict a printed speedup are those that are set apart, and no others") {
  std::map<std::string, int> contradictions;
  for (const PaperTable& t : computed_specformer().tables) {
    if (t.table != "table1" && t.table != "table3") continue;
    const PrintedRows rows = rows_of(t);
    std::map<std::string, double> without;  // transformer, batch size -> W/o SD
    const auto base = [](const PaperCell& c) { return c.text("transformer") + " " + c.text("batch_size"); };
    for (const auto& [name, row] : rows) {
      const PaperCell& c = *row.at("throughput");
      if (c.text("method") == "autoregressive") without[base(c)] = *c.paper;
    }
    for (const auto& [name, row] : rows) {
      const PaperCell& c = *row.at("throughput");
      if (c.text("method") == "autoregressive") continue;
      INFO(t.table << " " << name);
      const bool fits = agrees(*c.paper, without.at(base(c)), *row.at("speedup")->paper);
      CHECK(fits != c.excluded.has_value());
      CHECK(fits != (row.at("speedup")->note.has_value()));
      contradictions[t.table] += !fits;
    }
  }
  CHECK(contradictions["table1"] == 1);
  CHECK(contradictions["table3"] == 9);
}

TEST_CASE("only the column without speculation is calibrated on, and acceptance is an input") {
  for (const PaperTable& t : computed_specformer().tables)
    for (const PaperCell& c : t.cells) {
      INFO(t.table << " " << c.text("method") << " " << c.column);
      const bool plain = c.text("method") == "autoregressive";
      if (c.kind == FigureKind::calibrated) CHECK((plain && c.column == "throughput"));
      if (c.kind == FigureKind::predicted) CHECK_FALSE(plain);
      if (c.column == "acceptance_length")
        CHECK(c.kind == (t.table == "table4" ? FigureKind::quoted : FigureKind::input));
    }
}
