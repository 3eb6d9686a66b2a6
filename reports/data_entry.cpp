// SPDX-License-Identifier: Apache-2.0
#include "reports/data_entry.h"

#include <algorithm>
#include <array>

#include "core/printable.h"

namespace draftline {

namespace {

using EntryJson = nlohmann::ordered_json;

constexpr std::array<std::string_view, 4> kOriginKeys{"kind", "source", "locator", "because"};
constexpr std::size_t kMostElements = 12;  // of a list that is shown in full

std::string text_at(const EntryJson& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

DataOrigin origin_in(const EntryJson& object, const DataOrigin& above) {
  DataOrigin own{text_at(object, "kind"), text_at(object, "source"), text_at(object, "locator"),
                 text_at(object, "because")};
  if (own == DataOrigin{}) return above;
  if (own.source.empty() && own.kind.empty()) {  // a reason alone
    own.kind = above.kind;
    own.source = above.source;
    own.locator = own.locator.empty() ? above.locator : own.locator;
  }
  return own;
}

bool is_plain(const EntryJson& value) { return !value.is_object() && !value.is_array(); }

std::string plain_text(const EntryJson& value) {
  return printable(value.is_string() ? value.get<std::string>() : value.dump());
}

std::string list_text(const EntryJson& list) {
  std::string text;
  std::size_t shown = 0;
  for (const EntryJson& one : list) {
    if (++shown > kMostElements) return text + ", .. (" + std::to_string(list.size()) + " in all)";
    text += (text.empty() ? "" : ", ") + plain_text(one);
  }
  return text.empty() ? "none" : text;
}

bool is_plain_list(const EntryJson& value) {
  return value.is_array() && std::all_of(value.begin(), value.end(), [](const EntryJson& v) { return is_plain(v); });
}

// Such as a covariance: rows of numbers that nobody reads.
bool is_matrix(const EntryJson& value) {
  return !is_plain(value) && value.size() > 4 && std::all_of(value.begin(), value.end(), [&](const EntryJson& row) {
    return is_plain_list(row) && row.size() == value.size();
  });
}

// Such as measured points: objects with the same keys, whose values are in the file.
bool is_long_table(const EntryJson& value) {
  constexpr std::size_t kMostRows = 6;
  return value.is_array() && value.size() > kMostRows &&
         std::all_of(value.begin(), value.end(), [&](const EntryJson& row) {
           return row.is_object() && !row.empty() && row.size() == value.front().size();
         });
}

std::string keys_text(const EntryJson& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) text += (text.empty() ? "" : ", ") + printable(key);
  return text;
}

class FileWalk {
 public:
  void walk(const EntryJson& value, const std::string& key, const DataOrigin& above) {
    if (is_plain(value)) return add(key, plain_text(value), above);
    if (is_matrix(value))
      return add(key, std::to_string(value.size()) + " x " + std::to_string(value.size()) + " numbers", above);
    if (is_plain_list(value)) return add(key, list_text(value), above);
    if (is_long_table(value))
      return add(key, std::to_string(value.size()) + " rows of " + keys_text(value.front()), above);
    if (value.is_array()) {
      for (std::size_t i = 0; i < value.size(); ++i) walk(value[i], join(key, std::to_string(i)), above);
      return;
    }
    const DataOrigin own = origin_in(value, above);
    const bool wraps = value.contains("value");
    if (wraps) add(key, wrapped_text(value), own);
    for (const auto& [name, member] : value.items()) {
      const bool said = std::ranges::find(kOriginKeys, name) != kOriginKeys.end() && member.is_string();
      if (said || name == "draftline_source" || (wraps && (name == "value" || name == "low" || name == "high")))
        continue;
      walk(member, join(key, name), own);
    }
  }
  std::vector<DataValue> take() { return std::move(values_); }

 private:
  static std::string join(const std::string& key, const std::string& step) {
    return key.empty() ? step : key + "/" + step;
  }
  static std::string any_text(const EntryJson& value) {
    return is_plain(value) ? plain_text(value) : is_plain_list(value) ? list_text(value) : value.dump();
  }
  static std::string wrapped_text(const EntryJson& value) {
    std::string text = any_text(value.at("value"));
    if (value.contains("low") && value.contains("high"))
      text += " (" + any_text(value.at("low")) + " to " + any_text(value.at("high")) + ")";
    return text;
  }
  void add(const std::string& key, std::string text, const DataOrigin& origin) {
    values_.push_back({printable(key), std::move(text), origin});
  }

  std::vector<DataValue> values_;
};

std::string origin_text(const DataOrigin& o) {
  std::string text = o.kind.empty() ? "stated" : o.kind;
  if (!o.source.empty()) text += ", " + o.source;
  if (!o.locator.empty()) text += ": " + o.locator;
  if (!o.because.empty()) text += "; " + o.because;
  return printable(text, 2000);
}

}  // namespace

std::vector<DataValue> values_of_file(const EntryJson& file) {
  FileWalk walk;
  DataOrigin whole;
  if (const auto found = file.find("draftline_source"); found != file.end()) whole = origin_in(*found, {});
  walk.walk(file, "", whole);
  return walk.take();
}

std::string data_values_text(const std::vector<DataValue>& values) {
  std::size_t widest = 0;
  for (const DataValue& v : values) widest = std::max(widest, v.key.size());
  std::string text;
  const DataOrigin* last = nullptr;
  for (const DataValue& v : values) {
    if (last == nullptr || v.origin != *last) text += "\n" + origin_text(v.origin) + "\n";
    last = &v.origin;
    text += "  " + v.key + std::string(widest - v.key.size() + 2, ' ') + v.text + "\n";
  }
  return text;
}

std::string guesses_text(const std::vector<DataValue>& values) {
  std::string text;
  for (const DataValue& v : values)
    if (v.origin.kind == "guess")
      text += "  " + v.key + (v.origin.because.empty() ? "" : ": " + printable(v.origin.because, 2000)) + "\n";
  return "\nGuesses" + (text.empty() ? ": none\n" : "\n" + text);
}

std::set<std::string> sources_in(const std::vector<DataValue>& values) {
  std::set<std::string> keys;
  for (const DataValue& v : values)
    if (!v.origin.source.empty()) keys.insert(v.origin.source);
  return keys;
}

std::string sources_text(const std::set<std::string>& keys, const EntryJson& sources) {
  std::string text = keys.empty() ? "" : "\nSources\n";
  for (const std::string& key : keys) {
    const auto found = sources.find(key);
    if (found == sources.end()) continue;
    const EntryJson year = found->value("year", EntryJson());
    text += "  " + key + ": " + text_at(*found, "authors") + ", " + text_at(*found, "title") +
            (year.is_null() ? "" : ", " + plain_text(year)) + "; " + text_at(*found, "version") + "; " +
            text_at(*found, "link") + "\n";
  }
  return text;
}

}  // namespace draftline
