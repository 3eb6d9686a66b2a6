// SPDX-License-Identifier: Apache-2.0
#include "papers/paper_table.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/quantity_text.h"

namespace draftline {

namespace {

constexpr double kCredibleShare = 0.5;

FigureKind read_kind(const Reader& in) { return in.value_in(kFigureKinds); }

// Reads a text, or {"value": text, ...} with its origin.
std::string read_context(const Reader& in) {
  if (!in.is_object()) return in.text();
  const std::string value = in.at("value").text();
  in.entries();  // kind, source and because are for people
  return value;
}

class PaperReader {
 public:
  explicit PaperReader(const Reader& columns) {
    for (const auto& [name, column] : columns.entries()) {
      const auto kind = column.find("kind");
      kinds_.emplace_back(name, kind ? read_kind(*kind) : FigureKind::predicted);
      column.entries();
    }
  }

  PaperTable table(const Reader& in) const {
    PaperTable t;
    for (const auto& [key, value] : in.entries()) {
      if (key == "rows") {
        for (const Reader& row : value.items()) add_row(row, t);
      } else if (key == "table" || key == "source" || key == "locator" || key == "note") {
        (key == "table" ? t.table : key == "source" ? t.source : key == "locator" ? t.locator : t.note) = value.text();
      } else {
        t.context[key] = read_context(value);
      }
    }
    return t;
  }

 private:
  void add_row(const Reader& in, PaperTable& t) const {
    RowKey row;
    std::vector<PaperCell> cells;
    for (const auto& [key, value] : in.entries()) {
      if (key == "kinds" || key == "notes" || key == "excluded") continue;
      const auto column = std::ranges::find_if(kinds_, [&name = key](const auto& k) { return k.first == name; });
      if (column == kinds_.end()) {
        row.emplace_back(key, key_value(value));
        continue;
      }
      PaperCell& cell = cells.emplace_back();
      cell.column = key;
      cell.kind = column->second;
      if (!value.is_null()) cell.paper = value.number();
    }
    for (PaperCell& cell : cells) cell.row = row;
    each(in, "kinds", cells, [](PaperCell& c, const Reader& v) { c.kind = read_kind(v); });
    each(in, "notes", cells, [](PaperCell& c, const Reader& v) { c.note = v.text(); });
    each(in, "excluded", cells, [](PaperCell& c, const Reader& v) { c.excluded = v.text(); });
    t.cells.insert(t.cells.end(), cells.begin(), cells.end());
  }

  static RowValue key_value(const Reader& in) {
    if (!in.is_number()) return in.text();
    const double v = in.number();
    if (v == std::floor(v) && std::abs(v) < 1e15) return to_int64(v);
    return v;
  }

  template <class Set>
  static void each(const Reader& row, std::string_view what, std::vector<PaperCell>& cells, Set set) {
    const auto found = row.find(what);
    if (!found) return;
    for (const auto& [column, value] : found->entries()) {
      const auto cell = std::ranges::find_if(cells, [&name = column](const PaperCell& c) { return c.column == name; });
      if (cell == cells.end()) value.fail("the row has no such cell");
      else set(*cell, value);
    }
  }

  std::vector<std::pair<std::string, FigureKind>> kinds_;
};

}  // namespace

std::string text_of(const RowValue& v) {
  if (const auto* n = std::get_if<std::int64_t>(&v)) return std::to_string(*n);
  if (const auto* d = std::get_if<double>(&v)) return significant(*d, 4);
  return std::get<std::string>(v);
}

Credibility credibility(double share) {
  return share > 1                ? Credibility::impossible
         : share > kCredibleShare ? Credibility::not_credible
                                  : Credibility::credible;
}

FigureKind PaperCell::kind_in(TableReading reading) const {
  return reading == TableReading::fitted && calibrates && kind == FigureKind::predicted ? FigureKind::calibrated : kind;
}

std::optional<double> PaperCell::error(TableReading reading) const {
  const std::optional<double>& predicted = reading == TableReading::fitted ? fitted : ours;
  if (!paper || !predicted || *paper == 0) return std::nullopt;
  return *predicted / *paper - 1;
}

bool PaperCell::predicted_in_both() const { return fitted && kind_in(TableReading::fitted) == FigureKind::predicted; }

bool PaperCell::is_credible() const {
  return !excluded && (!peak_share || credibility(*peak_share) == Credibility::credible);
}

const RowValue* PaperCell::find(std::string_view key) const {
  for (const auto& [name, value] : row)
    if (name == key) return &value;
  return nullptr;
}

std::optional<std::int64_t> PaperCell::number(std::string_view key) const {
  const RowValue* v = find(key);
  const auto* n = v ? std::get_if<std::int64_t>(v) : nullptr;
  return n ? std::optional(*n) : std::nullopt;
}

std::string PaperCell::text(std::string_view key) const {
  const RowValue* v = find(key);
  return v ? text_of(*v) : "";
}

bool PaperTable::has_fitted_cells() const {
  return std::ranges::any_of(cells, [](const PaperCell& c) { return c.fitted.has_value(); });
}

std::vector<std::string> PaperTable::predicted_columns() const {
  std::vector<std::string> columns;
  for (const PaperCell& c : cells)
    if (c.kind == FigureKind::predicted && std::ranges::find(columns, c.column) == columns.end())
      columns.push_back(c.column);
  return columns;
}

ErrorSummary PaperTable::summary(bool credible_only) const {
  return summary(credible_only, [](const PaperCell&) { return true; });
}

ErrorSummary PaperTable::summary(bool credible_only, const std::function<bool(const PaperCell&)>& which,
                                 TableReading reading) const {
  std::vector<double> errors;
  for (const PaperCell& c : cells) {
    if (c.kind_in(reading) != FigureKind::predicted || (credible_only && !c.is_credible()) || !which(c)) continue;
    if (const auto e = c.error(reading)) errors.push_back(*e);
  }
  return summarize(errors);
}

Paper read_paper(Reader in) {
  Paper p{in.at("paper").text(), in.at("source").text(), {}, {}};
  const PaperReader reader(in.at("columns"));
  for (const Reader& table : in.at("tables").items()) p.tables.push_back(reader.table(table));
  return p;
}

double peak_share(const Work& per_token, PerSecond throughput, const Device& device, DType precision) {
  const FlopsPerSecond peak = device.peak_of(precision);
  const double flops = peak.value > 0 ? (per_token.flops * throughput).value / peak.value : 0;
  return std::max(flops, (per_token.bytes() * throughput).value / device.bandwidth.value);
}

void predict(Paper& paper, const CellPredictor& predictor) {
  for (PaperTable& t : paper.tables)
    for (PaperCell& c : t.cells) {
      if (c.kind == FigureKind::input) c.ours = c.paper;
      if (c.kind != FigureKind::predicted && c.kind != FigureKind::calibrated) continue;
      const auto p = predictor(t, c);
      if (!p) continue;
      c.ours = p->ours;
      c.peak_share = p->peak_share;
      if (!p->note.empty()) c.note = c.note ? *c.note + "; " + p->note : p->note;
    }
}

}  // namespace draftline
