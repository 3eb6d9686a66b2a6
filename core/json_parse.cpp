// SPDX-License-Identifier: Apache-2.0
#include "core/json_parse.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "core/utf8.h"

namespace draftline {
namespace {

using nlohmann::json;

std::string line_and_column(std::string_view text, std::size_t offset) {
  offset = std::min(offset, text.size());
  const std::string_view before = text.substr(0, offset);
  const auto line = 1 + std::ranges::count(before, '\n');
  const std::size_t start = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  std::size_t column = 1;  // in characters, as editors count
  for (const char c : before.substr(start))
    if ((byte_of(c) & 0xC0) != 0x80) ++column;
  return "line " + std::to_string(line) + ", column " + std::to_string(column);
}

// Builds the tree; stops at the first thing that is not allowed.
class Builder final : public nlohmann::json_sax<json> {
 public:
  Builder(std::string_view text, ParsedJson& out) : text_(text), out_(out) {}

  bool null() override { return leaf(nullptr); }
  bool boolean(bool v) override { return leaf(v); }
  bool number_integer(number_integer_t v) override { return leaf(v); }
  bool number_unsigned(number_unsigned_t v) override { return leaf(v); }
  bool number_float(number_float_t v, const string_t&) override { return leaf(v); }
  bool string(string_t& v) override { return leaf(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON text has none
  bool start_object(std::size_t) override {
    if (!open(json::object())) return false;
    open_.back().object = out_.keys.size();
    out_.keys.emplace_back();
    return true;
  }
  bool start_array(std::size_t) override { return open(json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& k) override {
    Open& top = open_.back();
    top.key = k;
    if (top.value->contains(k)) {
      note("the key \"" + printable(k) + "\" stands twice in this object");
      return false;
    }
    out_.keys[top.object].push_back(k);
    return true;
  }
  bool parse_error(std::size_t position, const std::string& token, const json::exception& e) override {
    std::string what = e.what();
    if (const auto place = what.find("column "); place != std::string::npos) {
      if (const auto colon = what.find(": ", place); colon != std::string::npos) what = what.substr(colon + 2);
    } else if (e.id == 406) {
      what = "the number " + token + " is out of range";
    }
    if (const auto last = what.find("; last read: "); last != std::string::npos) {  // says less than line and column
      const auto expected = what.find("; expected ", last);
      what = what.substr(0, last) + (expected == std::string::npos ? "" : what.substr(expected));
    }
    if (const auto ill = what.find("ill-formed UTF-8"); ill != std::string::npos) what = "ill-formed UTF-8";
    out_.error = line_and_column(text_, position > 0 ? position - 1 : 0) + ": " + printable(what);
    out_.error_pointer = pointer();
    return false;
  }

 private:
  struct Open {
    json* value;
    std::size_t object = 0;
    std::optional<std::string> key;
  };

  template <class V>
  json* place(V&& v) {
    if (open_.empty()) return &(out_.root = std::forward<V>(v));
    json& parent = *open_.back().value;
    if (parent.is_array()) return &parent.emplace_back(std::forward<V>(v));
    return &(parent[*open_.back().key] = std::forward<V>(v));
  }
  template <class V>
  bool leaf(V&& v) {
    place(std::forward<V>(v));
    return true;
  }
  bool open(json&& container) {
    if (open_.size() >= kDeepestJson) {
      note("nested deeper than " + std::to_string(kDeepestJson));
      return false;
    }
    json* at = place(std::move(container));
    open_.push_back({at, 0, {}});
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }
  std::string pointer() const {
    std::string p;
    for (const Open& o : open_) {
      if (o.value->is_array()) p += "/" + std::to_string(o.value->size() - (&o == &open_.back() ? 0 : 1));
      else if (o.key) p += "/" + pointer_step(*o.key);
    }
    return p;
  }
  void note(std::string what) {
    out_.error = std::move(what);
    out_.error_pointer = pointer();
  }

  std::string_view text_;
  ParsedJson& out_;
  std::vector<Open> open_;
};

// Python's words for numbers that JSON lacks, outside texts, as texts. A column of a later error counts their quotes.
std::string with_words_in_quotes(std::string_view text) {
  static constexpr std::array<std::string_view, 3> kWords{"-Infinity", "Infinity", "NaN"};
  std::string out;
  out.reserve(text.size() + 16);
  for (bool in_text = false; !text.empty();) {
    const auto word = std::ranges::find_if(kWords, [&](std::string_view w) { return text.starts_with(w); });
    const bool quoted = !in_text && word != kWords.end();
    const bool escaped = in_text && text.front() == '\\' && text.size() > 1;
    const std::size_t length = quoted ? word->size() : escaped ? 2 : 1;
    if (text.front() == '"') in_text = !in_text;
    if (quoted) out += '"';
    out += text.substr(0, length);
    if (quoted) out += '"';
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace

ParsedJson parse_json(std::string_view text, JsonDialect dialect) {
  ParsedJson out;
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) {
    out.error = "this is UTF-16; save the file as UTF-8";
    return out;
  }
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  if (const auto nul = text.find('\0'); nul != std::string_view::npos) {
    out.error = line_and_column(text, nul) + ": a NUL byte; this is no JSON text";
    return out;
  }
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos) {
    out.error = "the file is empty";
    return out;
  }
  std::string quoted;
  if (dialect == JsonDialect::python) text = quoted = with_words_in_quotes(text);
  Builder builder(text, out);
  constexpr bool kToTheEnd = true;
  const bool comments = dialect == JsonDialect::strict;  // which people write
  const bool fine =
      json::sax_parse(text.begin(), text.end(), &builder, json::input_format_t::json, kToTheEnd, comments);
  if (!fine && out.error.empty()) out.error = "cannot be read as JSON";
  return out;
}

std::string pointer_step(std::string_view key) {
  std::string step;
  for (const char c : key) {
    if (c == '~') step += "~0";
    else if (c == '/') step += "~1";
    else step += c;
  }
  return step;
}

}  // namespace draftline
