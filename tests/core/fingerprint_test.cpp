// SPDX-License-Identifier: Apache-2.0
#include "core/fingerprint.h"

#include <cstdint>
#include <set>

#include "tests/catch.h"

using namespace draftline;

template <class... V>
static constexpr std::uint64_t of(V... values) {
  Fingerprint f;
  (f.add(values), ...);
  return f.value();
}

TEST_CASE("a fingerprint depends on values and their order, not on the width of their type") {
  CHECK(of(1, 2) != of(2, 1));
  CHECK(of(-1) == of(std::int64_t{-1}));
  CHECK(of(7u) == of(std::uint64_t{7}));
  CHECK(of(0.0) == of(-0.0));
  CHECK(of(1) != of(1.0));
}

TEST_CASE("texts are told apart where they join") {
  CHECK(of("ab", "c") != of("a", "bc"));
  CHECK(of("a", "") != of("", "a"));
  CHECK(of("text") == of(std::string_view("text")));  // a literal is a text, not a bool
}

TEST_CASE("a fingerprint is the same on every machine") {
  // One round by hand: ((0x9e3779b97f4a7c15 ^ 0) * 0xff51afd7ed558ccd mod 2^64), then xor with itself shifted by 32.
  constexpr std::uint64_t product = 0x9e3779b97f4a7c15ULL * 0xff51afd7ed558ccdULL;
  STATIC_REQUIRE(of(0) == (product ^ (product >> 32)));
  CHECK(to_hex(0x1234abcdULL) == "000000001234abcd");
}

TEST_CASE("small values do not collide") {
  std::set<std::uint64_t> seen;
  for (int a = 0; a < 100; ++a)
    for (int b = 0; b < 100; ++b) seen.insert(of(a, b));
  CHECK(seen.size() == 10000);
}
