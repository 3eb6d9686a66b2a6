// SPDX-License-Identifier: Apache-2.0
// Writes JSON as a stream, so that memory does not grow with the document. A double is written as the shortest text
// that reads back to the same bits; NaN and infinity, which JSON lacks, become null; ill-formed UTF-8 becomes U+FFFD.
// Calls that do not make a valid document (a value without a key, brackets that do not match) are a Bug.
#pragma once
#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/figure_kind.h"
#include "core/interval.h"
#include "core/quantity.h"
#include "core/quantity_text.h"

namespace draftline {

class JsonWriter {
 public:
  // Elements at most `lines` levels deep start on lines of their own, so that a document has one result per line. The
  // stream must outlive the writer.
  explicit JsonWriter(std::ostream&, int lines = 2);
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void begin_object();
  void end_object();
  void begin_array();
  void end_array();
  void key(std::string_view);  // the next call writes its value

  void value(double);
  void value(std::string_view);
  void value(const char* text) { value(std::string_view(text)); }
  void value(std::same_as<bool> auto v) { literal(v ? "true" : "false"); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) void value(T v) {
    if constexpr (std::signed_integral<T>) integer(v);
    else unsigned_integer(v);
  }
  void value(std::nullptr_t) { literal("null"); }
  template <std::same_as<nlohmann::json> Tree>  // without conversions, so that a std::string is written as text
  void value(const Tree& whole) {
    tree(whole);
  }
  template <class T>
  void value(const std::optional<T>& v) {
    if (v) value(*v);
    else value(nullptr);
  }
  template <class V>
  void member(std::string_view k, const V& v) {  // key and value
    key(k);
    value(v);
  }

  // object() writes "key": {...}; objects() writes "key": [{...}, ...] with an object for each item; list() writes
  // "key": [...] of values. `fill` writes the members of an object.
  template <class Fill>
  void object(std::string_view k, Fill fill) {
    key(k);
    begin_object();
    fill();
    end_object();
  }
  template <class Items, class Fill>
  void objects(std::string_view k, const Items& items, Fill fill) {
    key(k);
    begin_array();
    for (const auto& item : items) {
      begin_object();
      fill(item);
      end_object();
    }
    end_array();
  }
  template <class Items, class Value = std::identity>
  void list(std::string_view k, const Items& items, Value value_of = {}) {
    key(k);
    begin_array();
    for (const auto& item : items) value(value_of(item));
    end_array();
  }

  // Writes "key": {"value": 1.5, "unit": "s", "kind": "predicted"}, with "low" and "high" if an interval is given. The
  // value and the interval are in base units; `unit` is one of unit_name() or a name such as "tokens/s".
  void figure(std::string_view key, double value, std::string_view unit, FigureKind,
              std::optional<Interval> = std::nullopt);
  template <int S, int B, int F>
  void figure(std::string_view key, Quantity<S, B, F> q, FigureKind kind,
              std::optional<Interval> interval = std::nullopt) {
    figure(key, q.value, unit_name(dimension_of(q)), kind, interval);
  }

  // Writes the buffer to the stream. Throws OutputError if the stream fails (full disk, closed pipe). Any call that
  // fills the buffer does this too.
  void flush();
  void finish();  // ends a complete document with a newline and flush()

 private:
  struct Level {
    bool is_object, empty;
  };
  char* room(std::size_t bytes);  // makes room for that many more bytes in the buffer; returns end_
  void empty_buffer();
  void append(std::string_view);  // after room() for it
  void append_double(double);
  void put(std::string_view);
  void element();  // writes the comma and line break in front of a value
  void open(bool is_object, char bracket);
  void close(bool is_object, char bracket);
  void tree(const nlohmann::json&);
  void literal(std::string_view);
  void integer(std::int64_t);
  void unsigned_integer(std::uint64_t);
  void put_string(std::string_view);
  void new_line(std::size_t depth);

  std::ostream& out_;
  std::unique_ptr<char[]> buffer_;
  char* end_;
  int lines_;
  std::vector<Level> levels_;
  bool after_key_ = false, begun_ = false;
};

}  // namespace draftline
