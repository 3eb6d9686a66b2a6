// SPDX-License-Identifier: Apache-2.0
// Strict reading of JSON. A Reader is a cursor on one value that knows its file and JSON pointer. Mistakes are
// collected, not thrown, so that a user sees all of them at once: a failed read notes the mistake and returns a
// harmless value, and Document::finish() throws InputErrors with all of them. One mistake, one message: what hangs on a
// failed read (a key of a missing object) is silent. Every key must be read: done() notes those that were not, with a
// "did you mean" from the keys that were asked for. A Document and its Readers belong to one thread.
#pragma once
#include <cstdint>
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

#include "core/errors.h"
#include "core/input_files.h"
#include "core/nearest_word.h"
#include "core/quantity.h"
#include "core/quantity_text.h"

namespace draftline {

class Reader {
 public:
  std::string place() const;  // "scenario.json#/method/0/draft_length"; of the whole file "scenario.json#"
  const std::filesystem::path& file() const;
  const nlohmann::json& json() const;  // null where a read failed; knows nothing of choosing()
  nlohmann::json chosen() const;       // the same, with what was chosen in place of each list

  // Objects. at() notes a missing key; find() marks the key as known without demanding it. On anything but an object
  // both note a mistake, once.
  Reader at(std::string_view key) const;
  std::optional<Reader> find(std::string_view key) const;
  // A key that had another name: the old one is read too, and noted (Document::notes); both at once are a mistake.
  std::optional<Reader> find(std::string_view key, std::string_view old_key) const;
  Reader at(std::string_view key, std::string_view old_key) const;
  // A key with another name that is as good, and known to hints too; both at once are a mistake.
  std::optional<Reader> find_either(std::string_view key, std::string_view other_key) const;
  bool has(std::string_view key) const;                         // marks the key as known, not as read
  std::vector<std::pair<std::string, Reader>> entries() const;  // all keys, in file order; each counts as read
  std::vector<std::pair<std::string, Reader>> look() const;     // the same, but none counts as read: for a walk ahead
  void done() const;                                            // every key not read is a mistake

  // Arrays
  bool is_array() const;
  bool is_object() const;
  bool is_string() const;
  bool is_number() const;
  bool is_null() const;
  bool is_boolean() const;
  std::vector<Reader> items() const;  // notes a mistake if this is no array
  std::size_t size() const;           // of an array, else 0
  Reader item(std::size_t) const;     // of an array that has it

  // Values. The range is inclusive; NaN and infinity can't be written in JSON and are refused from text too. Where a
  // read fails, the value returned lies in the range: the one nearest to 0, for positive_int 1.
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
  // A string with a unit, "3.35 TB/s". A zero or negative one is refused unless `least` (inclusive) says otherwise, and
  // so is one beyond 1e30 or below 1e-30 base units. Where the read fails: `least`, else 1 base unit.
  template <class Q>
  Q quantity(std::optional<double> least = std::nullopt) const {
    return Q{quantity_value(unit_dimension<Q>(), least)};
  }
  // One of a list of words (its index); the mistake names the nearest. 0 where the read fails.
  std::size_t choice(std::span<const std::string_view> words) const;

  void fail(std::string message) const;         // notes a mistake at this place
  void pass_on(const InputErrors& from) const;  // notes mistakes of another file as they are
  // The files behind the document so far: itself, and what was opened `below` it or noted here.
  const InputFiles& input_files() const;
  void note_input(const std::filesystem::path&, std::uint64_t fingerprint) const;
  bool failed() const;  // has the document any mistake so far?
  void finish() const;  // throws InputErrors if it has; after a hundred of them it only counts

  // Sweeps. `Reader in = root.choosing({{list, 3}, ...})` reads as if the fourth element stood where the list stands,
  // while places stay those of the file ("scenario.json#/batch_size/3"). The choices hold for all Readers made from
  // `in`, also for lists inside chosen elements. Keys count as read for the document, whichever choice read them.
  struct Choice;
  Reader choosing(const std::vector<Choice>&) const;

 private:
  friend class Document;
  struct State;  // shared by all Readers of a document
  struct Object;
  using Choices = std::vector<std::pair<const nlohmann::json*, std::size_t>>;
  Reader(std::shared_ptr<State>, std::shared_ptr<const Choices>, const nlohmann::json*, std::string pointer);
  Reader below(const nlohmann::json*, std::string_view step) const;
  Object* object() const;  // null and a mistake if this is none
  std::vector<std::pair<std::string, Reader>> all_entries(bool mark) const;
  bool has_silently(std::string_view key) const;  // without making the name known to hints
  bool expect(bool holds, std::string_view what) const;
  double quantity_value(Dimension, std::optional<double> least) const;

  std::shared_ptr<State> state_;
  std::shared_ptr<const Choices> choices_;
  const nlohmann::json* value_;  // null: silent
  std::string pointer_;
};

struct Reader::Choice {
  Reader list;
  std::size_t index;
};

// A parsed file. Refuses what core/json_parse.h says, and files over `most_bytes`; a file that is no JSON at all throws
// at once.
class Document {
 public:
  static Document from_file(const std::filesystem::path&, std::size_t most_bytes = std::size_t{64} << 20);
  static Document from_text(std::string_view text, std::filesystem::path name);
  // A file that another document asks for: it counts among that one's input files.
  static Document below(const Reader& asking, const std::filesystem::path&);
  Reader root() const;
  // What a user should know though it is no mistake, each with its place.
  const std::vector<std::string>& notes() const;
  void finish() const { root().finish(); }

 private:
  explicit Document(std::shared_ptr<Reader::State>);
  std::shared_ptr<Reader::State> state_;
};

// A file that is read once, though several documents are made of it (one for each thread): a pipe can't be read again.
class DocumentText {
 public:
  explicit DocumentText(std::filesystem::path, std::size_t most_bytes = std::size_t{64} << 20);
  Document document() const;

 private:
  std::filesystem::path file_;
  std::string text_;
};

// What `read(Reader)` makes of a whole file; InputErrors with all of its mistakes.
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
