// SPDX-License-Identifier: Apache-2.0
#include "core/notes.h"

#include <vector>

#include "core/reader.h"
#include "tests/catch.h"

namespace draftline {

static void read_limits(const char* file = "s.json") {
  const Document d = Document::from_text(R"([{"old_limit": 1}, {"old_limit": 2}, {"limit": 3}])", file);
  for (const Reader& item : d.root().items()) {
    item.at("limit", "old_limit").positive_int();
    item.done();
  }
  d.finish();
  CHECK(d.notes().size() == 1);
}

TEST_CASE(
    "a renamed key is noted once in each file, however often it stands there and however often the file is read") {
  std::vector<std::string> said;
  {
    const NoteListener listener([&](const std::string& note) { said.push_back(note); });
    read_limits();
    read_limits();
    read_limits("other.json");
    CHECK_THROWS_AS(NoteListener([](const std::string&) {}), Bug);
  }
  read_limits();  // nobody listens
  CHECK(said ==
        std::vector<std::string>{"s.json#/0/old_limit: is called \"limit\" now; the old name is still read",
                                 "other.json#/0/old_limit: is called \"limit\" now; the old name is still read"});
}

}  // namespace draftline
