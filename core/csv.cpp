// SPDX-License-Identifier: Apache-2.0
#include "core/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "core/text_file.h"

namespace draftline {

[[noreturn]] static void fail_at(const std::filesystem::path& file, std::size_t line, std::string_view message) {
  throw InputErrors(printable_path(file) + ":" + std::to_string(line) + ": " + std::string(message));
}

Csv Csv::from_file(const std::filesystem::path& path, std::size_t most_bytes, const Files& files) {
  return from_text(files.text(path, most_bytes), path);
}

// Parquet's libraries are larger than all of draftline, and a table is converted by one line.
constexpr std::string_view kParquetMagic = "PAR1";
constexpr std::string_view kParquet =
    "is a Parquet file, of which draftline reads none; convert it to CSV:\n"
    "  python3 -c \"import pandas; pandas.read_parquet('TABLE.parquet').to_csv('TABLE.csv', index=False)\"\n"
    "or\n"
    "  duckdb -c \"COPY (FROM 'TABLE.parquet') TO 'TABLE.csv'\"";

Csv Csv::from_text(std::string text, std::filesystem::path name) {
  if (text.starts_with(kParquetMagic)) throw InputErrors(printable_path(name) + ": " + std::string(kParquet));
  Csv csv;
  csv.file_ = std::move(name);
  csv.text_ = std::move(text);
  std::string& t = csv.text_;
  std::size_t at = t.starts_with("\xEF\xBB\xBF") ? 3 : 0, line = 1, width = 0;
  bool header = true;
  while (at < t.size()) {
    const std::size_t first_line = line;
    std::vector<Cell> row;
    for (bool more = true; more;) {  // one cell; quoted ones are unquoted in place, which only shortens them
      Cell cell{at, 0};
      if (t[at] == '"') {
        std::size_t to = ++at;
        cell.begin = to;
        for (;; ++at) {
          if (at >= t.size()) fail_at(csv.file_, first_line, "a quoted cell has no end");
          if (t[at] == '"') {
            if (at + 1 >= t.size() || t[at + 1] != '"') break;
            ++at;
          }
          if (t[at] == '\n') ++line;
          t[to++] = t[at];
        }
        cell.size = to - cell.begin;
        ++at;
      } else {
        while (at < t.size() && t[at] != ',' && t[at] != '\n' && t[at] != '"') ++at;
        cell.size = at - cell.begin;
        if (cell.size > 0 && (at == t.size() || t[at] == '\n') && t[at - 1] == '\r') --cell.size;
      }
      row.push_back(cell);
      if (at < t.size() && t[at] == '\r' && (at + 1 == t.size() || t[at + 1] == '\n')) ++at;  // behind a quoted cell
      if (at < t.size() && t[at] != ',' && t[at] != '\n') fail_at(csv.file_, line, "a quote within a cell");
      more = at < t.size() && t[at] == ',';
      if (at < t.size()) ++at;
      if (more && at == t.size()) {  // the file ends behind a comma: one more, empty, cell
        row.push_back({at, 0});
        more = false;
      }
    }
    ++line;
    if (row.size() == 1 && row[0].size == 0) continue;  // an empty line
    if (header) {
      for (const Cell& c : row) {
        std::string column = t.substr(c.begin, c.size);
        if (std::ranges::find(csv.columns_, column) != csv.columns_.end())
          fail_at(csv.file_, first_line, "the column \"" + printable(column) + "\" stands twice");
        csv.columns_.push_back(std::move(column));
      }
      width = row.size();
      header = false;
      continue;
    }
    if (row.size() != width)
      fail_at(csv.file_, first_line,
              std::to_string(row.size()) + " cells, but the header has " + std::to_string(width));
    csv.cells_.insert(csv.cells_.end(), row.begin(), row.end());
    csv.lines_.push_back(first_line);
  }
  if (header) throw InputErrors(printable_path(csv.file_) + ": is empty, not even a header");
  return csv;
}

bool Csv::has(std::string_view name) const { return std::ranges::find(columns_, name) != columns_.end(); }

std::size_t Csv::column(std::string_view name) const {
  const auto found = std::ranges::find(columns_, name);
  if (found != columns_.end()) return at(found - columns_.begin());
  const auto near = nearest_word(name, columns_);
  throw InputErrors(printable_path(file_) + ": no column \"" + std::string(name) + "\"" +
                    (near ? "; is it \"" + printable(*near) + "\"?" : ""));
}

std::string_view Csv::text(std::size_t row, std::size_t column) const {
  check(row < rows() && column < columns_.size(), "a cell outside the table");
  const Cell& c = cells_[row * columns_.size() + column];
  return std::string_view(text_).substr(c.begin, c.size);
}

void Csv::fail(std::size_t row, std::string_view message) const { fail_at(file_, lines_.at(row), message); }

double Csv::number(std::size_t row, std::size_t column) const {
  const std::string_view cell = text(row, column);
  double v = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  if (error != std::errc() || end != cell.data() + cell.size() || !std::isfinite(v))
    fail(row, columns_[column] + " must be a number, got \"" + printable(cell, 60) + "\"");
  return v;
}

std::int64_t Csv::integer(std::size_t row, std::size_t column) const {
  const std::string_view cell = text(row, column);
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), v);
  if (error != std::errc() || end != cell.data() + cell.size())
    fail(row, columns_[column] + " must be a whole number, got \"" + printable(cell, 60) + "\"");
  return v;
}

std::vector<double> Csv::numbers(std::string_view name) const {
  const std::size_t c = column(name);
  std::vector<double> all(rows());
  for (std::size_t row = 0; row < all.size(); ++row) all[row] = number(row, c);
  return all;
}

}  // namespace draftline
