// SPDX-License-Identifier: Apache-2.0
// The members of a plain struct (an aggregate without base classes or C arrays) as a tuple of references. The compiler
// finds them, so that an added member can't be forgotten. A class with private members lists them itself in a
// structured binding, whose number of names the compiler checks:
//   static auto members(auto& self) { auto& [count, sum] = self; return std::tie(count, sum); }
#pragma once
#include <tuple>
#include <type_traits>

namespace draftline {

namespace members {

struct Anything {
  template <class T>
  operator T() const {  // never called
    throw;
  }
};

// The most initialisers that the struct takes.
template <class T, class... Known>
constexpr int count() {
  if constexpr (requires { T{Known{}..., Anything{}}; }) return count<T, Known..., Anything>();
  else return sizeof...(Known);
}

}  // namespace members

template <class T>
inline constexpr int member_count = members::count<std::remove_cv_t<T>>();

template <class T>
concept PlainStruct = std::is_class_v<T> && std::is_aggregate_v<std::remove_cv_t<T>>;

// clang-format off
#define TIED(n, ...) if constexpr (count == n) { auto& [__VA_ARGS__] = self; return std::tie(__VA_ARGS__); }
template <PlainStruct T>
constexpr auto members_of(T& self) {
  constexpr int count = member_count<T>;
  static_assert(count >= 1 && count <= 20, "more members than are written out here, or one that can't be counted");
  TIED(1, a)
  else TIED(2, a, b)
  else TIED(3, a, b, c)
  else TIED(4, a, b, c, d)
  else TIED(5, a, b, c, d, e)
  else TIED(6, a, b, c, d, e, f)
  else TIED(7, a, b, c, d, e, f, g)
  else TIED(8, a, b, c, d, e, f, g, h)
  else TIED(9, a, b, c, d, e, f, g, h, i)
  else TIED(10, a, b, c, d, e, f, g, h, i, j)
  else TIED(11, a, b, c, d, e, f, g, h, i, j, k)
  else TIED(12, a, b, c, d, e, f, g, h, i, j, k, l)
  else TIED(13, a, b, c, d, e, f, g, h, i, j, k, l, m)
  else TIED(14, a, b, c, d, e, f, g, h, i, j, k, l, m, n)
  else TIED(15, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o)
  else TIED(16, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p)
  else TIED(17, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q)
  else TIED(18, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r)
  else TIED(19, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s)
  else TIED(20, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t)
}
#undef TIED
// clang-format on

}  // namespace draftline
