// SPDX-License-Identifier: Apache-2.0
#include "core/json_writer.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/utf8.h"

namespace draftline {

static constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
static constexpr const char* kIncomplete =
    "the output cannot be written in full (is the disk full or the pipe closed?)";
static constexpr std::size_t kShortBytes = 1024;
static constexpr std::size_t kNumberBytes = 32;  // longest shortest double: -2.2250738585072014e-308

JsonWriter::JsonWriter(std::ostream& out, int lines)
    : out_(out), buffer_(std::make_unique<char[]>(kBufferBytes)), end_(buffer_.get()), lines_(std::max(lines, 0)) {}

void JsonWriter::empty_buffer() {
  out_.write(buffer_.get(), end_ - buffer_.get());
  end_ = buffer_.get();
  if (!out_) throw OutputError(kIncomplete);
}

inline char* JsonWriter::room(std::size_t bytes) {
  if (at(buffer_.get() + kBufferBytes - end_) < bytes) empty_buffer();
  return end_;
}

inline void JsonWriter::append(std::string_view text) {
  std::memcpy(end_, text.data(), text.size());
  end_ += text.size();
}

inline void JsonWriter::append_double(double v) {
  if (std::isfinite(v)) end_ = std::to_chars(end_, end_ + kNumberBytes, v).ptr;
  else append("null");
}

void JsonWriter::put(std::string_view text) {
  while (!text.empty()) {
    const std::size_t n = std::min(text.size(), kBufferBytes);
    std::memcpy(room(n), text.data(), n);
    end_ += n;
    text.remove_prefix(n);
  }
}

void JsonWriter::flush() {
  empty_buffer();
  out_.flush();
  if (!out_) throw OutputError(kIncomplete);
}

void JsonWriter::finish() {
  check(levels_.empty() && begun_ && !after_key_, "JSON finished before it is complete");
  put("\n");
  flush();
}

void JsonWriter::new_line(std::size_t depth) {
  put("\n");
  for (std::size_t i = 0; i < depth; ++i) put("  ");
}

void JsonWriter::element() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (levels_.empty()) {
    check(!begun_, "a JSON document is one value");
    begun_ = true;
    return;
  }
  check(!levels_.back().is_object, "a value in a JSON object needs a key");
  if (!levels_.back().empty) put(",");
  levels_.back().empty = false;
  if (count(levels_) <= lines_) new_line(levels_.size());
}

void JsonWriter::key(std::string_view name) {
  check(!levels_.empty() && levels_.back().is_object && !after_key_, "a JSON key stands in an object, before a value");
  if (!levels_.back().empty) put(",");
  levels_.back().empty = false;
  if (count(levels_) <= lines_) new_line(levels_.size());
  put_string(name);
  put(count(levels_) <= lines_ ? ": " : ":");
  after_key_ = true;
}

void JsonWriter::open(bool is_object, char bracket) {
  element();
  *room(1) = bracket;
  ++end_;
  levels_.push_back({is_object, true});
}

void JsonWriter::close(bool is_object, char bracket) {
  check(!levels_.empty() && levels_.back().is_object == is_object && !after_key_, "JSON brackets do not match");
  const bool empty = levels_.back().empty;
  levels_.pop_back();
  if (!empty && count(levels_) < lines_) new_line(levels_.size());
  *room(1) = bracket;
  ++end_;
}

void JsonWriter::begin_object() { open(true, '{'); }
void JsonWriter::end_object() { close(true, '}'); }
void JsonWriter::begin_array() { open(false, '['); }
void JsonWriter::end_array() { close(false, ']'); }

void JsonWriter::literal(std::string_view text) {
  element();
  put(text);
}

void JsonWriter::integer(std::int64_t v) {
  element();
  room(kNumberBytes);
  end_ = std::to_chars(end_, end_ + kNumberBytes, v).ptr;
}

void JsonWriter::unsigned_integer(std::uint64_t v) {
  element();
  room(kNumberBytes);
  end_ = std::to_chars(end_, end_ + kNumberBytes, v).ptr;
}

void JsonWriter::value(double v) {
  element();
  room(kNumberBytes);
  append_double(v);
}

void JsonWriter::value(std::string_view text) {
  element();
  put_string(text);
}

// Bytes that need no escape in a JSON string.
static constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0x20; c < 0x7F; ++c) plain[c] = c != '"' && c != '\\';
  return plain;
}();

void JsonWriter::put_string(std::string_view text) {
  std::size_t plain = 0;
  while (plain < text.size() && kPlain[byte_of(text[plain])]) ++plain;
  if (plain == text.size() && plain < kShortBytes) {  // as nearly every key and unit is
    room(kShortBytes + 2);
    append("\"");
    append(text);
    append("\"");
    return;
  }
  put("\"");
  while (!text.empty()) {
    std::size_t n = 0;
    while (n < text.size() && kPlain[byte_of(text[n])]) ++n;
    put(text.substr(0, n));
    text.remove_prefix(n);
    if (text.empty()) break;
    const char c = text.front();
    const std::size_t length = utf8_length(text);
    if (c == '"' || c == '\\') put(std::array{'\\', c, '\0'}.data());
    else if (c == '\n') put("\\n");
    else if (c == '\t') put("\\t");
    else if (c == '\r') put("\\r");
    else if (const std::size_t n = unprintable_length(text); n > 0) put(escaped_character(text.substr(0, n)));
    else put(length > 0 ? text.substr(0, length) : "\xEF\xBF\xBD");
    text.remove_prefix(std::max<std::size_t>(length, 1));
  }
  put("\"");
}

void JsonWriter::tree(const nlohmann::json& whole) {
  using Type = nlohmann::json::value_t;
  switch (whole.type()) {
    case Type::object:
      begin_object();
      for (const auto& [k, v] : whole.items()) member(k, v);
      return end_object();
    case Type::array:
      begin_array();
      for (const nlohmann::json& v : whole) value(v);
      return end_array();
    case Type::string: return value(std::string_view(whole.get_ref<const std::string&>()));
    case Type::boolean: return value(whole.get<bool>());
    case Type::number_integer: return value(whole.get<std::int64_t>());
    case Type::number_unsigned: return value(whole.get<std::uint64_t>());
    case Type::number_float: return value(whole.get<double>());
    default: return value(nullptr);
  }
}

// The hot path of a large sweep: the buffer is checked once for all short pieces, which need no escapes.
void JsonWriter::figure(std::string_view name, double v, std::string_view unit, FigureKind kind,
                        std::optional<Interval> interval) {
  static constexpr std::size_t kFrameBytes = 256;  // brackets, names, three numbers and the kind, with room to spare
  key(name);
  after_key_ = false;
  room(kFrameBytes);
  append("{\"value\":");
  append_double(v);
  append(",\"unit\":");
  put_string(unit);
  room(kFrameBytes);
  append(",\"kind\":\"");
  append(name_of(kFigureKinds, kind));
  append("\"");
  if (interval) {
    append(",\"low\":");
    append_double(interval->low);
    append(",\"high\":");
    append_double(interval->high);
  }
  append("}");
}

}  // namespace draftline
