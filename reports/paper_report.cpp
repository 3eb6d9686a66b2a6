// SPDX-License-Identifier: Apache-2.0
#include "reports/paper_report.h"

#include <algorithm>
#include <cmath>

#include "reports/page/page.h"
#include "reports/point.h"
#include "reports/table.h"

namespace draftline {

namespace {

Cell share(const std::optional<double>& v) {
  if (v && std::abs(*v) < 1e-6) return Cell(*v, "0 %");  // a calibrated value
  return percent_cell(v, v && std::abs(*v) < 0.1 ? 2 : 3);
}

std::string flag(const PaperCell& c) {
  std::string text(name(c.kind));
  if (c.peak_share && credibility(*c.peak_share) == Credibility::impossible) text += ", impossible";
  else if (c.peak_share && credibility(*c.peak_share) == Credibility::not_credible) text += ", not credible";
  if (c.excluded) text += ", excluded";
  if (c.kind_in(TableReading::fitted) != c.kind) text += ", used to fit the cost";
  return text;
}

// The errors of each column of each table.
Table summary_of(const Paper& p) {
  Table table(
      {"table", "column", "cells", "of", "median", "p90", "largest", "all: median", "all: p90", "all: largest"});
  for (const PaperTable& t : p.tables)
    for (const std::string& column : t.predicted_columns()) {
      const auto of_column = [&](const PaperCell& c) { return c.column == column; };
      const ErrorSummary credible = t.summary(true, of_column), all = t.summary(false, of_column);
      if (all.cells > 0)
        table.add({t.table, column, credible.cells, all.cells, share(credible.median), share(credible.p90),
                   share(credible.largest), share(all.median), share(all.p90), share(all.largest)});
    }
  return table;
}

std::string cost_text(const FittedCost& cost) {
  std::string what = cost.name(), from;
  std::ranges::replace(what, '_', ' ');
  for (const auto& [key, value] : cost.from) from += (from.empty() ? "" : ", ") + key + " " + value;
  return to_text(cost.paid.each) + " per " + what + ", fitted to " + std::to_string(cost.cells) + " cells (" + from +
         ")";
}

// Both readings, over the cells that both predict.
void show_readings(Page& page, const Paper& p) {
  if (!p.fitted_cost) return;
  Table table(
      {"table", "column", "cells", "median", "p90", "largest", "fitted: median", "fitted: p90", "fitted: largest"});
  for (const PaperTable& t : p.tables)
    for (const std::string& column : t.predicted_columns()) {
      const auto which = [&](const PaperCell& c) { return c.column == column && c.predicted_in_both(); };
      const ErrorSummary one = t.summary(true, which), two = t.summary(true, which, TableReading::fitted);
      if (two.cells > 0)
        table.add({t.table, column, two.cells, share(one.median), share(one.p90), share(one.largest), share(two.median),
                   share(two.p90), share(two.largest)});
    }
  page.subheading("Credible cells with and without one fitted cost: " + cost_text(*p.fitted_cost));
  page.show(table);
  page.say("Fitted to these cells " + p.fitted_cost->chosen + ".");
  page.say("The cost: " + p.fitted_cost->because + ".");
}

std::string key_and_value(const std::pair<std::string, RowValue>& entry) {
  const auto& [key, value] = entry;
  return std::holds_alternative<std::string>(value) ? std::get<std::string>(value) : key + " " + text_of(value);
}

// The method, or what else a row begins with.
std::string series_of(const PaperCell& c) {
  const std::string method = c.text("method");
  return method.empty() ? key_and_value(c.row.front()) : method;
}

// The predicted cells of a column over what the paper prints, at 1 where both are equal. The rows of a method are a
// series.
Chart chart_of(const PaperTable& t, const std::string& column) {
  Chart chart;
  chart.title = t.table + ", " + column;
  chart.x.title = "printed";
  chart.y.title = "predicted / printed";
  chart.level = 1;
  chart.level_name = "as printed";
  std::vector<double> printed;
  for (const PaperCell& c : t.cells) {
    if (c.column != column || c.kind != FigureKind::predicted || !c.error() || c.row.empty()) continue;
    const char* reservation = c.excluded ? ", excluded" : c.is_credible() ? "" : ", not credible";
    const std::string name = series_of(c) + reservation;
    auto series = std::ranges::find_if(chart.series, [&](const Series& s) { return s.name == name; });
    if (series == chart.series.end())
      series = chart.series.insert(series, {.name = name, .points = {}, .joined = false});
    std::string label;
    for (const auto& entry : c.row) label += (label.empty() ? "" : ", ") + key_and_value(entry);
    series->points.push_back({.x = *c.paper, .y = *c.ours / *c.paper, .label = label});
    printed.push_back(*c.paper);
  }
  chart.x.logarithmic = far_apart(printed);
  return chart;
}

// The keys of all rows of a table, in the order of their first use; rows may have different keys.
std::vector<std::string> keys_of(const PaperTable& t) {
  std::vector<std::string> keys;
  for (const PaperCell& c : t.cells)
    for (const auto& [key, value] : c.row)
      if (std::ranges::find(keys, key) == keys.end()) keys.push_back(key);
  return keys;
}

void show_table(Page& page, const PaperTable& t) {
  std::string head = t.table + " (" + t.source + ", " + t.locator + ")";
  for (const auto& [key, value] : t.context) head += ", " + key + " " + value;
  page.subheading(head);
  const auto keys = keys_of(t);
  std::vector<Table::Column> columns(keys.begin(), keys.end());
  for (const char* title : {"column", "paper", "ours", "error"}) columns.emplace_back(title);
  const bool both = t.has_fitted_cells();
  if (both)
    for (const char* title : {"fitted", "error"}) columns.emplace_back(title);
  for (const char* title : {"share", "kind"}) columns.emplace_back(title);
  Table table(columns);
  std::vector<std::string> notes;
  const auto noted = [&](const std::string& note) {
    auto at = std::ranges::find(notes, note);
    if (at == notes.end()) at = notes.insert(notes.end(), note);
    return " [" + std::to_string(at - notes.begin() + 1) + "]";
  };
  for (const PaperCell& c : t.cells) {
    std::vector<Cell> row;
    for (const std::string& key : keys) {
      const RowValue* v = c.find(key);
      row.push_back(v ? Cell(text_of(*v)) : Cell());
    }
    const auto value = [](const std::optional<double>& v) { return v ? Cell(*v, 4) : Cell(); };
    std::string flags = flag(c);
    if (c.excluded) flags += noted(*c.excluded);
    if (c.note) flags += noted(*c.note);
    for (Cell cell : {Cell(c.column), value(c.paper), value(c.ours), share(c.error())}) row.push_back(std::move(cell));
    if (both)
      for (Cell cell : {value(c.fitted), share(c.error(TableReading::fitted))}) row.push_back(std::move(cell));
    for (Cell cell : {share(c.peak_share), Cell(flags)}) row.push_back(std::move(cell));
    table.add(std::move(row));
  }
  page.show(table);
  for (std::size_t i = 0; i < notes.size(); ++i) page.say("[" + std::to_string(i + 1) + "] " + notes[i]);
  if (!t.note.empty()) page.say("Note: " + t.note);
}

InputFiles files_of(const std::vector<Paper>& papers) {
  InputFiles files;
  for (const Paper& p : papers) files.insert(p.input_files.begin(), p.input_files.end());
  return files;
}

void write_json(const Output& to, const std::vector<Paper>& papers) {
  constexpr int kSchemaVersion = 1;
  JsonWriter w(to.stream, 4);
  w.begin_object();
  write_program(w, kSchemaVersion);
  write_input_files(w, files_of(papers), to.asked.data);
  w.object("question", [&] {
    w.member("verb", to.asked.verb);
    w.key("names");
    w.begin_array();
    for (const Paper& p : papers) w.value(p.paper);
    w.end_array();
  });
  w.key("papers");
  w.begin_array();
  for (const Paper& p : papers) write_json(w, p);
  w.end_array();
  w.end_object();
  w.finish();
}

}  // namespace

void write_papers(const Output& to, const std::vector<Paper>& papers) {
  if (to.format == Format::json) return write_json(to, papers);
  if (to.format == Format::csv) {
    to.stream << to_csv(papers);
    return finish_stream(to.stream);
  }
  std::string names;
  for (const Paper& p : papers) names += (names.empty() ? "" : ", ") + p.paper;
  const InputFiles files = files_of(papers);
  const auto page = new_page(to, "Tables of papers, predicted: " + names, files);
  for (const Paper& p : papers) {
    page->heading(p.paper + " (" + p.source + "): errors of predicted cells, credible ones first");
    page->show(summary_of(p));
    for (const PaperTable& t : p.tables)
      for (const std::string& column : t.predicted_columns()) page->show(chart_of(t, column));
    show_readings(*page, p);
    for (const PaperTable& t : p.tables) show_table(*page, t);
  }
  page->finish();
}

}  // namespace draftline
