// SPDX-License-Identifier: Apache-2.0
// The names that files and reports use for the values of an enumeration.
#pragma once
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "core/errors.h"

namespace draftline {

template <class T>
struct Named {
  std::string_view name;
  T value;
};
template <class T, std::size_t N>
using NamedValues = std::array<Named<T>, N>;

// Throws Bug if the value has no name.
template <class T, std::size_t N>
constexpr std::string_view name_of(const NamedValues<T, N>& values, T value) {
  for (const Named<T>& v : values)
    if (v.value == value) return v.name;
  raise_bug("a value without a name");
}
template <class T, std::size_t N>
constexpr std::optional<T> value_named(const NamedValues<T, N>& values, std::string_view name) {
  for (const Named<T>& v : values)
    if (v.name == name) return v.value;
  return std::nullopt;
}

}  // namespace draftline
