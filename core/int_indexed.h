// SPDX-License-Identifier: Apache-2.0
// Containers whose sizes and indices are int, as all counts of this project are, or values of an enumeration, so that
// an index needs no cast. As in the standard containers, an index out of range is undefined behaviour.
#pragma once
#include <array>
#include <cstddef>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

namespace draftline {

// An index for a standard container.
constexpr std::size_t at(int i) { return static_cast<std::size_t>(i); }
// A number of values, for a standard container.
constexpr std::size_t count_of(int n) { return static_cast<std::size_t>(n); }
// The number of a standard container's values.
template <class Values>
constexpr int number_of(const Values& values) {
  return static_cast<int>(values.size());
}

// An array with a value for each value of an enumeration, which counts from 0.
template <class Enum, class T, std::size_t size>
struct EnumArray : std::array<T, size> {
  using std::array<T, size>::operator[];
  constexpr T& operator[](Enum e) { return (*this)[static_cast<std::size_t>(e)]; }
  constexpr const T& operator[](Enum e) const { return (*this)[static_cast<std::size_t>(e)]; }
};

// A view of contiguous values.
template <class T>
class IntSpan {
 public:
  template <class Range>
  IntSpan(Range& values) : values_(values) {}
  int size() const { return static_cast<int>(values_.size()); }
  T& operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
  T* begin() const { return values_.data(); }
  T* end() const { return values_.data() + values_.size(); }

 private:
  std::span<T> values_;
};
template <class Range>
IntSpan(Range&) -> IntSpan<std::remove_reference_t<decltype(*std::data(std::declval<Range&>()))>>;

// A vector that owns its values. T is not bool, as std::vector<bool> has no references.
template <class T>
class IntVector {
 public:
  IntVector() = default;
  explicit IntVector(int size, const T& value = T()) : values_(static_cast<std::size_t>(size), value) {}
  int size() const { return static_cast<int>(values_.size()); }
  bool empty() const { return values_.empty(); }
  T& operator[](int i) { return values_[static_cast<std::size_t>(i)]; }
  const T& operator[](int i) const { return values_[static_cast<std::size_t>(i)]; }
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
