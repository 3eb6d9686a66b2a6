// SPDX-License-Identifier: Apache-2.0
#include "reports/paper_report.h"

namespace draftline {

namespace {

void write_summary(JsonWriter& out, const ErrorSummary& s) {
  out.begin_object();
  out.member("cells", to_int64(s.cells));
  out.member("median_abs_error", s.median);
  out.member("p90_abs_error", s.p90);
  out.member("max_abs_error", s.largest);
  out.end_object();
}

// {credible, all}; with a fitted cost also {readings: {baseline_only, fitted}}, over the cells that both predict.
void write_summaries(JsonWriter& out, const PaperTable& t, const std::function<bool(const PaperCell&)>& which) {
  const auto both = [&](const PaperCell& c) { return which(c) && c.predicted_in_both(); };
  const auto pair = [&](const auto& cells, TableReading reading) {
    out.key("credible");
    write_summary(out, t.summary(true, cells, reading));
    out.key("all");
    write_summary(out, t.summary(false, cells, reading));
  };
  pair(which, TableReading::baseline_only);
  if (!t.has_fitted_cells()) return;
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
  out.member("kind", name(c.kind));
  out.member("paper", c.paper);
  out.member("ours", c.ours);
  out.member("error", c.error());
  out.member("peak_share", c.peak_share);
  out.member("excluded", c.excluded);
  out.member("note", c.note);
  if (c.fitted)
    out.object("fitted", [&] {
      out.member("kind", name(c.kind_in(TableReading::fitted)));
      out.member("ours", c.fitted);
      out.member("error", c.error(TableReading::fitted));
    });
  out.end_object();
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
      for (const std::string& column : t.predicted_columns())
        out.object(column, [&] { write_summaries(out, t, [&](const PaperCell& c) { return c.column == column; }); });
    });
  });
  out.end_object();
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
    out.member("cells", to_int64(cost.cells));
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

}  // namespace draftline
