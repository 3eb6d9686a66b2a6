// SPDX-License-Identifier: Apache-2.0
// Which inputs differ, in words.
#include "gate/inputs.h"

#include "tests/catch.h"

using namespace draftline::gate;

static std::string told(const std::map<std::string, std::string>& was, const std::map<std::string, std::string>& is) {
  std::string text;
  for (const std::string& line : differences({{"d.json", {"1", was}}}, {{"d.json", {"2", is}}}, {"d.json"}))
    text += (text.empty() ? "" : "\n") + line;
  return text;
}

TEST_CASE("a value that differs, one that is gone and one that is new are told one by one") {
  CHECK(told({{"a/x", "1"}, {"a/y", "2"}, {"b", "3"}}, {{"a/x", "1"}, {"a/y", "4"}, {"c", "5"}}) ==
        "d.json: a/y 2 -> 4\nd.json: b 3 -> (none)\nd.json: c (none) -> 5");
  CHECK(told({{"a", "1"}}, {{"a", "1"}}) == "d.json: its content changed, but none of its values");
  CHECK(told({}, {}) == "d.json: its content changed; only JSON is compared value by value");
}

TEST_CASE("an object that is gone or new is one line, whatever the number of its values") {
  CHECK(told({{"a-b", "0"}, {"a/0/x", "1"}, {"a/1/x", "2"}, {"b/x", "3"}, {"b/y", "4"}},
             {{"a-b", "0"}, {"b/x", "3"}, {"c/0", "5"}, {"c/1", "6"}, {"c/2", "7"}}) ==
        "d.json: a 2 values -> (none)\nd.json: b/y 4 -> (none)\nd.json: c (none) -> 3 values");
}
