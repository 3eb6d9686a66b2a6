// SPDX-License-Identifier: Apache-2.0
// Conversions between the integers of this project, whose counts are int, those of the standard library and double, and
// containers whose sizes and indices are int or values of an enumeration. As in the standard containers, an index out
// of range is undefined behaviour, and so is a value that does not fit its new type.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace draftline {

// Converts an int or an enumerator to an index or a size of a standard container.
template <class T>
concept Index = std::signed_integral<T> || std::is_enum_v<T>;
constexpr std::size_t at(Index auto i) { return static_cast<std::size_t>(i); }
template <class T>
concept Number = std::is_arithmetic_v<T> || std::is_enum_v<T>;
constexpr int to_int(Number auto v) { return static_cast<int>(v); }  // truncates
constexpr std::int64_t to_int64(Number auto v) { return static_cast<std::int64_t>(v); }
constexpr double to_double(Number auto v) { return static_cast<double>(v); }                      // exact up to 2^53
constexpr std::uint32_t low_word(std::integral auto v) { return static_cast<std::uint32_t>(v); }  // the last 32 bits
// The number of a container's items.
template <class Items>
requires requires(const Items& items) { std::size(items); }
constexpr int count(const Items& items) { return to_int(std::size(items)); }
// The steps between two iterators.
template <class Iterator>
constexpr int steps(Iterator from, Iterator to) {
  return to_int(to - from);
}

// An array with a value for each value of an enumeration, which counts from 0.
template <class Enum, class T, std::size_t size>
struct EnumArray : std::array<T, size> {
  using std::array<T, size>::operator[];
  constexpr T& operator[](Enum e) { return (*this)[at(e)]; }
  constexpr const T& operator[](Enum e) const { return (*this)[at(e)]; }
};

// A view of contiguous values.
template <class T>
class IntSpan {
 public:
  template <class Range>
  IntSpan(Range& values) : values_(values) {}
  int size() const { return count(values_); }
  bool empty() const { return values_.empty(); }
  T& operator[](int i) const { return values_[at(i)]; }
  IntSpan first(int n) const { return values_.first(at(n)); }
  T* begin() const { return values_.data(); }
  T* end() const { return values_.data() + values_.size(); }

 private:
  std::span<T> values_;
};
template <class Range>
IntSpan(Range&) -> IntSpan<std::remove_reference_t<decltype(*std::data(std::declval<Range&>()))>>;

// A vector that owns its values. T is not bool, because std::vector<bool> has no references.
template <class T>
class IntVector {
 public:
  IntVector() = default;
  explicit IntVector(int size, const T& value = T()) : values_(at(size), value) {}
  int size() const { return count(values_); }
  bool empty() const { return values_.empty(); }
  T& operator[](int i) { return values_[at(i)]; }
  const T& operator[](int i) const { return values_[at(i)]; }
  T& back() { return values_.back(); }
  const T& back() const { return values_.back(); }
  void push_back(T value) { values_.push_back(std::move(value)); }
  auto begin() { return values_.begin(); }
  auto end() { return values_.end(); }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  static_assert(!std::is_same_v<T, bool>);
  std::vector<T> values_;
};

}  // namespace draftline
