// SPDX-License-Identifier: Apache-2.0
#include "gate/inputs.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/text_file.h"

namespace draftline::gate {

namespace {

namespace fs = std::filesystem;
using Tree = nlohmann::json;

constexpr std::size_t kLongList = 8, kMostValues = 400;

// Whether a member changes no prediction: a text for people or, at the root, the program that wrote the file.
bool is_prose(const std::string& key, bool at_root) {
  static constexpr std::array<std::string_view, 8> kProse{"source",  "locator",  "note", "title",
                                                          "because", "question", "kind", "commit"};
  if (at_root && (key == "model" || key == "input_files")) return true;
  return std::ranges::find(kProse, key) != kProse.end();
}

std::string fingerprint_of(const Tree& j) {
  Fingerprint f;
  f.add(j.dump(-1, ' ', false, Tree::error_handler_t::replace));
  return to_hex(f.value());
}

// `deepest`: the depth below which an object or list is one value.
void collect(const Tree& j, const std::string& place, int deepest, std::map<std::string, std::string>& values) {
  const bool numbers = j.is_array() && std::ranges::all_of(j, [](const Tree& x) { return x.is_primitive(); });
  if (j.is_primitive()) {
    values[place] = j.is_string() ? j.get<std::string>() : j.dump();
  } else if (deepest == 0 || (numbers && j.size() > kLongList)) {
    values[place] = std::to_string(j.size()) + " values, " + fingerprint_of(j);
  } else if (numbers) {
    values[place] = j.dump();
  } else {
    for (const auto& [key, value] : j.items())
      if (j.is_array() || !is_prose(key, place.empty()))
        collect(value, place.empty() ? key : place + "/" + key, deepest - 1, values);
  }
}

InputContent content_of(const fs::path& file, std::uint64_t fingerprint) {
  InputContent c{to_hex(fingerprint), {}};
  if (file.extension() != ".json") return c;
  const Tree j = Tree::parse(read_text_file(file), nullptr, false);
  for (int deepest = 12; deepest > 0; --deepest) {
    c.values.clear();
    collect(j, "", deepest, c.values);
    if (c.values.size() <= kMostValues) break;
  }
  return c;
}

using Values = std::map<std::string, std::string>;

// The values of `a` that `b` lacks. Where `b` lacks a whole object or list, its place with the number of its values.
Values only_in(const Values& a, const Values& b) {
  const auto has_below = [](const Values& values, const std::string& place) {
    const auto next = values.lower_bound(place + "/");
    return values.contains(place) || (next != values.end() && next->first.starts_with(place + "/"));
  };
  std::map<std::string, std::vector<const Values::value_type*>> whole;
  for (const auto& value : a) {
    if (b.contains(value.first)) continue;
    std::size_t end = value.first.find('/');
    while (end != std::string::npos && has_below(b, value.first.substr(0, end))) end = value.first.find('/', end + 1);
    whole[value.first.substr(0, end)].push_back(&value);
  }
  Values only;
  for (const auto& [place, values] : whole)
    if (values.size() == 1) only.insert(*values.front());
    else only[place] = std::to_string(values.size()) + " values";
  return only;
}

}  // namespace

Inputs contents_of(const InputFiles& files, const fs::path& data, const fs::path& base) {
  Inputs all;
  for (const auto& [file, fingerprint] : files) try {
      all[input_name(file, data, base)] = content_of(file, fingerprint);
    } catch (const InputErrors&) { all[input_name(file, data, base)] = {to_hex(fingerprint), {}}; }
  return all;
}

std::vector<std::string> differences(const Inputs& was, const Inputs& is, const std::vector<std::string>& names) {
  std::vector<std::string> lines;
  for (const std::string& name : names) {
    const auto before = was.find(name), now = is.find(name);
    if (before == was.end() && now == is.end()) continue;
    if (before == was.end() || now == is.end()) {
      lines.push_back(name + ": " + (now == is.end() ? "is no longer read" : "is newly read"));
      continue;
    }
    if (before->second.fingerprint == now->second.fingerprint) continue;
    const std::size_t none_yet = lines.size();
    const Values &a = before->second.values, &b = now->second.values;
    for (const auto& [place, value] : a)
      if (const auto other = b.find(place); other != b.end() && other->second != value)
        lines.push_back(name + ": " + place + " " + value + " -> " + other->second);
    for (const auto& [place, value] : only_in(a, b)) lines.push_back(name + ": " + place + " " + value + " -> (none)");
    for (const auto& [place, value] : only_in(b, a)) lines.push_back(name + ": " + place + " (none) -> " + value);
    if (lines.size() == none_yet)
      lines.push_back(name + (a.empty() && b.empty() ? ": its content changed; only JSON is compared value by value"
                                                     : ": its content changed, but none of its values"));
  }
  return lines;
}

}  // namespace draftline::gate
