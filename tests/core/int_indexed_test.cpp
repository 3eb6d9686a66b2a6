// SPDX-License-Identifier: Apache-2.0
#include "core/int_indexed.h"

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("a view with int indices reads and writes what it looks at") {
  std::vector<int> values{3, 4, 5};
  const IntSpan view = values;
  view[1] = 7;
  CHECK(values == std::vector{3, 7, 5});
  CHECK(view.size() == 3);
  int sum = 0;
  for (const int v : view) sum += v;
  CHECK(sum == 15);
  const std::vector<int> fixed{1};
  static_assert(std::is_same_v<decltype(IntSpan(fixed)[0]), const int&>);
  static_assert(std::is_same_v<decltype(IntSpan(fixed).size()), int>);
}

TEST_CASE("a vector with int indices begins with so many equal values and grows") {
  IntVector<int> values(2, -1);
  values.push_back(4);
  values[0] = 1;
  CHECK(values.size() == 3);
  CHECK(values.back() == 4);
  CHECK(std::vector<int>(values.begin(), values.end()) == std::vector{1, -1, 4});
  CHECK(IntVector<int>().empty());
}
