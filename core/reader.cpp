// SPDX-License-Identifier: Apache-2.0
#include "core/reader.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "core/engine_options.h"
#include "core/fingerprint.h"
#include "core/int_indexed.h"
#include "core/json_parse.h"

namespace draftline {

using Json = nlohmann::json;  // Reader::json is a function

static constexpr std::size_t kMostMessages = 100;
static const Json kNull;

struct Reader::Object {
  std::vector<std::string> keys;  // in file order
  std::set<std::string, std::less<>> asked, read;
};

struct Reader::State {
  std::filesystem::path file;
  std::string shown_file;
  Json root;
  std::unordered_map<const Json*, Object> objects;
  std::vector<std::string> messages;
  std::unordered_set<std::string> noted;
  std::size_t unsaid = 0;
  std::set<std::pair<std::string, std::string>> renamed;  // old and new keys: each is noted where it first stands
  const Files* files = nullptr;
  struct Shared {  // with the documents below
    InputFiles input_files;
    std::vector<std::string> notes;
  };
  std::shared_ptr<Shared> shared = std::make_shared<Shared>();

  bool is_full() const { return messages.size() >= kMostMessages; }
  void note(std::string message) {
    if (is_full()) {
      ++unsaid;
    } else if (noted.insert(message).second) {
      messages.push_back(std::move(message));
    }
  }
  std::string place(std::string_view pointer) const { return shown_file + "#" + printable(pointer, 1000); }

