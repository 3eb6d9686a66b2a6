// SPDX-License-Identifier: Apache-2.0
// Tables in CSV files (RFC 4180; also *.csv.gz), read strictly: a header row, columns by name, every row as wide as the
// header. Mistakes throw InputErrors at once, "FILE:LINE: ...", or "FILE: ..." for a column.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

class Csv {
 public:
  static Csv from_file(const std::filesystem::path&, std::size_t most_bytes = std::size_t{256} << 20);
  static Csv from_text(std::string text, std::filesystem::path name);

  std::size_t rows() const { return lines_.size(); }
  const std::vector<std::string>& columns() const { return columns_; }
  bool has(std::string_view column) const;
  std::size_t column(std::string_view name) const;  // its index; the mistake names the nearest

  // Cells; `column` is an index (quick) or a name.
  std::string_view text(std::size_t row, std::size_t column) const;
  std::string_view text(std::size_t row, std::string_view name) const { return text(row, column(name)); }
  double number(std::size_t row, std::size_t column) const;  // finite; surrounding blanks are a mistake
  double number(std::size_t row, std::string_view name) const { return number(row, column(name)); }
  std::int64_t integer(std::size_t row, std::size_t column) const;
  std::int64_t integer(std::size_t row, std::string_view name) const { return integer(row, column(name)); }
  std::vector<double> numbers(std::string_view name) const;  // the whole column

  std::size_t line(std::size_t row) const { return lines_[row]; }           // of the file, from 1
  [[noreturn]] void fail(std::size_t row, std::string_view message) const;  // for the caller's own checks

 private:
  struct Cell {
    std::size_t begin, size;  // in text_, unquoted
  };
  std::filesystem::path file_;
  std::string text_;
  std::vector<std::string> columns_;
  std::vector<Cell> cells_;
  std::vector<std::size_t> lines_;  // of each row, where it begins
};

}  // namespace draftline
