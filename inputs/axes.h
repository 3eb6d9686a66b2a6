// SPDX-License-Identifier: Apache-2.0
// Sweeps: any value of a scenario may be a list of alternatives. If the value itself is a list (rates, paths of a
// tree), the alternatives are a list of lists.
#pragma once
#include <string>
#include <vector>

#include "core/reader.h"

namespace draftline {

inline constexpr std::size_t kMostChoices = 1'000'000;

// The alternatives of a value: the elements of a list, or the value itself. The second form returns `otherwise` if the
// key is missing. An empty list is noted as a mistake.
template <class T, class Read>
std::vector<T> alternatives(const Reader& in, Read read) {
  std::vector<T> all;
  if (!in.is_array()) return {read(in)};
  for (const Reader& item : in.items()) all.push_back(read(item));
  if (all.empty()) in.fail("is an empty list, so that there is nothing to run");
  return all;
}
template <class T, class Read>
std::vector<T> alternatives(const Reader& in, std::string_view key, T otherwise, Read read) {
  const auto value = in.find(key);
  return value ? alternatives<T>(*value, read) : std::vector<T>{otherwise};
}

// A list of alternatives, and its key. find_axes() appends all such lists in and below a value whose key is `key`.
struct Axis {
  std::string key;
  Reader list;
};
void find_axes(const Reader& in, const std::string& key, std::vector<Axis>& axes);
std::size_t combinations(const std::vector<Axis>&);  // the size of the product, at most kMostChoices + 1
// The choice of one element of each list. The last list comes first and varies fastest with `index`.
std::vector<Reader::Choice> combination(const std::vector<Axis>&, std::size_t index);

// The alternatives of an object, or of each object of a list: every combination of the lists inside it. More than
// kMostChoices are noted as a mistake.
template <class T, class Read>
std::vector<T> all_combinations(const Reader& in, Read read) {
  std::vector<T> all;
  for (const Reader& one : alternatives<Reader>(in, [](const Reader& r) { return r; })) {
    std::vector<Axis> axes;
    find_axes(one, "", axes);
    const std::size_t count = combinations(axes);
    if (count > kMostChoices) {
      one.fail("its lists make more than a million alternatives");
      continue;
    }
    for (std::size_t i = 0; i < count; ++i) all.push_back(read(one.choosing(combination(axes, i))));
  }
  return all;
}

}  // namespace draftline
