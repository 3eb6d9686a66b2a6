// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON. A Reader is a cursor on one value with its file and JSON pointer. Mistakes are
// collected, not thrown, so that a user sees all of them at once: a failed read notes the mistake and returns a valid
// value, and Document::finish() throws InputErrors with all of them. Reads below a failed read (a key of a missing
// object) note nothing more. Every key must be read, but for a file's "$schema", by which editors find its schema:
// done() notes each unread key and suggests a known key. A Document and its Readers are used by one thread at a time.
#pragma once
#include <array>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/files.h"
#include "core/input_files.h"
#include "core/json_dialect.h"
#include "core/named.h"
#include "core/nearest_word.h"
#include "core/quantity.h"
#include "core/quantity_text.h"

namespace draftline {

class Reader {
 public:
  std::string place() const;  // file and JSON pointer: "scenario.json#/method/0/draft_length"; root: "scenario.json#"
  const std::filesystem::path& file() const;
  const Files& files() const;          // which hold this document and the documents below it
  const nlohmann::json& json() const;  // the value in the file, without choosing(); null where a read failed
  nlohmann::json chosen() const;       // the value with each list of choosing() replaced by the chosen element

  // Objects. at() reads a required key, find() an optional one; find() returns none if the key is missing. If this
  // value is not an object, both note a mistake.
  Reader at(std::string_view key) const;
  std::optional<Reader> find(std::string_view key) const;
  // A renamed key. The old name is read too, with a note(); both at once are a mistake.
  std::optional<Reader> find(std::string_view key, std::string_view old_key) const;
  Reader at(std::string_view key, std::string_view old_key) const;
  // A key with a synonym; both at once are a mistake.
  std::optional<Reader> find_either(std::string_view key, std::string_view other_key) const;
  bool has(std::string_view key) const;  // the key is suggested in messages, but not read
  // Makes messages suggest these keys too, which have a meaning only together with keys that were not given.
  void suggest(std::initializer_list<std::string_view> keys) const;
  std::vector<std::pair<std::string, Reader>> entries() const;         // all keys, in file order; each counts as read
  std::vector<std::pair<std::string, Reader>> peek_entries() const;    // all keys, in file order; none counts as read
  std::vector<std::pair<std::string, Reader>> unread_entries() const;  // in file order; none counts as read
  void done() const;                                                   // notes every key that was not read

  bool is_array() const;
  bool is_object() const;
  bool is_string() const;
  bool is_number() const;
  bool is_null() const;
  bool is_boolean() const;
  std::vector<Reader> items() const;  // the elements of an array; otherwise none, and a mistake is noted
  std::size_t size() const;           // the length of an array; otherwise 0
  Reader item(std::size_t) const;     // an element of an array; Bug if there is none

  // Values. `least` and `most` are inclusive. A failed read notes the mistake and returns the value nearest to 0 in the
  // range (positive_int() returns 1, text() "", boolean() false).
  std::string text() const;
  bool boolean() const;
  double number(double least = -std::numeric_limits<double>::max(),
                double most = std::numeric_limits<double>::max()) const;
  int integer(int least = std::numeric_limits<int>::min(), int most = std::numeric_limits<int>::max()) const;
  std::int64_t long_integer(std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                            std::int64_t most = std::numeric_limits<std::int64_t>::max()) const;
  int positive_int(int most = 1 << 30) const { return integer(1, most); }
  double ratio() const { return number(0, 1); }  // a share or probability
  std::vector<double> numbers(double least = -std::numeric_limits<double>::max(),
                              double most = std::numeric_limits<double>::max()) const;  // an array of numbers
  // A quantity written as a string with a unit, "3.35 TB/s". It must be at least `least`, by default above 0, and of a
  // magnitude from 1e-30 to 1e30 base units. A failed read returns max(`least`, 0), by default 1 base unit.
  template <class Q>
  Q quantity(std::optional<double> least = std::nullopt) const {
    return Q{quantity_value(unit_dimension<Q>(), least)};
  }
  // One of the words. A failed read notes the nearest word and returns the first.
  std::string_view word(std::span<const std::string_view> words) const { return words[index(words)]; }
  // The value whose name this is. A failed read notes the nearest name and returns the first value.
  template <class T, std::size_t N>
  T value_in(const NamedValues<T, N>& values) const {
    std::array<std::string_view, N> names;
    for (std::size_t i = 0; i < N; ++i) names[i] = values[i].name;
    return values[index(names)].value;
  }
  template <class T, std::size_t N>
  bool is_named_in(const NamedValues<T, N>& values) const {  // whether value_in() notes no mistake
    return is_string() && value_named(values, text()).has_value();
  }

