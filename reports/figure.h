// SPDX-License-Identifier: Apache-2.0
// A figure of a result, written down once: its names in JSON and CSV, its title in a table, its unit, and how a result
// says it. Tables, CSV, JSON and docs/output.md know of a kind of result what its list of them says: they can't
// disagree.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/table.h"

namespace draftline {

struct Scenario;

// What one result says of a figure. Nothing is an empty cell and no member of JSON; nullptr is an empty cell and null.
struct Reading {
  using Tree = std::shared_ptr<const nlohmann::json>;
  std::variant<std::monostate, std::nullptr_t, bool, std::int64_t, double, std::string, Tree> value;
  std::optional<Interval> interval = std::nullopt;

  Reading() = default;
  Reading(std::nullptr_t) : value(nullptr) {}
  Reading(bool v) : value(v) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Reading(T v) : value(static_cast<std::int64_t>(v)) {}
  Reading(double v, std::optional<Interval> i = std::nullopt) : value(v), interval(i) {}
  template <int S, int B, int F>
  Reading(Quantity<S, B, F> q, std::optional<Interval> i = std::nullopt) : Reading(q.value, i) {}
  Reading(std::string v) : value(std::move(v)) {}
  Reading(std::string_view v) : Reading(std::string(v)) {}
  Reading(Tree v) : value(std::move(v)) {}
  template <class T>
  Reading(const std::optional<T>& v) {
    if (v) *this = Reading(*v);
  }
};

// A member of a result's object, or "breakdown/draft" of an object in it. Figures of one object stand together.
struct JsonPath {
  std::string object, member;  // object "": the result's own
  JsonPath(std::string_view path);
  JsonPath(const char* path) : JsonPath(std::string_view(path)) {}
  JsonPath(const std::string& path) : JsonPath(std::string_view(path)) {}
  std::string text() const { return object.empty() ? member : object + "/" + member; }
};

// What few columns need. T: a kind of result. About: what decides whether a column is worth its room.
template <class T, class About>
struct ColumnStyle {
  std::string (*text)(double) = nullptr;             // for people; none: as usual for the unit
  std::function<double(const T&)> whole = {};        // people see the share of it
  std::function<bool(const About&)> show_if = {};    // a column of tables
  std::function<bool(const About&)> in_csv_if = {};  // a column of CSV
};

template <class T, class About = Scenario>
struct Figure {
  JsonPath json;                         // "": not in JSON
  std::string csv, title;                // "": not in CSV, not in tables
  std::string unit;                      // base unit, as JSON names it: "s", "tokens/s", ""
  std::optional<FigureKind> kind;        // none: a name, a count or a flag, which is a plain member of JSON
  std::function<Reading(const T&)> get;  // of one result
  std::string meaning;                   // for docs/output.md
  ColumnStyle<T, About> column = {};
};

template <class T, class About = Scenario>
using Figures = std::vector<Figure<T, About>>;

std::string in_unit(double, std::string_view unit);  // three digits, times and bytes with their prefix
template <int digits>
std::string to_digits(double v) {
  return significant(v, digits);
}

// The figures that are columns of such a table, or of CSV.
template <class T, class About>
Figures<T, About> columns_of(const Figures<T, About>& all, const About& about, Format format) {
  Figures<T, About> columns;
  for (const auto& f : all) {
    const auto& shown = format == Format::csv ? f.column.in_csv_if : f.column.show_if;
    if (!(format == Format::csv ? f.csv : f.title).empty() && (!shown || shown(about))) columns.push_back(f);
  }
  return columns;
}

template <class T, class About>
void add_titles(std::vector<Table::Column>& titles, const Figures<T, About>& columns) {
  for (const auto& f : columns) titles.push_back({f.title, f.csv});
}

Cell cell_of(const Reading&, std::string_view unit, std::string (*text)(double));

template <class T, class About>
void add_cells(std::vector<Cell>& row, const Figures<T, About>& columns, const T& result) {
  for (const auto& f : columns) {
    const Reading reading = f.get(result);
    const double* part = f.column.whole ? std::get_if<double>(&reading.value) : nullptr;
    if (part) row.emplace_back(*part, percent(*part / f.column.whole(result)));
    else row.push_back(cell_of(reading, f.unit, f.column.text));
  }
}

// Members of an open object, and the objects in it, which end with the writer.
class MemberWriter {
 public:
  explicit MemberWriter(JsonWriter& w) : w_(w) {}
  MemberWriter(const MemberWriter&) = delete;
  MemberWriter& operator=(const MemberWriter&) = delete;
  void write(const JsonPath&, const Reading&, std::string_view unit, std::optional<FigureKind>);
  void finish();

 private:
  JsonWriter& w_;
  const std::string* object_ = nullptr;
};

template <class T, class About>
void write_members(JsonWriter& w, const Figures<T, About>& figures, const T& result) {
  MemberWriter members(w);
  for (const auto& f : figures)
    if (!f.json.member.empty()) members.write(f.json, f.get(result), f.unit, f.kind);
  members.finish();
}

}  // namespace draftline