  // Gives every object its keys; the tree no longer moves, so addresses are names. Same order as the parser numbered.
  void index(const Json& value, std::vector<std::vector<std::string>>& keys, std::size_t& next) {
    if (value.is_array()) {
      for (const Json& item : value) index(item, keys, next);
    } else if (value.is_object()) {
      Object& o = objects[&value];
      o.keys = std::move(keys[next++]);
      for (const std::string& key : o.keys) index(value.at(key), keys, next);
    }
  }
};

static std::string kind_of(const Json& v) {
  switch (v.type()) {
    case Json::value_t::null: return "null";
    case Json::value_t::boolean: return v.get<bool>() ? "true" : "false";
    case Json::value_t::string: return "the text \"" + printable(v.get_ref<const std::string&>(), 60) + "\"";
    case Json::value_t::array: return "a list";
    case Json::value_t::object: return "an object";
    default: return "the number " + v.dump();
  }
}

static std::string listed(std::span<const std::string_view> words) {
  std::string all;
  for (const std::string_view w : words) all += (all.empty() ? "" : ", ") + in_quotes(w);
  return all;
}

// `number` without a needless fraction: "1", "0.25".
static std::string plain(double number) {
  return std::abs(number) < 1e15 && number == std::floor(number) ? std::to_string(to_int64(number))
                                                                 : Json(number).dump();
}

static std::string beyond(const std::string& bound, const Json& v) {
  return "must be at " + bound + ", got " + v.dump();
}

Reader::Reader(std::shared_ptr<State> state, std::shared_ptr<const Choices> choices, const Json* value,
               std::string pointer)
    : state_(std::move(state)), choices_(std::move(choices)), value_(value), pointer_(std::move(pointer)) {
  if (!choices_ || !value_) return;
  const auto chosen = [&] { return std::ranges::find_if(*choices_, [&](const auto& c) { return c.first == value_; }); };
  for (auto c = chosen(); c != choices_->end(); c = chosen()) {  // the element may be a chosen list itself
    value_ = &(*value_)[c->second];
    pointer_ += "/" + std::to_string(c->second);
  }
}

Reader Reader::below(const Json* value, std::string_view step) const {
  std::string pointer;
  pointer.reserve(pointer_.size() + step.size() + 1);
  pointer.append(pointer_).append("/").append(pointer_step(step));
  return Reader(state_, choices_, value, std::move(pointer));
}

std::string Reader::place() const { return state_->place(pointer_); }
const std::filesystem::path& Reader::file() const { return state_->file; }
const Files& Reader::files() const { return *state_->files; }
const Json& Reader::json() const { return value_ ? *value_ : kNull; }

Json Reader::chosen() const {
  if (!is_object() && !is_array()) return json();
  Json all(json().type());  // a copy of the value would copy its lists, of which one element is chosen
  if (is_object())
    for (const auto& [key, value] : peek_entries()) all[key] = value.chosen();
  else
    for (const Reader& item : items()) all.push_back(item.chosen());
  return all;
}

void Reader::fail(std::string message) const {
  if (value_) state_->note(place() + ": " + std::move(message));
}

void Reader::pass_on(const InputErrors& from) const {
  for (const std::string& message : from.messages()) state_->note(message);
}

void Reader::note(std::string_view text) const {
  std::vector<std::string>& notes = state_->shared->notes;
  std::string whole = place() + ": " + std::string(text);
  if (std::ranges::find(notes, whole) == notes.end()) notes.push_back(std::move(whole));
}

const InputFiles& Reader::input_files() const { return state_->shared->input_files; }
void Reader::note_input(const std::filesystem::path& file, std::uint64_t fingerprint) const {
  state_->shared->input_files.insert_or_assign(file, fingerprint);
}

bool Reader::failed() const { return !state_->messages.empty(); }
void Reader::finish() const {
  if (state_->messages.empty()) return;
  std::vector<std::string> all = state_->messages;
  if (state_->unsaid > 0) all.push_back(state_->shown_file + ": and " + std::to_string(state_->unsaid) + " more");
  throw InputErrors(std::move(all));
}

// Fails with the text of message(), which is not made where mistakes are only counted: a list may have millions.
template <class Message>
void Reader::fail_with(const Message& message) const {
  if (value_ && state_->is_full()) ++state_->unsaid;
  else if (value_) fail(message());
}

bool Reader::expect(bool holds, std::string_view what) const {
  if (!value_) return false;
  if (!holds) fail_with([&] { return "must be " + std::string(what) + ", got " + kind_of(*value_); });
  return holds;
}

Reader::Object* Reader::object() const {
  return expect(is_object(), "an object") ? &state_->objects.at(value_) : nullptr;
}

std::optional<Reader> Reader::find(std::string_view key) const {
  Object* const o = object();
  if (!o) return std::nullopt;
  if (!o->asked.contains(key)) o->asked.emplace(key);
  const auto found = value_->find(key);
  if (found == value_->end()) return std::nullopt;
  if (!o->read.contains(key)) o->read.emplace(key);
  return below(&*found, key);
}

Reader Reader::at(std::string_view key) const {
  if (std::optional<Reader> found = find(key)) return *found;
  if (is_object()) fail("missing key " + in_quotes(key));
  return below(nullptr, key);
}

std::optional<Reader> Reader::find(std::string_view key, std::string_view old_key) const {
  if (const std::optional<Reader> found = find(key)) return found;
  if (!has_silently(old_key)) return std::nullopt;
  const std::optional<Reader> found = find(old_key);
  if (state_->renamed.emplace(old_key, key).second)
    found->note("is called " + in_quotes(key) + " now; the old name is still read");
  return found;
}

Reader Reader::at(std::string_view key, std::string_view old_key) const {
  if (const std::optional<Reader> found = find(key, old_key)) return *found;
  return at(key);
}

std::optional<Reader> Reader::find_either(std::string_view key, std::string_view other_key) const {
  const std::optional<Reader> found = find(key), other = find(other_key);
  if (found && other) other->fail("is " + in_quotes(key) + " by another name; give one of them");
  return found ? found : other;
}

bool Reader::has_silently(std::string_view key) const { return is_object() && value_->contains(key); }

bool Reader::has(std::string_view key) const {
  if (!is_object()) return false;
  Object& o = state_->objects.at(value_);
  if (!o.asked.contains(key)) o.asked.emplace(key);
  return value_->contains(key);
}

void Reader::suggest(std::initializer_list<std::string_view> keys) const {
  for (const std::string_view key : keys) has(key);
}

std::vector<std::pair<std::string, Reader>> Reader::all_entries(bool mark) const {
  std::vector<std::pair<std::string, Reader>> all;
  Object* const o = object();
  if (!o) return all;
  all.reserve(o->keys.size());
  for (const std::string& key : o->keys) {
    if (mark) o->read.insert(key);
    all.emplace_back(key, below(&*value_->find(key), key));
  }
  return all;
}

std::vector<std::pair<std::string, Reader>> Reader::entries() const { return all_entries(true); }
std::vector<std::pair<std::string, Reader>> Reader::peek_entries() const { return all_entries(false); }

std::vector<std::pair<std::string, Reader>> Reader::unread_entries() const {
  auto all = peek_entries();
  if (const Object* const o = object()) std::erase_if(all, [&](const auto& e) { return o->read.contains(e.first); });
  return all;
}

void Reader::done() const {
  const Object* const o = object();
  if (!o) return;
  std::vector<std::string_view> absent, known;  // keys that the object lacks are suggested first
  for (const std::string& key : o->asked) {
    known.push_back(key);
    if (!value_->contains(key)) absent.push_back(key);
  }
  for (const std::string& key : o->keys) {
    if (o->read.contains(key) || (pointer_.empty() && key == "$schema")) continue;
    if (o->asked.contains(key)) {
      below(&*value_->find(key), key).fail("has no meaning beside the other keys here; known: " + listed(known));
      continue;
    }
    const auto advice = key_of_option(key, known) ? std::nullopt : advice_on_option(key);
    std::string hint = advice ? "; " + std::string(*advice) : did_you_mean(key, absent);
    if (hint.empty()) hint = did_you_mean(key, known);
    if (hint.empty() && !known.empty()) hint = "; known here: " + listed(known);
    below(&*value_->find(key), key).fail("unknown key" + hint);
  }
}

bool Reader::is_array() const { return value_ && value_->is_array(); }
bool Reader::is_object() const { return value_ && value_->is_object(); }
bool Reader::is_string() const { return value_ && value_->is_string(); }
bool Reader::is_number() const { return value_ && value_->is_number(); }
bool Reader::is_null() const { return value_ && value_->is_null(); }
bool Reader::is_boolean() const { return value_ && value_->is_boolean(); }

std::vector<Reader> Reader::items() const {
  std::vector<Reader> all;
  if (!expect(is_array(), "a list")) return all;
  all.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i) all.push_back(below(&(*value_)[i], std::to_string(i)));
  return all;
}

