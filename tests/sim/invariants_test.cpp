// SPDX-License-Identifier: Apache-2.0
// The numbered invariants of docs/explanation/simulator.md: each is the tag of the tests that hold it.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>

#include "tests/catch.h"

namespace {

// The numbers that `pattern` finds in the files of a folder with that ending.
std::set<int> numbers_in(const std::string& folder, const std::string& ending, const std::string& pattern) {
  std::set<int> numbers;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(DRAFTLINE_SOURCE_DIR "/" + folder)) {
    if (entry.path().extension() != ending) continue;
    std::ifstream file(entry.path());
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const std::regex number(pattern);
    for (std::sregex_iterator found(text.begin(), text.end(), number), end; found != end; ++found)
      numbers.insert(std::stoi((*found)[1]));
  }
  return numbers;
}

}  // namespace

TEST_CASE("each invariant of the simulator has a number in turn and a test that names it") {
  const std::set<int> listed = numbers_in("docs", ".md", R"(\n\| S(\d+) \|)");
  CHECK(listed.size() >= 20);
  CHECK(*listed.begin() == 1);
  CHECK(*listed.rbegin() == static_cast<int>(listed.size()));
  CHECK(numbers_in("tests/sim", ".cpp", R"(\[S(\d+)\])") == listed);
}
