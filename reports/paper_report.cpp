// SPDX-License-Identifier: Apache-2.0
#include "reports/paper_report.h"

#include <algorithm>
#include <cmath>
#include <sstream>

#include "reports/paragraph.h"
#include "reports/table.h"

namespace draftline {

namespace {

Cell share(const std::optional<double>& v) {
  if (v && std::abs(*v) < 1e-6) return Cell(*v, "0 %");  // a calibrated value
  return percent_cell(v, v && std::abs(*v) < 0.1 ? 2 : 3);
}

std::string flag(const PaperCell& c) {
  std::string text(figure_kind_name(c.kind));
  if (c.peak_share && credibility(*c.peak_share) == Credibility::impossible) text += ", impossible";
  else if (c.peak_share && credibility(*c.peak_share) == Credibility::not_credible) text += ", not credible";
  if (c.excluded) text += ", excluded";
  if (c.kind_in(TableReading::fitted) != c.kind) text += ", calibrates the cost";
  return text;
}

void write_summary(JsonWriter& out, const ErrorSummary& s) {
  out.begin_object();
  out.member("cells", static_cast<std::int64_t>(s.cells));
  out.member("median_abs_error", s.median);
  out.member("p90_abs_error", s.p90);
  out.member("max_abs_error", s.largest);
  out.end_object();
}

// Both readings of the cells that each of them predicts.
bool in_both(const PaperCell& c) { return c.fitted && c.kind_in(TableReading::fitted) == FigureKind::predicted; }

bool has_fitted(const PaperTable& t) {
  return std::any_of(t.cells.begin(), t.cells.end(), [](const PaperCell& c) { return c.fitted.has_value(); });
}

// {credible, all}; with a fitted cost also {readings: {baseline_only, fitted}}, over the cells that both predict.
void write_summaries(JsonWriter& out, const PaperTable& t, const std::function<bool(const PaperCell&)>& which) {
  const auto both = [&](const PaperCell& c) { return which(c) && in_both(c); };
  const auto pair = [&](const auto& cells, TableReading reading) {
    out.key("credible");
    write_summary(out, t.summary(true, cells, reading));
    out.key("all");
    write_summary(out, t.summary(false, cells, reading));
  };
  pair(which, TableReading::baseline_only);
  if (!has_fitted(t)) return;
  out.object("readings", [&] {
    out.object("baseline_only", [&] { pair(both, TableReading::baseline_only); });
    out.object("fitted", [&] { pair(both, TableReading::fitted); });
  });
}

void write_cell(JsonWriter& out, const PaperCell& c) {
  out.begin_object();
  out.object("row", [&] {
    for (const auto& [key, value] : c.row) {
      out.key(key);
      std::visit([&](const auto& v) { out.value(v); }, value);
    }
  });
  out.member("column", c.column);
  out.member("kind", figure_kind_name(c.kind));
  out.member("paper", c.paper);
  out.member("ours", c.ours);
  out.member("error", c.error());
  out.member("peak_share", c.peak_share);
  out.member("excluded", c.excluded);
  out.member("note", c.note);
  if (c.fitted)
    out.object("fitted", [&] {
      out.member("kind", figure_kind_name(c.kind_in(TableReading::fitted)));
      out.member("ours", c.fitted);
      out.member("error", c.error(TableReading::fitted));
    });
  out.end_object();
}

// The columns with predicted cells, in the order of their first one.
std::vector<std::string> predicted_columns(const PaperTable& t) {
  std::vector<std::string> columns;
  for (const PaperCell& c : t.cells)
    if (c.kind == FigureKind::predicted && std::find(columns.begin(), columns.end(), c.column) == columns.end())
      columns.push_back(c.column);
  return columns;
}

void write_table(JsonWriter& out, const PaperTable& t) {
  out.begin_object();
  out.member("table", t.table);
  out.member("source", t.source);
  out.member("locator", t.locator);
  for (const auto& [key, value] : t.context) out.member(key, value);
  if (!t.note.empty()) out.member("note", t.note);
  out.key("cells");
  out.begin_array();
  for (const PaperCell& c : t.cells) write_cell(out, c);
  out.end_array();
  out.object("summary", [&] {
    write_summaries(out, t, [](const PaperCell&) { return true; });
    out.object("columns", [&] {
      for (const std::string& column : predicted_columns(t))
        out.object(column, [&] { write_summaries(out, t, [&](const PaperCell& c) { return c.column == column; }); });
    });
  });
  out.end_object();
}

// The keys of all rows of a table, in the order of their first use; rows may have different keys.
std::vector<std::string> keys_of(const PaperTable& t) {
  std::vector<std::string> keys;
  for (const PaperCell& c : t.cells)
    for (const auto& [key, value] : c.row)
      if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.push_back(key);
  return keys;
}

std::string table_text(const PaperTable& t, PaperStyle style, std::size_t width) {
  const bool markdown = style == PaperStyle::markdown;
  constexpr std::size_t kPage = 120;
  std::string head = t.table + " (" + t.source + ", " + t.locator + ")";
  for (const auto& [key, value] : t.context) head += ", " + key + " " + value;
  std::string text = markdown ? "## " + head + "\n\n" : paragraph(head, width > 0 ? width : kPage);
  const auto keys = keys_of(t);
  std::vector<Table::Column> columns(keys.begin(), keys.end());
  for (const char* title : {"column", "paper", "ours", "error"}) columns.emplace_back(title);
  const bool both = has_fitted(t);
  if (both)
    for (const char* title : {"fitted", "error"}) columns.emplace_back(title);
  for (const char* title : {"share", "kind"}) columns.emplace_back(title);
  Table table(columns);
  std::vector<std::string> notes;
  const auto noted = [&](const std::string& note) {
    auto at = std::find(notes.begin(), notes.end(), note);
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
  text += markdown ? table.to_markdown() + "\n" : table.to_text(width);
  const auto line = [&](const std::string& words) {
    text += markdown ? "- " + words + "\n" : paragraph("  " + words, width > 0 ? width : kPage);
  };
  for (std::size_t i = 0; i < notes.size(); ++i) line("[" + std::to_string(i + 1) + "] " + notes[i]);
  if (!t.note.empty()) line("Note: " + t.note);
  return text;
}

// The errors of each column of each table.
std::string summary_of(const Paper& p, PaperStyle style, std::size_t width) {
  Table table(
      {"table", "column", "cells", "of", "median", "p90", "largest", "all: median", "all: p90", "all: largest"});
  for (const PaperTable& t : p.tables)
    for (const std::string& column : predicted_columns(t)) {
      const auto of_column = [&](const PaperCell& c) { return c.column == column; };
      const ErrorSummary credible = t.summary(true, of_column), all = t.summary(false, of_column);
      if (all.cells > 0)
        table.add({t.table, column, credible.cells, all.cells, share(credible.median), share(credible.p90),
                   share(credible.largest), share(all.median), share(all.p90), share(all.largest)});
    }
  const std::string head = p.paper + " (" + p.source + "): errors of predicted cells, credible ones first";
  if (style == PaperStyle::markdown) return "# " + head + "\n\n" + table.to_markdown() + "\n";
  return head + "\n" + table.to_text(width) + "\n";
}

std::string cost_text(const FittedCost& cost) {
  std::string what = cost.name(), from;
  std::replace(what.begin(), what.end(), '_', ' ');
  for (const auto& [key, value] : cost.from) from += (from.empty() ? "" : ", ") + key + " " + value;
  return to_text(cost.paid.each) + " per " + what + ", fitted to " + std::to_string(cost.cells) + " cells (" + from +
         ")";
}

// Both readings, over the cells that both predict.
std::string readings_of(const Paper& p, PaperStyle style, std::size_t width) {
  if (!p.fitted_cost) return "";
  Table table(
      {"table", "column", "cells", "median", "p90", "largest", "fitted: median", "fitted: p90", "fitted: largest"});
  for (const PaperTable& t : p.tables)
    for (const std::string& column : predicted_columns(t)) {
      const auto which = [&](const PaperCell& c) { return c.column == column && in_both(c); };
      const ErrorSummary one = t.summary(true, which), two = t.summary(true, which, TableReading::fitted);
      if (two.cells > 0)
        table.add({t.table, column, two.cells, share(one.median), share(one.p90), share(one.largest), share(two.median),
                   share(two.p90), share(two.largest)});
    }
  const std::string head = "Credible cells with and without one fitted cost: " + cost_text(*p.fitted_cost);
  const std::vector<std::string> reasons{"Fitted to these cells " + p.fitted_cost->chosen + ".",
                                         "The cost: " + p.fitted_cost->because + "."};
  constexpr std::size_t kPage = 120;
  std::string text = style == PaperStyle::markdown ? head + "\n\n" + table.to_markdown() + "\n"
                                                   : paragraph(head, width > 0 ? width : kPage) + table.to_text(width);
  for (const std::string& reason : reasons)
    text += style == PaperStyle::markdown ? "- " + reason + "\n" : paragraph("  " + reason, width > 0 ? width : kPage);
  return text + "\n";
}

void write_cost(JsonWriter& out, const FittedCost& cost) {
  out.object("fitted_cost", [&] {
    out.member("cost", cost.name());
    out.member("value", cost.paid.each.value);
    out.member("unit", "s");
    out.object("from", [&] {
      for (const auto& [key, value] : cost.from) out.member(key, value);
    });
    out.member("column", cost.column);
    out.member("cells", static_cast<std::int64_t>(cost.cells));
    out.member("chosen", cost.chosen);
    out.member("because", cost.because);
  });
}

}  // namespace

void write_json(JsonWriter& out, const Paper& p) {
  out.begin_object();
  out.member("paper", p.paper);
  out.member("source", p.source);
  if (p.fitted_cost) write_cost(out, *p.fitted_cost);
  out.key("tables");
  out.begin_array();
  for (const PaperTable& t : p.tables) write_table(out, t);
  out.end_array();
  out.end_object();
}

std::string to_text(const Paper& p, PaperStyle style, std::size_t width) {
  std::string text = summary_of(p, style, width) + readings_of(p, style, width);
  for (const PaperTable& t : p.tables) text += table_text(t, style, width) + "\n";
  return text;
}

}  // namespace draftline
