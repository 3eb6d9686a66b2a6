// SPDX-License-Identifier: Apache-2.0
// What README and the documents show of the program is what it prints.
#include "core/text_file.h"
#include "tests/cli/program.h"

namespace draftline {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = DRAFTLINE_SOURCE_DIR;

// A command that a page shows behind "$ draftline ", and the lines below it.
struct Session {
  std::string arguments;
  std::vector<std::string> lines;
};

std::vector<Session> sessions_of(const std::string& page) {
  const std::string prompt = "$ draftline ";
  std::vector<Session> sessions;
  bool inside = false;
  std::istringstream text(read_text_file(kTree / page));
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with(prompt)) {
      sessions.push_back({line.substr(prompt.size()), {}});
      inside = true;
    } else if (line.starts_with("```")) {
      inside = false;
    } else if (inside) {
      sessions.back().lines.push_back(line);
    }
  }
  return sessions;
}

// The block of the page behind a line that names its file.
std::string file_in(const std::string& page, const std::string& name) {
  const std::string text = read_text_file(kTree / page), fence = "\n```\n";
  const auto named = text.find("`" + name + "`:\n");
  REQUIRE(named != std::string::npos);
  const auto begin = text.find(fence, named) + fence.size();
  return text.substr(begin, text.find("```", begin) - begin);
}

// Whether `line` is what is shown, in which "..." stands for anything.
bool is_shown_as(const std::string& line, const std::string& shown) {
  const std::string gap = "...";
  std::size_t at = 0, from = 0;
  for (auto dots = shown.find(gap); dots != std::string::npos; dots = shown.find(gap, from)) {
    const std::string part = shown.substr(from, dots - from);
    const auto found = line.find(part, at);
    if (found == std::string::npos || (from == 0 && found != 0)) return false;
    at = found + part.size();
    from = dots + gap.size();
  }
  const std::string rest = shown.substr(from);
  return from == 0 ? line == rest : line.size() >= at + rest.size() && line.ends_with(rest);
}

// The first shown line that is not printed, or not behind the one before it; empty if there is none. Lines may be left
// out, with or without "...".
std::string missing_of(const std::vector<std::string>& shown, const std::string& printed) {
  std::istringstream text(printed);
  for (const std::string& wanted : shown) {
    std::string line;
    bool found = wanted == "...";
    while (!found && std::getline(text, line)) found = is_shown_as(line, wanted);
    if (!found) return wanted;
  }
  return "";
}

void check_sessions(const std::string& page, const Program& draftline, std::size_t expected) {
  const auto sessions = sessions_of(page);
  CHECK(sessions.size() == expected);
  for (const auto& [arguments, lines] : sessions) {
    const Ran r = draftline(arguments);
    INFO(page << ": draftline " << arguments << "\n" << r.out << r.err);
    CHECK(r.code == 0);
    CHECK(missing_of(lines, r.out + r.err) == "");
  }
}

}  // namespace

TEST_CASE("README's sessions show what the program prints", "[once]") {
  const Program draftline;
  fs::create_directory_symlink(kTree / "scenarios", draftline.path("scenarios"));
  check_sessions("README.md", draftline, 2);
}

TEST_CASE("docs/your_server.md shows what its steps are fitted to", "[once]") {
  const Program draftline;
  draftline.write("steps.csv", file_in("docs/your_server.md", "steps.csv"));
  check_sessions("docs/your_server.md", draftline, 1);
}

TEST_CASE("a shown line that is not printed, or in another place, is found") {
  const std::string printed = "a 1\nb 2\nc: [1, 2, 3]\n";
  CHECK(missing_of({"a 1", "...", "c: [1, ...]"}, printed) == "");
  CHECK(missing_of({"a 1", "b 3"}, printed) == "b 3");
  CHECK(missing_of({"b 2", "a 1"}, printed) == "a 1");
  CHECK(missing_of({"a"}, printed) == "a");
  CHECK(missing_of({"c: [...3, ...]"}, printed) == "c: [...3, ...]");
}

}  // namespace draftline
