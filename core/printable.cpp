// SPDX-License-Identifier: Apache-2.0
#include "core/printable.h"

#include <algorithm>

#include "core/utf8.h"

namespace draftline {

// The code point of a well-formed character of up to three bytes; those of four are printable.
static unsigned code_point(std::string_view c) {
  const auto tail = [&](std::size_t i) { return byte_of(c[i]) & 0x3Fu; };
  switch (c.size()) {
    case 1: return byte_of(c[0]);
    case 2: return (byte_of(c[0]) & 0x1Fu) << 6 | tail(1);
    case 3: return (byte_of(c[0]) & 0x0Fu) << 12 | tail(1) << 6 | tail(2);
    default: return 0xFFFD;
  }
}

std::size_t unprintable_length(std::string_view text) {
  const std::size_t n = utf8_length(text);
  if (n == 0) return 0;
  const unsigned c = code_point(text.substr(0, n));
  const auto in = [c](unsigned low, unsigned high) { return low <= c && c <= high; };
  const bool control = c < 0x20 || in(0x7F, 0x9F);
  const bool reorders = c == 0x061C || in(0x200E, 0x200F) || in(0x202A, 0x202E) || in(0x2066, 0x2069);
  return control || reorders || in(0x2028, 0x2029) ? n : 0;
}

std::string escaped_character(std::string_view character) {
  static constexpr std::string_view kHex = "0123456789abcdef";
  const unsigned c = code_point(character);
  std::string escape = "\\u";
  for (const unsigned shift : {12, 8, 4, 0}) escape += kHex[c >> shift & 0xF];
  return escape;
}

// `kept`: control characters that are not escaped.
static std::string escaped(std::string_view text, std::string_view kept, std::size_t most) {
  const auto plain = [](char c) { return byte_of(c) >= 0x20 && byte_of(c) < 0x7F; };  // as nearly all texts are
  if (text.size() <= most && std::ranges::all_of(text, plain)) return std::string(text);
  std::string out;
  while (!text.empty()) {
    if (out.size() >= most) return out + "...";
    const std::size_t length = utf8_length(text), n = std::max<std::size_t>(length, 1);
    const std::string_view c = text.substr(0, n);
    if (length == 0) out += "\xEF\xBF\xBD";
    else if (unprintable_length(c) > 0 && kept.find(c) == kept.npos) out += escaped_character(c);
    else out += c;
    text.remove_prefix(n);
  }
  return out;
}

std::string printable(std::string_view text, std::size_t most) { return escaped(text, "", most); }
std::string printable_lines(std::string_view text) { return escaped(text, "\n\t", text.npos); }
std::string in_quotes(std::string_view text, std::size_t most) { return "\"" + printable(text, most) + "\""; }

}  // namespace draftline
