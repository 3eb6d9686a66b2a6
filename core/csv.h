// SPDX-License-Identifier: Apache-2.0
// Strict reading of tables in CSV files (RFC 4180; also gzipped): a header row, columns by name, every row as wide as
// the header. Mistakes throw InputErrors at once, "FILE:LINE: ...", or "FILE: ..." for a missing column. A row or
// column index that is out of range is a Bug. Empty lines are skipped.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace draftline {

class Csv {
 public:
  // `most_bytes` limits the text, after gunzip. `name` is the file name in messages.
  static Csv from_file(const std::filesystem::path&, std::size_t most_bytes = std::size_t{256} << 20,
                       const Files& = disk());
  static Csv from_text(std::string text, std::filesystem::path name);

  std::size_t rows() const { return lines_.size(); }  // without the header
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;
  std::size_t column(std::string_view name) const;  // its index; InputErrors, with the nearest name, if there is none

  // One cell. `row` counts from 0, without the header; `column` is an index (fast) or a name. number() and integer()
  // throw InputErrors if the cell is not such a number.
  std::string_view text(std::size_t row, std::size_t column) const;
  std::string_view text(std::size_t row, std::string_view name) const { return text(row, column(name)); }
  double number(std::size_t row, std::size_t column) const;  // finite; surrounding blanks are not accepted
  double number(std::size_t row, std::string_view name) const { return number(row, column(name)); }
  std::int64_t integer(std::size_t row, std::size_t column) const;
  std::int64_t integer(std::size_t row, std::string_view name) const { return integer(row, column(name)); }
  std::vector<double> numbers(std::string_view name) const;  // the whole column

  std::size_t line(std::size_t row) const { return lines_[row]; }           // number of the row's first line, from 1
  [[noreturn]] void fail(std::size_t row, std::string_view message) const;  // throws InputErrors "FILE:LINE: message"

 private:
  struct Cell {
    std::size_t begin, size;  // in text_, unquoted
  };
  std::filesystem::path file_;
  std::string text_;
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;         // [rows][columns]
  std::vector<std::size_t> lines_;  // the line in which each row begins
};

}  // namespace draftline