  void fail(std::string message) const;         // notes a mistake at this place
  void note(std::string_view text) const;       // Document::notes(), with this place
  void pass_on(const InputErrors& from) const;  // notes the mistakes of another file unchanged
  // The input files of the document so far: its own file, those opened by Document::below(), and those of note_input().
  const InputFiles& input_files() const;
  void note_input(const std::filesystem::path&, std::uint64_t fingerprint) const;
  bool failed() const;  // whether the document has a mistake so far
  void finish() const;  // throws InputErrors with all mistakes; after the hundredth they are only counted

  // Sweeps. `Reader in = root.choosing({{list, 3}, ...})` reads as if the list were replaced by its fourth element, but
  // messages give places in the file ("scenario.json#/batch_size/3"). The choices hold for all Readers made from `in`,
  // also for lists inside chosen elements. A key counts as read if it was read under any choice. Throws Bug if a choice
  // belongs to another document or is beyond the end of its list.
  struct Choice;
  Reader choosing(const std::vector<Choice>&) const;

 private:
  friend class Document;
  struct State;  // shared by all Readers of a document
  struct Object;
  using Choices = std::vector<std::pair<const nlohmann::json*, std::size_t>>;
  Reader(std::shared_ptr<State>, std::shared_ptr<const Choices>, const nlohmann::json*, std::string pointer);
  Reader below(const nlohmann::json*, std::string_view step) const;
  Object* object() const;  // null, and a mistake is noted, if the value is no object
  std::vector<std::pair<std::string, Reader>> all_entries(bool mark) const;
  bool has_silently(std::string_view key) const;  // like has(), but the key is not suggested in messages
  bool expect(bool holds, std::string_view what) const;
  template <class Message>
  void fail_with(const Message& message) const;
  std::size_t index(std::span<const std::string_view> words) const;  // the index of the word that equals this value
  double quantity_value(Dimension, std::optional<double> least) const;

  std::shared_ptr<State> state_;
  std::shared_ptr<const Choices> choices_;
  const nlohmann::json* value_;  // null below a failed read: nothing more is noted
  std::string pointer_;
};

struct Reader::Choice {
  Reader list;
  std::size_t index;
};

// A parsed JSON file. A file that can't be read, is larger than 64 MiB or is not valid JSON (core/json_parse.h) throws
// InputErrors at once.
class Document {
 public:
  static Document from_file(const std::filesystem::path&, const Files& = disk(), JsonDialect = {});
  // `name`: the file that contains this text. The documents below it are read from `files`.
  static Document from_text(std::string_view text, std::filesystem::path name, const Files& files = disk(),
                            JsonDialect = {});
  // Opens a file to which another document refers; it becomes one of that document's input files.
  static Document below(const Reader& asking, const std::filesystem::path&, JsonDialect = {});
  Reader root() const;
  // Notes to the user that are not mistakes (outdated keys), each once and with its place. Documents below are
  // included.
  const std::vector<std::string>& notes() const;
  void finish() const { root().finish(); }

 private:
  explicit Document(std::shared_ptr<Reader::State>);
  std::shared_ptr<Reader::State> state_;
};

// The text of a file, or of a pipe, that is read once and parsed several times, once per thread. Both functions throw
// InputErrors as Document::from_file() does.
class DocumentText {
 public:
  explicit DocumentText(std::filesystem::path, const Files& = disk());
  Document document(JsonDialect = {}) const;

 private:
  std::filesystem::path file_;
  const Files& files_;
  std::string text_;
};

// The result of `read(Reader)` for a whole file. Throws InputErrors with all mistakes of the file.
template <class Read>
auto read_whole(const Document& document, Read read) {
  auto value = read(document.root());
  document.finish();
  return value;
}
template <class Read>
auto read_file(const std::filesystem::path& file, Read read) {
  return read_whole(Document::from_file(file), read);
}
template <class Read>
auto read_file_below(const Reader& asking, const std::filesystem::path& file, Read read) {
  return read_whole(Document::below(asking, file), read);
}

}  // namespace draftline
