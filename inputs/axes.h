// SPDX-License-Identifier: Apache-2.0
// Sweeps: any value of a scenario may be a list of alternatives. Values that are lists by nature
// (rates, tree paths) sweep as lists of such lists.
#pragma once
#include <string>
#include <vector>

#include "core/reader.h"

namespace draftline {

inline constexpr std::size_t kMostChoices = 1'000'000;

// The alternatives of a value: the elements of a list, or the value itself.
template <class T, class Read>
std::vector<T> alternatives(const Reader& in, Read read) {
  std::vector<T> all;
  if (!in.is_array()) return {read(in)};
  for (const Reader& item : in.items()) all.push_back(read(item));
  if (all.empty()) in.fail("an empty list leaves nothing to run");
  return all;
}
template <class T, class Read>
std::vector<T> alternatives(const Reader& in, std::string_view key, T otherwise, Read read) {
  const auto value = in.find(key);
  return value ? alternatives<T>(*value, read) : std::vector<T>{otherwise};
}

// All lists below an object that are to be swept, each under the key it stands at.
struct Axis {
  std::string key;
  Reader list;
};
void find_axes(const Reader& in, const std::string& key, std::vector<Axis>& axes);
std::size_t combinations(const std::vector<Axis>&);  // more than kMostChoices: at least that many
std::vector<Reader::Choice> combination(const std::vector<Axis>&, std::size_t index);

}  // namespace draftline
