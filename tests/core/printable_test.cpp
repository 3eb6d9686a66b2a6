// SPDX-License-Identifier: Apache-2.0
#include "core/printable.h"

#include <sstream>

#include "core/json_writer.h"
#include "tests/catch.h"

namespace draftline {

TEST_CASE("printed texts hold nothing that would upset a terminal") {
  CHECK(printable("a\x1b[31m\n\x7f\xff\xC2\x9B é") == "a\\u001b[31m\\u000a\\u007f\uFFFD\\u009b é");
  CHECK(printable("user\u202Eexe.nosj \u2066x\u2069 \u061C\u200F\u2028") ==
        "user\\u202eexe.nosj \\u2066x\\u2069 \\u061c\\u200f\\u2028");
  CHECK(printable("漢字 e\u0301 \U0001F600 µ") == "漢字 e\u0301 \U0001F600 µ");
  CHECK(printable(std::string(1000, 'a'), 10) == "aaaaaaaaaa...");
  CHECK(printable_lines("a\tb\nc\rd\x1b") == "a\tb\nc\\u000dd\\u001b");
}

TEST_CASE("JSON escapes what printed texts do") {
  std::ostringstream out;
  JsonWriter w(out, 0);
  w.value(std::string_view("\x1b\x7f\xC2\x9B\u202Eé"));
  w.finish();
  CHECK(out.str() == "\"\\u001b\\u007f\\u009b\\u202eé\"\n");
}

}  // namespace draftline
