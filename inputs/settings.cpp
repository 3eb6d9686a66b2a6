// SPDX-License-Identifier: Apache-2.0
#include "inputs/settings.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/errors.h"
#include "core/json_in_order.h"
#include "core/json_parse.h"

namespace draftline {

namespace {

using SettingJson = nlohmann::ordered_json;

struct Setting {
  std::vector<std::string> path;
  SettingJson value;
};

// The pointer to the value at the end of the first `steps`.
std::string pointer_of(const std::vector<std::string>& path, std::size_t steps) {
  std::string text = "#";
  for (std::size_t i = 0; i < steps; ++i) text += "/" + pointer_step(path[i]);
  return text;
}

[[noreturn]] void refuse_setting(const std::string& text, const std::string& why) {
  throw InputErrors("--set " + printable(text) + ": " + why);
}

// The steps of "a.b.0", or of the pointer "/a/b.c/0".
std::vector<std::string> setting_steps(std::string_view key) {
  const bool is_pointer = key.starts_with('/');
  const char separator = is_pointer ? '/' : '.';
  if (is_pointer) key.remove_prefix(1);
  std::vector<std::string> steps;
  for (;;) {
    const std::size_t end = std::min(key.find(separator), key.size());
    std::string step(key.substr(0, end));
    if (is_pointer)
      for (const auto& [escaped, character] : {std::pair("~1", "/"), std::pair("~0", "~")})
        for (auto at = step.find(escaped); at != step.npos; at = step.find(escaped, at + 1))
          step.replace(at, 2, character);
    steps.push_back(std::move(step));
    if (end == key.size()) return steps;
    key.remove_prefix(end + 1);
  }
}

SettingJson value_of_setting(const std::string& setting, const std::string& value) {
  const ParsedJson parsed = parse_json(value);
  if (parsed.error.empty()) return json_in_order(value);
  if (value.starts_with('[') || value.starts_with('{') || value.starts_with('"'))
    refuse_setting(setting, "the value is not JSON (" + parsed.error + ")");
  return value;
}

Setting read_setting(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == text.npos || equals == 0) refuse_setting(text, "must be KEY=VALUE, as batch_size=8");
  Setting s{setting_steps(std::string_view(text).substr(0, equals)), value_of_setting(text, text.substr(equals + 1))};
  if (s.path.size() > kDeepestJson) refuse_setting(text, "is nested deeper than " + std::to_string(kDeepestJson));
  for (const std::string& step : s.path)
    if (step.empty()) refuse_setting(text, "has a key without a name");
  return s;
}

std::string kind_of(const SettingJson& value) {
  return value.is_string() ? "a text" : value.is_boolean() ? "true or false" : "a number";
}

void apply_setting(const std::string& text, const Setting& s, SettingJson& root) {
  SettingJson* at = &root;
  for (std::size_t i = 0; i < s.path.size(); ++i) {
    const std::string& step = s.path[i];
    if (at->is_array()) {
      std::size_t index = 0;
      const char* end = step.data() + step.size();
      const auto [rest, error] = std::from_chars(step.data(), end, index);
      if (rest != end || error != std::errc() || index >= at->size())
        refuse_setting(text, pointer_of(s.path, i) + " is a list of " + std::to_string(at->size()) +
                                 ": an element's number, from 0 on, must follow it");
      at = &(*at)[index];
    } else if (at->is_object() || at->is_null()) {
      at = &(*at)[step];
    } else {
      refuse_setting(text, pointer_of(s.path, i) + " is " + kind_of(*at) + ", which has no keys");
    }
  }
  *at = s.value;
}

}  // namespace

std::string with_settings(const std::string& scenario, const std::vector<std::string>& settings) {
  if (settings.empty() || !parse_json(scenario).error.empty()) return scenario;
  SettingJson root = json_in_order(scenario);
  std::vector<std::string> mistakes;
  for (const std::string& text : settings) try {
      apply_setting(text, read_setting(text), root);
    } catch (const InputErrors& e) { mistakes.insert(mistakes.end(), e.messages().begin(), e.messages().end()); }
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
  return root.dump(2, ' ', false, SettingJson::error_handler_t::replace) + "\n";
}

std::vector<std::string> naming_settings(std::vector<std::string> messages, const std::vector<std::string>& settings) {
  for (const std::string& text : settings) {
    const std::vector<std::string> path = setting_steps(std::string_view(text).substr(0, text.find('=')));
    const std::string pointer = pointer_of(path, path.size());
    for (std::string& message : messages) {
      const std::size_t at = message.find(pointer), behind = at + pointer.size();
      if (at != message.npos && behind < message.size() && (message[behind] == ':' || message[behind] == '/'))
        message += " (--set " + printable(text) + ")";
    }
  }
  return messages;
}

}  // namespace draftline
