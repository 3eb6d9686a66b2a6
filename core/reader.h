// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON. A Reader is a cursor on one value that knows its file and JSON pointer. Mistakes are collected,
// not thrown, so that a user sees all of them at once: a failed read notes the mistake and returns a harmless value, and
// Document::finish() throws InputErrors with all of them. Every key must be read: done() notes those that were not, with
// a "did you mean" from the keys that were asked for.
#pragma once
#include <filesystem>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/quantity.h"
#include "core/quantity_text.h"

namespace draftline {

class Reader {
 public:
  std::string place() const;  // "scenario.json#/method/0/draft_length"
  const std::filesystem::path& file() const;
  const nlohmann::json& json() const;

  // Objects. at() notes a missing key; find() marks the key as known without demanding it.
  Reader at(std::string_view key) const;
  std::optional<Reader> find(std::string_view key) const;
  bool has(std::string_view key) const;  // does not mark the key as read
  std::vector<std::pair<std::string, Reader>> entries() const;  // all keys, in file order; each counts as read
  void done() const;                                            // every key not read is a mistake

  // Arrays
  bool is_array() const;
  bool is_object() const;
  bool is_string() const;
  bool is_number() const;
  bool is_null() const;
  std::vector<Reader> items() const;  // notes a mistake if this is no array

  // Values. The range is inclusive; NaN and infinity can't be written in JSON and are refused from text too.
  std::string text() const;
  bool boolean() const;
  double number(double least = -std::numeric_limits<double>::max(), double most = std::numeric_limits<double>::max()) const;
  int integer(int least = std::numeric_limits<int>::min(), int most = std::numeric_limits<int>::max()) const;
  int positive_int(int most = 1 << 30) const { return integer(1, most); }
  double ratio() const { return number(0, 1); }  // a share or probability
  std::vector<double> numbers(double least = -std::numeric_limits<double>::max(),
                              double most = std::numeric_limits<double>::max()) const;  // an array of numbers
  // A string with a unit, "3.35 TB/s". A zero or negative one is refused unless `least` says otherwise.
  template <class Q>
  Q quantity(std::optional<double> least = std::nullopt) const {
    return Q{quantity_value(unit_dimension<Q>(), least)};
  }
  // One of a list of words; the mistake names the nearest.
  std::size_t choice(std::span<const std::string_view> words) const;

  void fail(std::string message) const;  // notes a mistake at this place
  bool failed() const;                   // has the document any mistake so far?

  struct State;                                            // shared by all Readers of a document
  Reader(std::shared_ptr<State>, const nlohmann::json*, std::string pointer);

 private:
  double quantity_value(Dimension, std::optional<double> least) const;
  std::shared_ptr<State> state_;
  const nlohmann::json* value_;
  std::string pointer_;
};

// A parsed file. Refuses duplicate keys, trailing text, nesting deeper than 64, files over `most_bytes`.
class Document {
 public:
  static Document from_file(const std::filesystem::path&, std::size_t most_bytes = std::size_t{64} << 20);
  static Document from_text(std::string_view text, std::filesystem::path name);
  Reader root() const;
  void finish() const;  // throws InputErrors if any mistake was noted

 private:
  explicit Document(std::shared_ptr<Reader::State>);
  std::shared_ptr<Reader::State> state_;
};

// The known word nearest to `word`, if near enough to be a slip of the pen.
std::optional<std::string> nearest_word(std::string_view word, std::span<const std::string> known);

}  // namespace draftline
