// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/exposition.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>

namespace draftline {

// The end of the labels that begin behind `brace`. A label's value is in quotes and may hold a brace.
static std::size_t end_of_labels(std::string_view line, std::size_t brace) {
  bool quoted = false;
  for (std::size_t i = brace + 1; i < line.size(); ++i) {
    if (quoted && line[i] == '\\') ++i;
    else if (line[i] == '"') quoted = !quoted;
    else if (line[i] == '}' && !quoted) return i;
  }
  return line.npos;
}

std::optional<MetricSample> metric_sample(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const std::size_t brace = line.find('{'), end = brace == line.npos ? line.find(' ') : end_of_labels(line, brace);
  if (end == line.npos) return std::nullopt;
  MetricSample s{line.substr(0, std::min(brace, end)),
                 brace == line.npos ? "" : line.substr(brace + 1, end - brace - 1), 0};
  std::string_view rest = line.substr(end + 1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), s.value);
  if (error != std::errc() || !std::isfinite(s.value) || s.value < 0) return std::nullopt;
  return s;
}

std::optional<std::string_view> label_of(std::string_view labels, std::string_view label) {
  const std::string key = std::string(label) + "=\"";
  const std::size_t at = labels.find(key);
  if (at == labels.npos) return std::nullopt;
  const std::string_view value = labels.substr(at + key.size());
  return value.substr(0, value.find('"'));
}

std::optional<int> position_of(std::string_view label) {
  int position = -1;
  const auto [after, error] = std::from_chars(label.data(), label.data() + label.size(), position);
  return error == std::errc() && position >= 0 ? std::optional(position) : std::nullopt;
}

}  // namespace draftline
