// SPDX-License-Identifier: Apache-2.0
// A table once, for two readers: aligned text for a terminal, CSV (RFC 4180) for a program. A cell holds what people
// see
// ("1.70x", "3.21 ms") and, where that differs, the exact value for CSV.
#pragma once
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

struct Cell {
  std::string shown, exact;
  bool is_number = false;

  Cell() = default;  // empty
  Cell(std::string text) : shown(text), exact(std::move(text)) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  template <std::integral T>
  Cell(T v) : shown(std::to_string(v)), exact(shown), is_number(true) {}
  Cell(bool v) : Cell(v ? "yes" : "no") {}
  Cell(double v, int digits = 3);              // that many significant digits; NaN and infinity are empty
  Cell(double exact_value, std::string text);  // text for people, 17 digits for CSV: Cell(t.value, to_text(t))
};

std::string percent(double share);                                      // whole: "13 %"
Cell percent_cell(const std::optional<double>& share, int digits = 3);  // "12.3 %"; none: empty

class Table {
 public:
  // For people the header may be longer than for CSV: {"step time", "step_time_s"}. An empty second is the first.
  struct Column {
    std::string title, csv_name;
    Column(std::string t, std::string c = "") : title(std::move(t)), csv_name(c.empty() ? title : std::move(c)) {}
    Column(const char* t) : Column(std::string(t)) {}
  };

  explicit Table(std::vector<Column> columns);
  void add(std::vector<Cell> row);  // as many cells as columns
  void add_rule();                  // a line between groups of rows; CSV knows none
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_.size(); }

  // Columns whose filled cells are all numbers are right-aligned. Where the table is wider than `width`, columns of
  // text wrap; numbers never do, so that a table of many numbers may stay wider. 0: no limit. Ends with a newline.
  std::string to_text(std::size_t width = 0) const;
  std::string to_markdown() const;  // pipes; numbers to the right
  std::string to_csv(bool with_header = true) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> lines_;  // an empty one is a rule
  std::size_t rows_ = 0;
};

// Columns of a terminal that a UTF-8 text takes: one per character, none for combining marks, two for East Asian wide
// ones.
std::size_t display_width(std::string_view);

// One cell of CSV, quoted where it must be.
std::string csv_cell(std::string_view);

}  // namespace draftline
