// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_acceptance.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/reader.h"
#include "core/text_file.h"

namespace draftline {

namespace {

constexpr double kLongest = 1024;  // drafts
constexpr int kMostPositions = 1024;

std::optional<ServedAcceptance> of_benchmark(const Reader& in) {
  ServedAcceptance a;
  if (const auto shares = in.find("spec_decode_per_position_acceptance_rates"); shares && shares->is_array())
    a.per_position = shares->numbers(0, 1);
  for (const char* key : {"spec_decode_acceptance_length", "accept_length"})
    if (const auto length = in.find(key); length && length->is_number())
      a.mean_length = length->number(1, kLongest + 1);
  if (a.per_position.empty() && a.mean_length == 1) return std::nullopt;
  return a;
}

// A line of a Prometheus exposition: name{label="value",..} value
struct Sample {
  std::string_view name, labels;
  double value = 0;
};
std::optional<Sample> sample_of(std::string_view line) {
  if (line.empty() || line.front() == '#') return std::nullopt;
  const std::size_t brace = line.find('{'), end = brace == line.npos ? line.find(' ') : line.find('}', brace);
  if (end == line.npos) return std::nullopt;
  Sample s{line.substr(0, std::min(brace, end)), brace == line.npos ? "" : line.substr(brace + 1, end - brace - 1), 0};
  std::string_view rest = line.substr(end + 1);
  while (rest.starts_with(' ')) rest.remove_prefix(1);
  const auto [after, error] = std::from_chars(rest.data(), rest.data() + rest.size(), s.value);
  if (error != std::errc() || !std::isfinite(s.value) || s.value < 0) return std::nullopt;
  return s;
}

std::optional<int> position_of(std::string_view labels) {
  constexpr std::string_view key = "position=\"";
  const std::size_t at = labels.find(key);
  int position = -1;
  if (at == labels.npos) return std::nullopt;
  const auto [after, error] = std::from_chars(labels.data() + at + key.size(), labels.data() + labels.size(), position);
  if (error != std::errc() || position < 0 || position >= kMostPositions) return std::nullopt;
  return position;
}

std::optional<ServedAcceptance> of_metrics(std::string_view text) {
  double drafts = 0, drafted = 0, accepted = 0, gauges = 0;
  int gauged = 0;
  std::map<int, double> by_position;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto sample = sample_of(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!sample) continue;
    std::string_view name = sample->name.substr(std::min(sample->name.find(':') + 1, sample->name.size()));
    if (name.ends_with("_total")) name.remove_suffix(6);
    if (name == "spec_decode_num_drafts") drafts += sample->value;
    if (name == "spec_decode_num_draft_tokens") drafted += sample->value;
    if (name == "spec_decode_num_accepted_tokens") accepted += sample->value;
    if (name == "spec_accept_length" && sample->value >= 1) gauges += sample->value, ++gauged;
    if (name == "spec_decode_num_accepted_tokens_per_pos")
      if (const auto position = position_of(sample->labels)) by_position[*position] += sample->value;
  }
  ServedAcceptance a;
  if (drafts > 0) {
    a.mean_length = 1 + std::min(accepted / drafts, kLongest);
    a.draft_length = whole_draft_length(drafted / drafts);
    for (const auto& [position, times] : by_position)
      if (position == count(a.per_position)) a.per_position.push_back(std::min(times / drafts, 1.0));
    while (!a.per_position.empty() && a.per_position.back() == 0) a.per_position.pop_back();  // deeper than is drafted
  } else if (gauged > 0) {
    a.mean_length = std::min(gauges / gauged, kLongest + 1);
  }
  if (a.per_position.empty() && a.mean_length == 1) return std::nullopt;
  return a;
}

}  // namespace

std::optional<int> whole_draft_length(double mean) {
  constexpr double kWhole = 0.02;
  if (!(mean > 0.5) || mean > kLongest || std::abs(mean - std::round(mean)) > kWhole * std::round(mean))
    return std::nullopt;
  return static_cast<int>(std::round(mean));
}

ServedAcceptance ServedAcceptance::read(const std::filesystem::path& file, const Files& files) {
  const std::string text = files.text(file);
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  std::optional<ServedAcceptance> a;
  if (first != text.npos && text[first] == '{') {
    const std::size_t line = text.find('\n', first);
    const bool lines = line != text.npos && text.find_first_not_of(" \t\r", line + 1) != text.npos &&
                       text[text.find_first_not_of(" \t\r", line + 1)] == '{';  // a run a line: the last counts
    const std::size_t last = text.find_last_not_of(" \t\r\n"), begin = text.rfind('\n', last);
    const std::string_view one =
        lines ? std::string_view(text).substr(begin + 1, last - begin) : std::string_view(text);
    const Document d = Document::from_text(one, file);
    a = of_benchmark(d.root());
    if (d.root().failed()) d.finish();
  } else {
    a = of_metrics(text);
  }
  if (!a)
    throw InputErrors(
        printable_path(file) +
        ": says nothing of acceptance: neither the result of a benchmark that speculated nor metrics of a "
        "server that did");
  return *a;
}

}  // namespace draftline
