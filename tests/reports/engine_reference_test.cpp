// SPDX-License-Identifier: Apache-2.0
#include "reports/engine_reference.h"

#include <fstream>
#include <iostream>
#include <iterator>

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("docs/reference/engines.md has the row of every value of a profile as the tables have it") {
  std::ifstream file(std::string(DRAFTLINE_SOURCE_DIR) + "/docs/reference/engines.md");
  const std::string page{std::istreambuf_iterator<char>(file), {}};
  for (const EngineReference& r : engine_reference()) {
    const std::string section = "## " + r.heading + "\n";
    const std::size_t begin = page.find(section);
    INFO(section);
    REQUIRE(begin != std::string::npos);
    const std::string written = page.substr(begin, page.find("\n## ", begin) - begin), table = r.table.to_markdown();
    const bool holds = written.find(table) != std::string::npos;
    if (!holds) std::cout << section << "... should hold this table:\n" << table;
    CHECK(holds);
  }
}
