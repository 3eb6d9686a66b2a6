// SPDX-License-Identifier: Apache-2.0
// The description of a figure of a result: its names in JSON and CSV, its title in tables, its unit, and the function
// that gets it from a result. Tables, CSV, JSON and docs/reference/output.md are all written from lists of these, so
// that they agree.
#pragma once
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/int_indexed.h"
#include "core/json_writer.h"
#include "reports/output.h"
#include "reports/table.h"

namespace draftline {

struct Scenario;

// The value of a figure in one result, in base units. std::monostate is an empty cell and no member of JSON; nullptr is
// an empty cell and null.
struct Reading {
  using Tree = std::shared_ptr<const nlohmann::json>;
  std::variant<std::monostate, std::nullptr_t, bool, std::int64_t, double, std::string, Tree> value;
  std::optional<Interval> interval = std::nullopt;  // 90 or 95 %, in the unit of the value

  Reading() = default;
  Reading(std::nullptr_t) : value(nullptr) {}
  Reading(bool v) : value(v) {}
  template <std::integral T>
  requires(!std::same_as<T, bool>) Reading(T v) : value(to_int64(v)) {}
  Reading(double v, std::optional<Interval> i = std::nullopt) : value(v), interval(i) {}
  template <int S, int B, int F>
  Reading(Quantity<S, B, F> q, std::optional<Interval> i = std::nullopt) : Reading(q.value, i) {}
  Reading(std::string v) : value(std::move(v)) {}
  Reading(std::string_view v) : Reading(std::string(v)) {}
  Reading(Tree v) : value(std::move(v)) {}
  template <class T>
  Reading(const std::optional<T>& v) {  // std::monostate if there is no value
    if (v) *this = Reading(*v);
  }
};

// The path of a member: "speedup" in the result's object, "breakdown/draft" in an object inside it. Figures of the same
// inner object must be consecutive.
struct JsonPath {
  std::string object, member;  // object "": that of the result
  JsonPath(std::string_view path);
  JsonPath(const char* path) : JsonPath(std::string_view(path)) {}
  JsonPath(const std::string& path) : JsonPath(std::string_view(path)) {}
  std::string text() const { return object.empty() ? member : object + "/" + member; }
};

// Options of a column. T: the type of results. About: the argument of the conditions, the scenario for example.
template <class T, class About>
struct ColumnStyle {
  std::string (*text)(double) = nullptr;             // text in tables; null: in_unit()
  std::function<double(const T&)> whole = {};        // if set, tables show the value's share of this
  std::function<bool(const About&)> show_if = {};    // whether it is a column of tables; null: always
  std::function<bool(const About&)> in_csv_if = {};  // whether it is a column of CSV; null: always
  bool detail = false;                               // left out of tables that are too wide
  bool mark = false;                                 // left out of tables in which no row has it
};

// How `check` treats a figure.
struct Checking {
  std::optional<bool> pinned = {};  // whether pins hold it unless they name their figures; none: if it is in tables
  bool identifies = false;          // it tells the elements of its list apart, with the others of the list that do
  std::string_view was = {};        // its path in JSON that older versions wrote
};
inline constexpr Checking kPinned{.pinned = true}, kNotPinned{.pinned = false}, kIdentifies{.identifies = true};

template <class T, class About = Scenario>
struct Figure {
  JsonPath json;                         // "": not in JSON
  std::string csv, title;                // "": not in CSV or not in tables
  std::string unit;                      // base unit as in JSON: "s", "tokens/s", ""
  std::optional<FigureKind> kind;        // none for names, counts and flags, which are plain members of JSON
  std::function<Reading(const T&)> get;  // the value in a result
  std::string meaning;                   // its documentation in docs/reference/output.md
  ColumnStyle<T, About> column = {};
  Checking check = {};

  bool pinned() const { return !json.member.empty() && check.pinned.value_or(!title.empty()); }
};

template <class T, class About = Scenario>
using Figures = std::vector<Figure<T, About>>;

std::string in_unit(double, std::string_view unit);  // text with three digits; times and bytes have unit and prefix
template <int digits>
std::string to_digits(double v) {
  return significant(v, digits);
}

// The figures that are columns of a table or of CSV.
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
  for (const auto& f : columns) titles.push_back({f.title, f.csv, f.column.detail, f.column.mark});
}

Cell cell_of(const Reading&, std::string_view unit, std::string (*text)(double));  // `text` null: in_unit()

template <class T, class About>
void add_cells(std::vector<Cell>& row, const Figures<T, About>& columns, const T& result) {
  for (const auto& f : columns) {
    const Reading reading = f.get(result);
    const double* part = f.column.whole ? std::get_if<double>(&reading.value) : nullptr;
    if (part) row.emplace_back(*part, percent(*part / f.column.whole(result)));
    else row.push_back(cell_of(reading, f.unit, f.column.text));
  }
}

// Writes figures as members of an open object, and opens and closes the objects inside it.
class MemberWriter {
 public:
  explicit MemberWriter(JsonWriter& w) : w_(w) {}
  void write(const JsonPath&, const Reading&, std::string_view unit, std::optional<FigureKind>);
  void finish();  // closes the last inner object; must be called

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
