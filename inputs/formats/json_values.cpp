// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/json_values.h"

#include <algorithm>
#include <string>

#include "core/json_parse.h"
#include "inputs/formats/log_line.h"

namespace draftline {

namespace {

constexpr std::string_view kBlank = " \t\r\n", kEvent = "data: ";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlank), last = text.find_last_not_of(kBlank);
  return first == text.npos ? std::string_view() : text.substr(first, last - first + 1);
}

// Whether a text begins with an object or an array of objects. A time in brackets, as logs begin, is neither.
bool begins_as_json(std::string_view text) {
  text = trimmed(text);
  if (!text.starts_with('[')) return text.starts_with('{');
  text = trimmed(text.substr(1));
  return text.starts_with('{') || text.starts_with(']');
}

// A line of JSON lines is a whole object.
bool is_whole_object(std::string_view line) {
  line = trimmed(line);
  return line.starts_with('{') && line.ends_with('}');
}

bool has_lines(std::string_view text, std::filesystem::path file) {
  if (file.extension() == ".gz") file.replace_extension();
  if (file.extension() == ".jsonl") return true;
  text = trimmed(text);
  const auto first = next_line(text), second = next_line(text);
  return first && second && is_whole_object(*first) && trimmed(*second).starts_with('{');
}

}  // namespace

std::vector<Document> json_documents(std::string_view text, const std::filesystem::path& file) {
  const bool events = trimmed(text).starts_with(kEvent);
  std::vector<Document> all;
  if (!events && !begins_as_json(text) && file.extension() != ".json") return all;
  if (!events && !has_lines(text, file)) {
    all.push_back(Document::from_text(text, file));
    return all;
  }
  for (int number = 1;; ++number) {
    const auto line = next_line(text);
    if (!line) return all;
    std::string_view value = trimmed(*line);
    if (events && !value.starts_with(kEvent)) continue;
    if (events) value.remove_prefix(kEvent.size());
    if (value.empty() || (events && !value.starts_with('{'))) continue;  // as "[DONE]"
    all.push_back(Document::from_text(value, file.string() + ":" + std::to_string(number)));
  }
}

std::string parquet_hint(const std::filesystem::path& file) {
  std::filesystem::path csv = file;
  csv.replace_extension(".csv");
  const auto name = [](const std::filesystem::path& path) { return printable(path.filename().string()); };
  return printable(file.string(), 1000) + ": Parquet is not read; convert it, as with duckdb -c \"copy '" + name(file) +
         "' to '" + name(csv) + "'\"";
}

std::vector<Reader> json_values(const std::vector<Document>& documents) {
  std::vector<Reader> all;
  for (const Document& document : documents) {
    const Reader root = document.root();
    if (!root.is_array()) {
      all.push_back(root);
      continue;
    }
    const auto items = root.items();
    all.insert(all.end(), items.begin(), items.end());
  }
  return all;
}

}  // namespace draftline