std::size_t Reader::size() const { return is_array() ? value_->size() : 0; }
Reader Reader::item(std::size_t i) const {
  check(i < size(), "an item beyond the array's end");
  return below(&(*value_)[i], std::to_string(i));
}

std::string Reader::text() const { return expect(is_string(), "a text") ? value_->get<std::string>() : std::string(); }
bool Reader::boolean() const { return expect(is_boolean(), "true or false") && value_->get<bool>(); }

double Reader::number(double least, double most) const {
  const double harmless = std::clamp(0.0, least, most);
  if (!expect(is_number(), "a number")) return harmless;
  const double v = value_->get<double>();
  if (v >= least && v <= most) return v;
  fail_with([&] { return beyond(v < least ? "least " + plain(least) : "most " + plain(most), *value_); });
  return harmless;
}

std::int64_t Reader::long_integer(std::int64_t least, std::int64_t most) const {
  const std::int64_t harmless = std::clamp<std::int64_t>(0, least, most);
  if (!expect(is_number(), "a whole number")) return harmless;
  const auto out_of_range = [&](bool low) {
    const std::int64_t bound = low ? least : most;
    fail_with([&] { return beyond((low ? "least " : "most ") + std::to_string(bound), *value_); });
    return harmless;
  };
  std::int64_t v = 0;
  if (value_->is_number_float()) {  // 8.0 and 1e3 are whole numbers too
    const double d = value_->get<double>();
    if (!expect(d == std::floor(d), "a whole number")) return harmless;
    if (std::abs(d) >= 0x1p63) return out_of_range(d < 0);
    v = to_int64(d);
  } else if (value_->is_number_unsigned()) {
    const auto u = value_->get<std::uint64_t>();
    if (std::cmp_greater(u, std::numeric_limits<std::int64_t>::max())) return out_of_range(false);
    v = to_int64(u);
  } else {
    v = value_->get<std::int64_t>();
  }
  return v < least || v > most ? out_of_range(v < least) : v;
}

int Reader::integer(int least, int most) const { return to_int(long_integer(least, most)); }

