// SPDX-License-Identifier: Apache-2.0
#include "core/packed.h"

#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/quantity.h"
#include "tests/catch.h"

namespace draftline {

namespace {

template <class T>
T back(const T& value) {
  return unpack<T>(pack(value));
}

struct Inner {
  std::string name;
  std::vector<std::optional<double>> values;
  bool operator==(const Inner&) const = default;
};

class Outer {
 public:
  Outer() = default;
  explicit Outer(int n) : n_(n), inner_{{"a", {{}, 0.5}}, {"", {}}}, by_name_{{"x", {"y", {1.0}}}} {}
  static auto members(auto& self) {
    auto& [n, inner, by_name] = self;
    return std::tie(n, inner, by_name);
  }
  bool operator==(const Outer&) const = default;

 private:
  int n_ = 0;
  std::vector<Inner> inner_;
  std::map<std::string, Inner> by_name_;
};

}  // namespace

TEST_CASE("what is packed comes back bit for bit") {
  CHECK(back(42) == 42);
  CHECK(back(std::numeric_limits<double>::denorm_min()) == std::numeric_limits<double>::denorm_min());
  CHECK(back(Seconds{0.1}) == Seconds{0.1});
  CHECK(back(std::string("a\0b", 3)) == std::string("a\0b", 3));
  CHECK(back(std::vector<std::string>{"", "two"}) == std::vector<std::string>{"", "two"});
  CHECK(back(std::optional<std::string>()) == std::nullopt);
  CHECK(back(std::optional<std::string>("x")) == "x");
  using Either = std::variant<Inner, std::string>;
  CHECK(back(Either("why")) == Either("why"));
  CHECK(back(Either(Inner{"n", {1.5}})) == Either(Inner{"n", {1.5}}));
  CHECK(back(Outer(7)) == Outer(7));
  CHECK(back(std::pair<std::string, int>("p", 3)) == std::pair<std::string, int>("p", 3));

  std::array<std::unique_ptr<std::array<int, 4>>, 3> pages;
  pages[1] = std::make_unique<std::array<int, 4>>(std::array{1, 2, 3, 4});
  const auto copies = back(pages);
  CHECK(copies[0] == nullptr);
  REQUIRE(copies[1] != nullptr);
  CHECK(*copies[1] == *pages[1]);

  using Json = nlohmann::ordered_json;
  const Json json = Json::parse(R"({"b": 0.1, "a": [1, -2, 1.0, null, "text"], "n": 18446744073709551615})");
  CHECK(back(json) == json);
  CHECK(back(json).dump() == json.dump());
}

TEST_CASE("bytes that are too few or too many are no value") {
  const std::string bytes = pack(Outer(1));
  for (std::size_t n = 0; n < bytes.size(); ++n)
    CHECK_THROWS_AS(unpack<Outer>(std::string_view(bytes).substr(0, n)), Bug);
  CHECK_THROWS_AS(unpack<Outer>(bytes + "x"), Bug);
}

}  // namespace draftline
