// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/errors.h"
#include "core/printable.h"
#include "core/quantity_text.h"
#include "core/utf8.h"
#include "reports/page/html.h"

namespace draftline {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kNarrowestText = 8;  // the least width of text columns
constexpr std::size_t kLongPiece = 16;     // pieces of words up to this width are not broken

std::string shortest(double v) {
  std::array<char, 32> digits;
  return std::string(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), v).ptr);
}

// The code point of a well-formed character.
char32_t code_point(std::string_view c) {
  const auto byte = [&](std::size_t i) { return static_cast<char32_t>(byte_of(c[i])); };
  switch (c.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1F) << 6 | (byte(1) & 0x3F);
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | (byte(2) & 0x3F);
    default: return (byte(0) & 0x07) << 18 | (byte(1) & 0x3F) << 12 | (byte(2) & 0x3F) << 6 | (byte(3) & 0x3F);
  }
}

std::size_t width_of(char32_t c) {
  const auto in = [&](char32_t low, char32_t high) { return c >= low && c <= high; };
  if (in(0x300, 0x36F) || in(0x200B, 0x200F) || in(0xFE00, 0xFE0F)) return 0;
  return in(0x1100, 0x115F) || in(0x2E80, 0xA4CF) || in(0xAC00, 0xD7A3) || in(0xF900, 0xFAFF) || in(0xFE30, 0xFE6F) ||
                 in(0xFF00, 0xFF60) || in(0xFFE0, 0xFFE6) || in(0x1F300, 0x1FAFF) || in(0x20000, 0x3FFFD)
             ? 2
             : 1;
}

// The first character, or the first byte if it is ill-formed.
std::string_view first_character(std::string_view text) {
  return text.substr(0, std::max<std::size_t>(1, utf8_length(text)));
}
std::size_t character_width(std::string_view c) { return utf8_length(c) == 0 ? 1 : width_of(code_point(c)); }

// The text of a cell for people. Line ends, which would break a table, become blanks.
std::string on_one_line(std::string_view text) {
  std::string line(text);
  for (char& c : line)
    if (c == '\n' || c == '\t' || c == '\r') c = ' ';
  return printable(line, line.npos);
}

// Whether a spreadsheet would compute a text. Numbers may begin with a sign.
bool is_formula(std::string_view text) {
  if (text.empty() || std::string_view("=+-@\t\r").find(text.front()) == std::string_view::npos) return false;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error != std::errc() || end != text.data() + text.size();
}

bool is_digit(char c) { return '0' <= c && c <= '9'; }

// The beginning of a word after which a line may break: up to and with its next mark, "tree." of "tree.optimal".
// Numbers stay whole: "vllm-" and "0.19".
std::string_view first_piece(std::string_view word) {
  for (std::size_t i = 0; i + 1 < word.size(); ++i) {
    const bool in_number = i > 0 && is_digit(word[i - 1]) && is_digit(word[i + 1]);
    if (std::string_view("-_./:,").find(word[i]) != std::string_view::npos && !in_number) return word.substr(0, i + 1);
  }
  return word;
}

// The width of the longest piece that is not broken.
std::size_t longest_piece(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    std::string_view word = text.substr(0, std::min(text.find(' '), text.size()));
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    while (!word.empty()) {
      const std::string_view piece = first_piece(word);
      if (const std::size_t w = display_width(piece); w <= kLongPiece) longest = std::max(longest, w);
      word.remove_prefix(piece.size());
    }
  }
  return longest;
}

// Wraps a text at blanks. Words that are wider than a line are broken after marks, and longer pieces anywhere.
std::vector<std::string> wrapped(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  std::size_t used = 0;
  const auto new_line = [&] {
    lines.emplace_back();
    used = 0;
  };
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    std::string_view word = text.substr(0, blank);
    text.remove_prefix(std::min(blank + 1, text.size()));
    if (used > 0 && used + 1 + display_width(word) > width) new_line();
    if (used > 0) {
      lines.back() += ' ';
      ++used;
    }
    while (!word.empty()) {
      std::string_view piece = first_piece(word);
      word.remove_prefix(piece.size());
      if (used > 0 && used + display_width(piece) > width) new_line();
      for (; !piece.empty(); piece.remove_prefix(first_character(piece).size())) {
        const std::string_view c = first_character(piece);
        if (used > 0 && used + character_width(c) > width) new_line();
        lines.back() += c;
        used += character_width(c);
      }
    }
  }
  return lines;
}

