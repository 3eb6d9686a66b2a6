// SPDX-License-Identifier: Apache-2.0
// A table that is written as aligned text for a terminal, as Markdown, as HTML, or as CSV (RFC 4180). A cell holds the
// text for people ("1.70x", "3.21 ms") and the exact value for CSV.
#pragma once
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

struct Cell {
  std::string shown, exact;  // for people; for CSV
  bool is_number = false;

  Cell() = default;  // empty
  Cell(std::string text) : shown(text), exact(std::move(text)) {}
  Cell(std::string_view text) : Cell(std::string(text)) {}
  Cell(const char* text) : Cell(std::string(text)) {}
  template <std::integral T>
  Cell(T v) : shown(std::to_string(v)), exact(shown), is_number(true) {}
  Cell(bool v) : Cell(v ? "yes" : "no") {}
  Cell(double v, int digits = 3);              // significant digits for people; NaN and infinity are empty
  Cell(double exact_value, std::string text);  // text for people, 17 digits for CSV: Cell(t.value, to_text(t))
};

std::string percent(double share);                                      // whole percent: 0.13 -> "13 %"
Cell percent_cell(const std::optional<double>& share, int digits = 3);  // 0.123 -> "12.3 %"; empty if there is none

class Table {
 public:
  // The header for people and the name in CSV: {"step time", "step_time_s"}; an empty name is the header itself. A
  // detail is left out of a text that would be too wide, a mark of one in which no row has it.
  struct Column {
    std::string title, csv_name;
    bool detail, mark;
    Column(std::string t, std::string c = "", bool is_detail = false, bool is_mark = false)
        : title(std::move(t)), csv_name(c.empty() ? title : std::move(c)), detail(is_detail), mark(is_mark) {}
    Column(const char* t) : Column(std::string(t)) {}
  };

  explicit Table(std::vector<Column> columns);
  void add(std::vector<Cell> row);  // Bug unless there are as many cells as columns
  void add_rule();                  // a line between groups of rows, which CSV leaves out
  std::size_t rows() const { return rows_; }
  std::size_t columns() const { return columns_.size(); }

  // Columns of numbers are right-aligned. If the table is wider than `width` terminal columns (0: no limit), columns of
  // text are wrapped, and where that is not enough details are left out from the right, with a line that names them;
  // numbers are not wrapped, so that the table may remain wider. The text ends with a newline.
  std::string to_text(std::size_t width = 0) const;
  std::string to_markdown() const;  // a table with pipes; columns of numbers are right-aligned
  // An element <table> of the first rows; class "number" of cells and "text" of long ones, "rule" of the row behind a
  // rule.
  std::string to_html(std::size_t most_rows = std::numeric_limits<std::size_t>::max()) const;
  std::string to_csv(bool with_header = true) const;

 private:
  struct Widths {
    std::size_t widest = 1, narrowest = 1;  // of a column in terminal columns: unwrapped, and wrapped as far as it goes
    bool is_number = false;
  };
  Widths widths_of(std::size_t column, bool limited) const;
  std::string html_class(std::size_t column) const;  // as an attribute
  bool has_any(std::size_t column) const;            // whether a cell of it is not empty
  bool is_number(std::size_t column) const;          // whether every cell of it that is not empty is one

  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> lines_;  // an empty one is a rule
  std::size_t rows_ = 0;
};

// The terminal columns of a UTF-8 text: one per character, none for combining marks, two for wide East Asian
// characters.
std::size_t display_width(std::string_view);

// A text as a cell of CSV: quoted if it needs quotes, control characters escaped (core/printable.h), and behind an
// apostrophe if a spreadsheet would take it for a formula.
std::string csv_cell(std::string_view);

}  // namespace draftline
