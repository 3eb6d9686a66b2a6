// SPDX-License-Identifier: Apache-2.0
// Physical quantities whose unit is part of the type: second^S byte^B flop^F. Values are in base units (s, B, FLOP);
// core/quantity_text converts them to and from text. tests/core checks that seconds + bytes does not compile.
#pragma once
#include <compare>

namespace draftline {

template <int S, int B, int F>
struct Quantity {
  double value = 0;

  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity& operator+=(Quantity o) {
    value += o.value;
    return *this;
  }
  constexpr Quantity& operator-=(Quantity o) {
    value -= o.value;
    return *this;
  }
  constexpr Quantity operator-() const { return {-value}; }
};

using Seconds = Quantity<1, 0, 0>;
using PerSecond = Quantity<-1, 0, 0>;
using Bytes = Quantity<0, 1, 0>;
using Flops = Quantity<0, 0, 1>;  // a count of floating-point operations, never a rate
using BytesPerSecond = Quantity<-1, 1, 0>;
using FlopsPerSecond = Quantity<-1, 0, 1>;
using FlopsPerByte = Quantity<0, -1, 1>;

template <int S, int B, int F>
constexpr Quantity<S, B, F> operator+(Quantity<S, B, F> a, Quantity<S, B, F> b) {
  return {a.value + b.value};
}
template <int S, int B, int F>
constexpr Quantity<S, B, F> operator-(Quantity<S, B, F> a, Quantity<S, B, F> b) {
  return {a.value - b.value};
}
template <int S, int B, int F>
constexpr Quantity<S, B, F> operator*(double k, Quantity<S, B, F> q) {
  return {k * q.value};
}
template <int S, int B, int F>
constexpr Quantity<S, B, F> operator*(Quantity<S, B, F> q, double k) {
  return {k * q.value};
}
template <int S, int B, int F>
constexpr Quantity<S, B, F> operator/(Quantity<S, B, F> q, double k) {
  return {q.value / k};
}
// Where all units cancel, the result is a double.
template <int S, int B, int F, int S2, int B2, int F2>
constexpr auto operator*(Quantity<S, B, F> a, Quantity<S2, B2, F2> b) {
  if constexpr (S + S2 == 0 && B + B2 == 0 && F + F2 == 0) return a.value * b.value;
  else return Quantity<S + S2, B + B2, F + F2>{a.value * b.value};
}
template <int S, int B, int F, int S2, int B2, int F2>
constexpr auto operator/(Quantity<S, B, F> a, Quantity<S2, B2, F2> b) {
  if constexpr (S == S2 && B == B2 && F == F2) return a.value / b.value;
  else return Quantity<S - S2, B - B2, F - F2>{a.value / b.value};
}
template <int S, int B, int F>
constexpr auto operator/(double k, Quantity<S, B, F> q) {
  return Quantity<-S, -B, -F>{k / q.value};
}

template <class A, class B>  // for tests: whether a + b compiles
concept Addable = requires(A a, B b) {
  a + b;
};

}  // namespace draftline