std::size_t longest_word(std::string_view text) {
  std::size_t longest = 0;
  while (!text.empty()) {
    const std::size_t blank = std::min(text.find(' '), text.size());
    longest = std::max(longest, display_width(text.substr(0, blank)));
    text.remove_prefix(std::min(blank + 1, text.size()));
  }
  return longest;
}

std::string padded(const std::string& text, std::size_t width, bool right) {
  const std::size_t used = display_width(text);
  const std::string blanks(width > used ? width - used : 0, ' ');
  return right ? blanks + text : text + blanks;
}

}  // namespace

Cell::Cell(double v, int digits) : is_number(true) {
  if (!std::isfinite(v)) return;
  shown = significant(v, digits);
  exact = shortest(v);
}

Cell::Cell(double exact_value, std::string text)
    : shown(std::move(text)), exact(std::isfinite(exact_value) ? shortest(exact_value) : ""), is_number(true) {}

std::string percent(double share) { return std::to_string(std::lround(100 * share)) + " %"; }

Cell percent_cell(const std::optional<double>& share, int digits) {
  return share ? Cell(*share, significant(100 * *share, digits) + " %") : Cell();
}

Table::Table(std::vector<Column> columns) : columns_(std::move(columns)) {
  check(!columns_.empty(), "a table has columns");
  for (Column& column : columns_) column.title = on_one_line(column.title);
}

void Table::add(std::vector<Cell> row) {
  check(row.size() == columns_.size(), "a row has as many cells as the table has columns");
  for (Cell& cell : row)
    if (!cell.is_number) cell.shown = on_one_line(cell.shown);
  lines_.push_back(std::move(row));
  ++rows_;
}

void Table::add_rule() { lines_.emplace_back(); }

std::string Table::to_markdown() const {
  const auto cell = [](std::string text) {
    for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) text.insert(at, "\\");
    return " " + text + " |";
  };
  std::string head = "|", rule = "|", body;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    head += cell(columns_[c].title);
    rule += is_number(c) ? "---:|" : "---|";
  }
  for (const auto& row : lines_) {
    if (row.empty()) continue;
    body += "|";
    for (const Cell& c : row) body += cell(c.shown);
    body += "\n";
  }
  return head + "\n" + rule + "\n" + body;
}

std::string Table::html_class(std::size_t column) const {
  constexpr std::size_t kLong = 32;  // characters, beyond which a cell has several lines
  if (is_number(column)) return " class=\"number\"";
  const bool is_long = std::ranges::any_of(
      lines_, [&](const auto& row) { return !row.empty() && display_width(row[column].shown) > kLong; });
  return is_long ? " class=\"text\"" : "";
}

