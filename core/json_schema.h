// SPDX-License-Identifier: Apache-2.0
// Parts of JSON Schemas (draft 2020-12). Each function describes the values that one function of Reader accepts, so a
// schema is written as its reader is. A meaning stands beside each key.
#pragma once
#include <array>
#include <initializer_list>
#include <limits>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/named.h"
#include "core/quantity_text.h"

namespace draftline::schema {

using Json = nlohmann::ordered_json;

// ---- values
Json text(bool may_be_empty = true);
Json boolean();
Json number(double least = -std::numeric_limits<double>::max(), double most = std::numeric_limits<double>::max());
Json integer(double least = -std::numeric_limits<double>::max(), double most = std::numeric_limits<double>::max());
inline Json positive_int(double most = 1 << 30) { return integer(1, most); }
inline Json ratio() { return number(0, 1); }
// `zero`: whether the quantity may be 0. A negative one is refused.
enum class Zero { no, yes };
Json quantity(Dimension, Zero = Zero::no);
template <class Q>
Json quantity(Zero zero = Zero::no) {
  return quantity(unit_dimension<Q>(), zero);
}
Json word(std::span<const std::string_view> words);
inline Json word(std::initializer_list<std::string_view> words) { return word(std::span(words.begin(), words.size())); }
template <class T, std::size_t N>
std::array<std::string_view, N> names_of(const NamedValues<T, N>& values) {
  std::array<std::string_view, N> names;
  for (std::size_t i = 0; i < N; ++i) names[i] = values[i].name;
  return names;
}
template <class T, std::size_t N>
Json value_in(const NamedValues<T, N>& values) {
  return word(names_of(values));
}
Json list(Json items, int least = 1);
Json any_of(std::initializer_list<Json>);
Json defined(std::string_view name);  // the schema of that name in "$defs"

// ---- objects. Keys that are not listed are refused.
struct Key {
  std::string_view name;
  Json value;
  std::string meaning;
  bool needed = false;
  std::string_view synonym = {}, former = {};  // other names of the key, one of which is given

  Key also(std::string_view other) && {
    synonym = other;
    return std::move(*this);
  }
  Key formerly(std::string_view old) && {
    former = old;
    return std::move(*this);
  }
};
inline Key needed(std::string_view name, Json value, std::string meaning) {
  return {name, std::move(value), std::move(meaning), true};
}
inline Key optional(std::string_view name, Json value, std::string meaning) {
  return {name, std::move(value), std::move(meaning)};
}
using Keys = std::vector<Key>;
Keys operator+(Keys, const Keys&);
Json object(const Keys&);
Json map(Json values);  // an object whose keys are names of any kind
Json map(std::span<const std::string_view> names, Json values);
template <class T, std::size_t N>
Json map(const NamedValues<T, N>& named, Json values) {
  return map(names_of(named), std::move(values));
}

// An object whose key `name` has one of the words; each word has its own keys besides.
struct Case {
  std::vector<std::string_view> words;
  Keys keys;
};
Json by_word(std::string_view name, std::string meaning, const std::vector<Case>&);
// `then` for an object that has the key, else `otherwise`.
Json if_given(std::string_view key, Json then, Json otherwise);
Json with_one_of(Json object, std::span<const std::string_view> keys);  // exactly one of the keys is given
inline Json with_one_of(Json object, std::initializer_list<std::string_view> keys) {
  return with_one_of(std::move(object), std::span(keys.begin(), keys.size()));
}

// ---- sweeps (inputs/axes.h)
Json alternatives(const Json&);  // the value, or a list of values
// The value, of which each value may be a list of values. A defined schema is replaced by that of its name and kSwept.
Json swept(const Json&);
inline constexpr std::string_view kSwept = ".swept";

}  // namespace draftline::schema
