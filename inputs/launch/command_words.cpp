// SPDX-License-Identifier: Apache-2.0
#include "inputs/launch/command_words.h"

#include <algorithm>
#include <array>
#include <optional>

#include "inputs/formats/log_line.h"

namespace draftline {

namespace {

std::string_view trimmed(std::string_view text, std::string_view blanks) {
  const std::size_t first = text.find_first_not_of(blanks), last = text.find_last_not_of(blanks);
  return first == text.npos ? std::string_view() : text.substr(first, last - first + 1);
}

std::size_t indentation(std::string_view line) { return std::min(line.find_first_not_of(' '), line.size()); }

// The value behind "key:" of a YAML line, perhaps an item of a list; none if the line has another key.
std::optional<std::string_view> value_of(std::string_view line, std::string_view key) {
  line = trimmed(line, " \t\r");
  if (line.starts_with("- ")) line = trimmed(line.substr(2), " ");
  if (!line.starts_with(key) || !line.substr(key.size()).starts_with(':')) return std::nullopt;
  return trimmed(line.substr(key.size() + 1), " ");
}

// The text below the keys of a container's command, without the marks of YAML; the image beside it.
struct Yaml {
  std::string command, image;
};
Yaml read_yaml(std::string_view text) {
  constexpr std::array<std::string_view, 3> kKeys{"entrypoint", "command", "args"};
  Yaml yaml;
  bool inside = false;    // a key's value goes on
  std::size_t outer = 0;  // indentation of that key
  while (const auto line = next_line(text)) {
    if (trimmed(*line, " \t\r").empty() || trimmed(*line, " \t\r").starts_with('#')) continue;
    const std::size_t indent = indentation(*line);
    const bool item = line->substr(indent).starts_with("- ");
    if (inside && (indent > outer || (item && indent == outer))) {
      std::string_view value = trimmed(*line, " \t\r");
      if (item) value = trimmed(value.substr(2), " ");
      (yaml.command += value) += '\n';
      continue;
    }
    inside = false;
    if (const auto image = value_of(*line, "image")) yaml.image = std::string(trimmed(*image, "\"'"));
    for (const std::string_view key : kKeys)
      if (auto value = value_of(*line, key)) {
        inside = true;
        outer = indent;
        if (!value->empty() && (value->front() == '>' || value->front() == '|')) value = std::string_view();
        (yaml.command += *value) += '\n';
      }
  }
  return yaml;
}

// The end of an object of JSON that begins at `text`: behind its last brace, or the text's end.
std::size_t end_of_object(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\') ++i;
    else if (text[i] == '"') quoted = !quoted;
    else if (!quoted && text[i] == '{') ++depth;
    else if (!quoted && text[i] == '}' && --depth == 0) return i + 1;
  }
  return text.size();
}

// Splits as a shell does: quotes hold blanks, a backslash holds the next character, one before a line's end joins
// lines. An object of JSON without quotes around it stays one word. In a list, brackets and commas between words are
// blanks.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> words;
  const bool list = trimmed(text, " \t\r\n").starts_with('[');
  bool inside = false;
  char quote = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    const bool opens = quote == 0 && (c == '\'' || c == '"'), closes = quote != 0 && c == quote;
    if (c == '\\' && quote != '\'' && i + 1 < text.size()) {
      ++i;
      const bool joins = text[i] == '\n' || (text[i] == '\r' && i + 1 < text.size() && text[i + 1] == '\n');
      if (text[i] == '\r' && joins) ++i;
      if (joins) continue;
      if (!inside) words.emplace_back();
      inside = true;
      words.back() += text[i];
      continue;
    }
    const bool blank =
        quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r' || (list && (c == '[' || c == ']' || c == ',')));
    if (blank) {
      inside = false;
      continue;
    }
    if (!inside) words.emplace_back();
    inside = true;
    if (quote == 0 && c == '{' && (words.back().empty() || words.back().ends_with('='))) {
      const std::size_t end = i + end_of_object(text.substr(i));
      words.back() += text.substr(i, end - i);
      i = end - 1;
      continue;
    }
    if (opens) quote = c;
    else if (closes) quote = 0;
    else words.back() += c;
  }
  return words;
}

}  // namespace

CommandText command_words(std::string_view text) {
  CommandText command;
  Yaml yaml = read_yaml(text);
  command.image = yaml.image;
  // Each value of a container is split by itself: "command" may be a list and "args" a block.
  std::string_view rest = yaml.command.empty() ? text : std::string_view(yaml.command);
  if (yaml.command.empty()) {
    command.words = split(text);
  } else {
    std::string block;
    const auto flush = [&] {
      for (std::string& word : split(block)) command.words.push_back(std::move(word));
      block.clear();
    };
    while (const auto line = next_line(rest)) {
      const bool whole_list = line->starts_with('[') && line->ends_with(']');
      if (whole_list) flush();
      (block += *line) += '\n';
      if (whole_list) flush();
    }
    flush();
  }
  // sh -c "vllm serve .."
  std::vector<std::string> words;
  for (std::string& word : command.words)
    if (word.find("vllm serve ") != word.npos || word.find("launch_server ") != word.npos ||
        word.find("trtllm-serve ") != word.npos || word.find("llama-server ") != word.npos)
      for (std::string& part : split(word)) words.push_back(std::move(part));
    else words.push_back(std::move(word));
  command.words = std::move(words);
  return command;
}

}  // namespace draftline