std::string Table::to_html(std::size_t most_rows) const {
  std::vector<std::size_t> shown;  // a mark that no row has is left out, as of text
  for (std::size_t c = 0; c < columns_.size(); ++c)
    if (!columns_[c].mark || has_any(c)) shown.push_back(c);
  std::vector<std::string> kind(columns_.size());
  for (const std::size_t c : shown) kind[c] = html_class(c);
  const auto cell = [&](const std::string& name, std::size_t c, const std::string& text) {
    return "<" + name + kind[c] + ">" + html_text(text) + "</" + name + ">";
  };
  std::string out = "<table>\n<thead><tr>";
  for (const std::size_t c : shown) out += cell("th", c, columns_[c].title);
  out += "</tr></thead>\n<tbody>\n";
  bool behind_rule = false;
  std::size_t written = 0;
  for (const auto& row : lines_) {
    if (row.empty()) {
      behind_rule = true;
      continue;
    }
    if (++written > most_rows) break;
    out += behind_rule ? "<tr class=\"rule\">" : "<tr>";
    behind_rule = false;
    for (const std::size_t c : shown) out += cell("td", c, row[c].shown);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n";
}

bool Table::is_number(std::size_t column) const {
  return std::ranges::all_of(
      lines_, [&](const auto& row) { return row.empty() || row[column].shown.empty() || row[column].is_number; });
}

Table::Widths Table::widths_of(std::size_t column, bool limited) const {
  Widths w;
  bool any = false, all = true;
  for (const auto& row : lines_) {
    if (row.empty()) continue;
    const Cell& cell = row[column];
    w.widest = std::max(w.widest, display_width(cell.shown));
    w.narrowest = std::max(w.narrowest, longest_piece(cell.shown));
    any = any || !cell.shown.empty();
    all = all && (cell.shown.empty() || cell.is_number);
  }
  w.is_number = any && all;
  // A long title over narrow numbers wraps at its blanks rather than widening the column.
  const std::string& title = columns_[column].title;
  w.widest = std::max(w.widest, w.is_number && limited ? longest_word(title) : display_width(title));
  w.narrowest = std::max({w.narrowest, longest_piece(title), kNarrowestText});
  w.narrowest = w.is_number ? w.widest : std::min(w.widest, w.narrowest);
  return w;
}

bool Table::has_any(std::size_t column) const {
  return std::ranges::any_of(lines_, [&](const auto& row) { return !row.empty() && !row[column].shown.empty(); });
}

std::string Table::to_text(std::size_t width) const {
  std::vector<std::size_t> shown;
  std::vector<Widths> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (!columns_[c].mark || has_any(c)) shown.push_back(c);
    widths.push_back(widths_of(c, width > 0));
  }
  const auto sum = [&](std::size_t Widths::*which) {
    std::size_t all = kGap.size() * (shown.size() - 1);
    for (const std::size_t c : shown) all += widths[c].*which;
    return all;
  };
  std::string left_out;
  while (width > 0 && sum(&Widths::narrowest) > width) {
    const auto last = std::find_if(shown.rbegin(), shown.rend(), [&](std::size_t c) { return columns_[c].detail; });
    if (last == shown.rend()) break;
    left_out = columns_[*last].title + (left_out.empty() ? "" : ", ") + left_out;
    shown.erase(std::next(last).base());
  }
  for (std::size_t most = width; most > 0 && sum(&Widths::widest) > most;) {  // narrows the widest column of text
    Widths* widest = nullptr;
    for (const std::size_t c : shown)
      if (widths[c].widest > widths[c].narrowest && (widest == nullptr || widths[c].widest > widest->widest))
        widest = &widths[c];
    if (widest == nullptr) break;
    --widest->widest;
  }

  std::string text;
  const auto put_row = [&](const auto& cell_text, bool from_bottom) {
    std::vector<std::vector<std::string>> cells;
    std::size_t height = 0;
    for (const std::size_t c : shown) {
      cells.push_back(wrapped(cell_text(c), widths[c].widest));
      height = std::max(height, cells.back().size());
    }
    for (std::size_t h = 0; h < height; ++h) {
      std::string line;
      for (std::size_t i = 0; i < shown.size(); ++i) {
        const std::size_t above = from_bottom ? height - cells[i].size() : 0, at = h - above;
        line += (i ? std::string(kGap) : "") + padded(h >= above && at < cells[i].size() ? cells[i][at] : "",
                                                      widths[shown[i]].widest, widths[shown[i]].is_number);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  };
  const auto put_rule = [&] {
    for (std::size_t i = 0; i < shown.size(); ++i)
      text += (i ? std::string(kGap) : "") + std::string(widths[shown[i]].widest, '-');
    text += "\n";
  };
  put_row([&](std::size_t c) { return columns_[c].title; }, true);
  put_rule();
  for (const auto& row : lines_) {
    if (row.empty()) put_rule();
    else put_row([&](std::size_t c) { return row[c].shown; }, false);
  }
  if (!left_out.empty()) text += "Omitted at this width: " + left_out + ".\n";
  return text;
}

std::string Table::to_csv(bool with_header) const {
  std::string text;
  const auto put_row = [&](const auto& cell_text) {
    for (std::size_t c = 0; c < columns_.size(); ++c) text += (c ? "," : "") + csv_cell(cell_text(c));
    text += "\n";
  };
  if (with_header) put_row([&](std::size_t c) { return columns_[c].csv_name; });
  for (const auto& row : lines_)
    if (!row.empty()) put_row([&](std::size_t c) { return row[c].exact; });
  return text;
}

std::size_t display_width(std::string_view text) {
  std::size_t width = 0;
  while (!text.empty()) {
    const std::string_view c = first_character(text);
    width += character_width(c);
    text.remove_prefix(c.size());
  }
  return width;
}

std::string csv_cell(std::string_view text) {
  const std::string cell = (is_formula(text) ? "'" : "") + printable_lines(text);
  if (cell.find_first_of(",\"\n") == std::string::npos) return cell;
  std::string quoted = "\"";
  for (const char c : cell) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

}  // namespace draftline
