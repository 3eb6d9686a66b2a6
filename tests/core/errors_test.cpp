// SPDX-License-Identifier: Apache-2.0
#include "core/errors.h"

#include "tests/catch.h"
#include "tests/core/messages.h"

using namespace draftline;

TEST_CASE("a broken promise tells where it was made") {
  check(true, "fine");
  try {
    check(false, "two and two are four");
    FAIL("check() let it pass");
  } catch (const Bug& bug) {
    CHECK(starts_with(bug.what(), "two and two are four ("));
    CHECK(contains(bug.what(), "errors_test.cpp:"));  // the caller's place, not that of check()
  }
}

TEST_CASE("input errors keep every message, one per line") {
  const InputErrors both({"a.json#/x: wrong", "a.json#/y: wrong"});
  CHECK(both.messages().size() == 2);
  CHECK(std::string(both.what()) == "a.json#/x: wrong\na.json#/y: wrong");
  CHECK(InputErrors("one").messages() == std::vector<std::string>{"one"});
}
