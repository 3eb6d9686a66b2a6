// SPDX-License-Identifier: Apache-2.0
// README and the pages of docs/ show what the program prints.
#include <utility>
#include <vector>

#include "core/text_file.h"
#include "tests/cli/program.h"

namespace draftline {
namespace {

namespace fs = std::filesystem;

const fs::path kTree = DRAFTLINE_SOURCE_DIR;

// A command that a page shows behind "$ draftline ", and the lines below it.
struct PageSession {
  std::string arguments;
  std::vector<std::string> lines;
};

std::vector<PageSession> sessions_of(const std::string& page) {
  const std::string prompt = "$ draftline ";
  std::vector<PageSession> sessions;
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

// Writes the files that a page shows: each a block behind a line that ends with the file's name in code font and ":".
void write_files_of(const std::string& page, const Program& draftline) {
  std::istringstream text(read_text_file(kTree / page));
  std::string name, content;
  bool inside = false;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("```")) {
      if (inside && !name.empty()) draftline.write(std::exchange(name, ""), std::exchange(content, ""));
      inside = !inside;
    } else if (inside) {
      content += name.empty() ? "" : line + "\n";
    } else if (line.ends_with("`:")) {
      const auto begin = line.rfind('`', line.size() - 3) + 1;
      name = line.substr(begin, line.size() - 2 - begin);
    } else if (!line.empty()) {
      name.clear();
    }
  }
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

// The pages with sessions, but for the one whose tables calibrate_tables_test brings.
std::vector<std::string> pages_with_sessions() {
  std::vector<std::string> pages;
  if (!sessions_of("README.md").empty()) pages.push_back("README.md");
  for (const auto& entry : fs::recursive_directory_iterator(kTree / "docs")) {
    const std::string page = fs::relative(entry.path(), kTree).string();
    if (page.ends_with(".md") && page != "docs/recipes/your_gpu.md" && !sessions_of(page).empty())
      pages.push_back(page);
  }
  return pages;
}

}  // namespace

TEST_CASE("the sessions of README and of the pages in docs/ show what the program prints", "[once]") {
  const auto pages = pages_with_sessions();
  CHECK(pages.size() >= 2);
  for (const std::string& page : pages) {
    const Program draftline;
    fs::create_directory_symlink(kTree / "scenarios", draftline.path("scenarios"));
    write_files_of(page, draftline);
    for (const auto& [arguments, lines] : sessions_of(page)) {
      const Ran r = draftline(arguments);
      INFO(page << ": draftline " << arguments << "\n" << r.out << r.err);
      CHECK(r.code == 0);
      CHECK(missing_of(lines, r.out + r.err) == "");
    }
  }
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
