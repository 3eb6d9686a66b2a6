// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/log_line.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace draftline {

namespace {

std::string_view behind(std::string_view line, std::string_view word) {
  const std::size_t at = line.find(word);
  return at == line.npos ? std::string_view() : line.substr(at + word.size());
}

// The number at the start of `text`, which loses it, and blanks and brackets before it.
std::optional<double> take_number(std::string_view& text) {
  text.remove_prefix(std::min(text.find_first_not_of(" =(["), text.size()));
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || !std::isfinite(v) || v < 0) return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return v;
}

}  // namespace

std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

std::optional<double> number_after(std::string_view line, std::string_view word) {
  std::string_view rest = behind(line, word);
  return take_number(rest);
}

std::vector<double> numbers_after(std::string_view line, std::string_view word) {
  std::vector<double> all;
  std::string_view rest = behind(line, word);
  for (auto v = take_number(rest); v; v = take_number(rest)) {
    all.push_back(*v);
    if (!rest.starts_with(',')) break;
    rest.remove_prefix(1);
  }
  return all;
}

}  // namespace draftline
