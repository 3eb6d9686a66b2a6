// SPDX-License-Identifier: Apache-2.0
// JSON as a stream: what is written is gone from memory, 100,000 results need no more room than one. Doubles are the
// shortest text that reads back to the same bits; NaN and infinity, which JSON can't say, become null; ill-formed UTF-8
// becomes U+FFFD. Elements down to `lines` levels deep start on lines of their own, so that a document of results has
// one result per line.
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

#include "core/quantity.h"
#include "core/quantity_text.h"

namespace draftline {

// What a printed figure is.
enum class FigureKind { input, calibrated, predicted, measured, quoted };
std::string_view figure_kind_name(FigureKind);

struct Interval {
  double low, high;
};

class JsonWriter {
 public:
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
    if constexpr (std::signed_integral<T>) integer(static_cast<std::int64_t>(v));
    else unsigned_integer(static_cast<std::uint64_t>(v));
  }
  void value(std::nullptr_t) { literal("null"); }
  template <std::same_as<nlohmann::json> Tree>  // no conversions: a std::string is text
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

  // "key": {...}, "key": [{...}, ...] with an object for each item, "key": [...] of values. `fill` writes the members.
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

  // "key": {"value": 1.5, "unit": "s", "kind": "predicted"}, with "low" and "high" where an interval is known
  void figure(std::string_view key, double value, std::string_view unit, FigureKind,
              std::optional<Interval> = std::nullopt);
  template <int S, int B, int F>
  void figure(std::string_view key, Quantity<S, B, F> q, FigureKind kind,
              std::optional<Interval> interval = std::nullopt) {
    figure(key, q.value, unit_name(dimension_of(q)), kind, interval);
  }

  // Every byte reaches the stream only with finish() (or flush()), which throw OutputError when it does not: a full
  // disk, a closed pipe. So does any call that fills the buffer.
  void flush();
  void finish();  // the document is complete: newline and flush

 private:
  struct Level {
    bool is_object, empty;
  };
  char* room(std::size_t bytes);  // at least so many in the buffer, at end_
  void empty_buffer();
  void append(std::string_view);  // where there is room
  void append_double(double);
  void put(std::string_view);
  void element();  // comma and line break in front of a value or key
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
  std::size_t lines_;
  std::vector<Level> levels_;
  bool after_key_ = false, begun_ = false;
};

}  // namespace draftline
