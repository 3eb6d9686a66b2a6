// SPDX-License-Identifier: Apache-2.0
#include "core/members.h"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/quantity.h"
#include "tests/catch.h"

namespace draftline {

namespace {

struct Empty {};
struct Pair {
  int first = 1, second = 2;
};
struct Containers {
  std::optional<Pair> optional;
  std::vector<Pair> list;
  std::array<int, 4> four;
  std::map<std::string, Pair> by_name;
  std::variant<Pair, std::string> either;
  std::unique_ptr<Pair> pointer;
  std::function<int()> function;
};
struct Values {
  Pair nested;
  Seconds time;
  std::string text;
  std::optional<std::string> maybe;
  nlohmann::ordered_json json;
  bool flag = false;
};
struct Most {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t;
};

TEST_CASE("members are counted, whatever their types") {
  static_assert(member_count<Empty> == 0);
  static_assert(member_count<Pair> == 2);
  static_assert(member_count<const Pair> == 2);
  static_assert(member_count<Containers> == 7);
  static_assert(member_count<Values> == 6);
  static_assert(member_count<Most> == 20);
}

TEST_CASE("members are references in the order of their declaration") {
  Values v;
  auto tied = members_of(v);
  static_assert(std::is_same_v<decltype(tied), std::tuple<Pair&, Seconds&, std::string&, std::optional<std::string>&,
                                                          nlohmann::ordered_json&, bool&>>);
  std::get<2>(tied) = "set";
  CHECK(v.text == "set");
  Most m{};
  std::get<19>(members_of(m)) = 7;
  CHECK(m.t == 7);
  const Pair constant;
  CHECK(members_of(constant) == std::tuple(1, 2));
}

}  // namespace

}  // namespace draftline
