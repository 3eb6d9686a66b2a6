// SPDX-License-Identifier: Apache-2.0
// What a command line says of a file of served runs (served_formats.h).
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "core/errors.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "core/quantity_text.h"
#include "inputs/served_formats.h"

namespace draftline {

ServedArguments::ServedArguments(const std::string& argument, std::size_t at) : argument_(argument) {
  static constexpr std::array<std::string_view, 8> keys{
      "batch", "context", "prompt", "output", "transformer", "precision", "tensor_parallel", "acceptance_length"};
  while (at < argument.size()) {
    const std::size_t end = std::min(argument.find(',', at), argument.size()), equals = argument.find('=', at);
    const std::string key = argument.substr(at, std::min(equals, end) - at);
    if (equals >= end) fail("\"" + key + "\" has no value: write " + key + "=...");
    if (std::find(keys.begin(), keys.end(), key) == keys.end())
      fail("unknown key \"" + key + "\"" + did_you_mean(key, keys));
    if (!values_.emplace(key, argument.substr(equals + 1, end - equals - 1)).second) fail(key + " is given twice");
    at = end + 1;
  }
}

std::optional<std::string> ServedArguments::text(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<double> ServedArguments::number(const std::string& key, double least, double most) const {
  const auto given = text(key);
  if (!given) return std::nullopt;
  double v = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), v);
  if (error != std::errc() || end != given->data() + given->size() || !(v >= least && v <= most))
    fail(key + " must be a number from " + std::to_string(std::llround(least)) + " to " +
         std::to_string(std::llround(most)) + ", got \"" + *given + "\"");
  return v;
}

void ServedArguments::complete(ServedRun& run) const {
  if (const auto given = number("batch", 1, kMostServedSequences)) run.batch_size = *given;
  if (const auto given = number("context", 0, kMostServedLength)) run.context = *given;
  if (const auto given = text("transformer")) run.transformer = *given;
  if (const auto given = text("precision")) run.precision = *given;
  if (const auto given = number("tensor_parallel", 1, 1024)) run.tensor_parallel = static_cast<int>(*given);
  if (const auto given = number("acceptance_length", 1, 1024)) {
    run.time = (*given / run.tokens_per_step) * run.time;
    run.tokens_per_step = *given;
  }
}

void ServedArguments::fail(const std::string& what) const {
  throw InputErrors(printable(argument_, 1000) + ": " + what);
}

}  // namespace draftline
