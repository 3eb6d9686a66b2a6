// SPDX-License-Identifier: Apache-2.0
// A value of an engine's profile as a row of a table: its key, the member that holds it, and what it means. The
// member's type determines its unit: time, bytes, number, count, or yes or no. Reading, listing and documentation of
// profiles use only these tables (model/engines/engine_fields.h).
#pragma once
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/errors.h"
#include "core/quantity.h"
#include "core/reader.h"
#include "model/engines/row_work.h"

namespace draftline {

struct ValueRange {  // the allowed range, ends included; for times and bytes only `least`, in base units
  double least = 0, most = std::numeric_limits<int>::max();
};

template <class Owner>
struct ProfileField {
  using Of = Owner;
  template <class... Values>
  using MemberOf = std::variant<Values Owner::*...>;
  using Member = MemberOf<bool, int, double, Seconds, Bytes, std::string, std::vector<int>, std::vector<std::string>,
                          std::optional<bool>, std::optional<int>, std::optional<Seconds>, std::optional<Bytes>,
                          std::vector<RowWork>>;

  std::string_view key;
  Member member;
  ValueRange range;
  std::string_view charged;  // who is charged, and how often: "host, each step"; "" if it is not a cost
  std::string_view meaning;  // a sentence
  bool required = false;
};

namespace profile_field {

void read(const Reader&, const ValueRange&, bool&);
void read(const Reader&, const ValueRange&, int&);
void read(const Reader&, const ValueRange&, double&);
void read(const Reader&, const ValueRange&, std::string&);
void read(const Reader&, const ValueRange&, std::vector<int>&);      // ascending numbers
void read(const Reader&, const ValueRange&, std::vector<RowWork>&);  // pairs, in the order of their rows
void read(const Reader&, const ValueRange&, std::vector<std::string>&);
template <int S, int B, int F>
void read(const Reader& in, const ValueRange& range, Quantity<S, B, F>& to) {
  to = in.quantity<Quantity<S, B, F>>(range.least);
}
template <class T>
void read(const Reader& in, const ValueRange& range, std::optional<T>& to) {
  read(in, range, to.emplace());
}

std::string text(bool);
std::string text(int);
std::string text(double);
std::string text(const std::string&);
std::string text(const std::vector<int>&);
std::string text(const std::vector<RowWork>&);
std::string text(const std::vector<std::string>&);
template <int S, int B, int F>
std::string text(Quantity<S, B, F> v) {
  return to_text(v);
}
template <class T>
std::string text(const std::optional<T>& v) {
  return v ? text(*v) : "none";
}

template <class T>
inline constexpr std::string_view unit = "";
template <>
inline constexpr std::string_view unit<bool> = "yes or no";
template <>
inline constexpr std::string_view unit<int> = "count";
template <>
inline constexpr std::string_view unit<double> = "number";
template <>
inline constexpr std::string_view unit<Seconds> = "time";
template <>
inline constexpr std::string_view unit<Bytes> = "memory";
template <>
inline constexpr std::string_view unit<std::string> = "name";
template <>
inline constexpr std::string_view unit<std::vector<int>> = "counts";
template <>
inline constexpr std::string_view unit<std::vector<RowWork>> = "numbers by rows";
template <>
inline constexpr std::string_view unit<std::vector<std::string>> = "names";
template <class T>
inline constexpr std::string_view unit<std::optional<T>> = unit<T>;

template <class T, class Owner>
constexpr std::string_view unit_of(T Owner::*) {
  return unit<T>;
}

}  // namespace profile_field

template <class Owner>
void read_value(const ProfileField<Owner>& field, const Reader& value, Owner& to) {
  std::visit([&](auto member) { profile_field::read(value, field.range, to.*member); }, field.member);
}

// The values of a plain object: {"launches": 2, "traffic": 1.5}. Absent keys keep their values.
template <class Owner>
void read_row(std::span<const ProfileField<Owner>> fields, const Reader& in, Owner& to) {
  for (const ProfileField<Owner>& field : fields) {
    if (field.required) read_value(field, in.at(field.key), to);
    else if (const auto value = in.find(field.key)) read_value(field, *value, to);
  }
}

template <class Owner>
std::string text_of(const ProfileField<Owner>& field, const Owner& of) {
  return std::visit([&](auto member) { return profile_field::text(of.*member); }, field.member);
}
template <class Owner>
std::string_view unit_of(const ProfileField<Owner>& field) {
  return std::visit([](auto member) { return profile_field::unit_of(member); }, field.member);
}
template <class Owner>
bool is_default(const ProfileField<Owner>& field, const Owner& of) {
  static const Owner plain{};
  return std::visit([&](auto member) { return of.*member == plain.*member; }, field.member);
}

}  // namespace draftline