std::vector<double> Reader::numbers(double least, double most) const {
  std::vector<double> all;
  for (const Reader& item : items()) all.push_back(item.number(least, most));
  return all;
}

double Reader::quantity_value(Dimension dimension, std::optional<double> least) const {
  const double harmless = least ? std::max(*least, 0.0) : 1;
  const std::string example(example_of(dimension));
  if (!expect(is_string(), "a text with a unit, such as \"" + example + "\"")) return harmless;
  const auto parsed = parse_quantity(value_->get_ref<const std::string&>(), dimension);
  if (const auto* const wrong = std::get_if<std::string>(&parsed)) {
    fail(printable(*wrong));
    return harmless;
  }
  const double v = std::get<double>(parsed);
  constexpr double kMost = 1e30;  // beyond anything physical; sums and squares of what is smaller stay finite
  const bool physical = std::abs(v) <= kMost && (v == 0 || std::abs(v) >= 1 / kMost);
  if (physical && (least ? v >= *least : v > 0)) return v;
  const std::string bound = !physical ? "between 1e-30 and 1e30 " + std::string(unit_name(dimension))
                            : !least  ? "greater than 0"
                                      : "at least " + plain(*least) + " " + std::string(unit_name(dimension));
  fail("must be " + bound + ", got " + kind_of(*value_));
  return harmless;
}

std::size_t Reader::index(std::span<const std::string_view> words) const {
  if (!expect(is_string(), "a text")) return 0;
  const std::string& word = value_->get_ref<const std::string&>();
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return draftline::at(found - words.begin());
  const std::string hint = did_you_mean(word, words);
  fail("unknown value \"" + word + "\"" + (hint.empty() ? "; known here: " + listed(words) : hint));
  return 0;
}

Reader Reader::choosing(const std::vector<Choice>& choices) const {
  auto all = std::make_shared<Choices>(choices_ ? *choices_ : Choices{});
  for (const Choice& c : choices) {
    check(c.list.state_ == state_, "a choice from another document");
    check(c.list.is_array() && c.index < c.list.value_->size(), "a choice is an element of a list");
    all->emplace_back(c.list.value_, c.index);
  }
  return Reader(state_, std::move(all), value_, pointer_);
}

Document::Document(std::shared_ptr<Reader::State> state) : state_(std::move(state)) {}

DocumentText::DocumentText(std::filesystem::path file, const Files& files)
    : file_(std::move(file)), files_(files), text_(files.text_once(file_)) {}

// A document that is one of its own input files.
static Document noted_document(std::string_view text, const std::filesystem::path& file, const Files& files,
                               JsonDialect dialect) {
  Document document = Document::from_text(text, file, files, dialect);
  Fingerprint fingerprint;
  fingerprint.add(document.root().json().dump(-1, ' ', false, Json::error_handler_t::replace));
  document.root().note_input(file, fingerprint.value());
  return document;
}

Document DocumentText::document(JsonDialect dialect) const { return noted_document(text_, file_, files_, dialect); }
Document Document::from_file(const std::filesystem::path& path, const Files& files, JsonDialect dialect) {
  return noted_document(files.text(path), path, files, dialect);
}

Document Document::below(const Reader& asking, const std::filesystem::path& path, JsonDialect dialect) {
  Document document = from_file(path, asking.files(), dialect);
  asking.state_->shared->input_files.merge(document.state_->shared->input_files);
  document.state_->shared = asking.state_->shared;
  return document;
}

Document Document::from_text(std::string_view text, std::filesystem::path name, const Files& files,
                             JsonDialect dialect) {
  auto state = std::make_shared<Reader::State>();
  state->files = &files;
  state->shown_file = printable(name.string(), 1000);
  state->file = std::move(name);
  ParsedJson parsed = parse_json(text, dialect);
  if (!parsed.error.empty()) throw InputErrors(state->place(parsed.error_pointer) + ": " + parsed.error);
  state->root = std::move(parsed.root);
  std::size_t next = 0;
  state->index(state->root, parsed.keys, next);
  return Document(std::move(state));
}

Reader Document::root() const { return Reader(state_, nullptr, &state_->root, ""); }
const std::vector<std::string>& Document::notes() const { return state_->shared->notes; }

}  // namespace draftline
