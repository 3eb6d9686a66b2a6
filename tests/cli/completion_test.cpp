// SPDX-License-Identifier: Apache-2.0
// Completions of shells and the manual page have every verb and option of --help.
#include <cctype>
#include <regex>
#include <set>
#include <sstream>

#include "tests/cli/program.h"

namespace draftline {

namespace {

// The long options that --help of a verb names in its list.
std::set<std::string> options_of(const Program& draftline, const std::string& verb) {
  const std::string help = draftline(verb + " --help").out;
  static const std::regex option(R"(\n  (?:-[a-z],)?(--[a-z-]+))");
  std::set<std::string> all;
  for (std::sregex_iterator i(help.begin(), help.end(), option), end; i != end; ++i) all.insert((*i)[1]);
  return all;
}

std::vector<std::string> verbs_of(const Program& draftline) {
  const std::string help = draftline("--help").out;
  static const std::regex verb(R"(\n  ([a-z]+) )");
  std::vector<std::string> all;
  const auto from = help.begin() + help.find("Subcommands:");
  for (std::sregex_iterator i(from, help.end(), verb), end; i != end; ++i) all.push_back((*i)[1]);
  return all;
}

std::string without_escapes(std::string page) {
  std::string out;
  for (const char c : page)
    if (c != '\\') out += c;
  return out;
}

// The part of a script from `begin` to the next `end`; "" without it.
std::string block_of(const std::string& script, const std::string& begin, const std::string& end) {
  const std::size_t from = script.find(begin);
  if (from == std::string::npos) return "";
  return script.substr(from, script.find(end, from + begin.size()) - from);
}

std::string lines_with(const std::string& script, const std::string& what) {
  std::istringstream in(script);
  std::string lines;
  for (std::string line; std::getline(in, line);)
    if (contains(line, what)) lines += line + "\n";
  return lines;
}

// Whether a text has a word that is no part of a longer one.
bool has_word(const std::string& text, const std::string& word) {
  const auto is_part = [&](std::size_t i) { return i < text.size() && (std::isalnum(text[i]) != 0 || text[i] == '-'); };
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    if (!is_part(at - 1) && !is_part(at + word.size())) return true;
  return false;
}

}  // namespace

TEST_CASE("completions and the manual page have every verb and each of its options") {
  const Program draftline;
  const std::string bash = draftline("completion bash").out, zsh = draftline("completion zsh").out,
                    fish = draftline("completion fish").out, man = without_escapes(draftline("man").out);
  const auto verbs = verbs_of(draftline);
  REQUIRE(verbs.size() > 10);
  for (const std::string& verb : verbs) {
    INFO(verb);
    const std::string of_bash = block_of(bash, "\n    " + verb + ")\n", " esac ;;\n"),
                      of_zsh = block_of(zsh, "\n    " + verb + ")\n", " ;;\n"),
                      of_fish = lines_with(fish, "'__draftline_verb_is " + verb + "'"),
                      of_man = block_of(man, "\n.SS " + verb + "\n", "\n.S");
    CHECK(contains(fish, " -a " + verb + " -d "));
    const auto options = options_of(draftline, verb);
    CHECK(options.contains("--help"));
    for (const std::string& option : options) {
      INFO(option);
      CHECK(has_word(of_bash, option));
      CHECK(contains(of_zsh, "'" + option + "["));
      CHECK(contains(of_fish, " -l " + option.substr(2) + " "));
      CHECK(has_word(of_man, option));
    }
  }
  CHECK(!has_word(block_of(bash, "\n    list)\n", " esac ;;\n"), "--max-devices"));  // an option of plan
  CHECK(draftline("completion csh").code == 2);
  CHECK(draftline("completion").code == 2);
}

TEST_CASE("zsh completes the verb after options of the program") {
  const Program draftline;
  const std::string zsh = draftline("completion zsh").out, before = zsh.substr(0, zsh.find("case $line[1]"));
  CHECK(contains(before, "_arguments -C"));
  CHECK(contains(before, "'--data["));
  CHECK(contains(before, "'1:verb:->verb'"));
}

TEST_CASE("bash completes verbs, options, and the words that an option accepts") {
  const Program draftline;
  draftline.write("draftline.bash", draftline("completion bash").out);
  const auto completed = [&](const std::string& words, int at) {
    draftline.write("ask.sh", "compopt() { :; }\n. ./draftline.bash\nCOMP_WORDS=(" + words + ")\nCOMP_CWORD=" +
                                  std::to_string(at) + "\n_draftline\nIFS='|'\necho \"${COMPREPLY[*]}\"\n");
    const std::string command = "cd '" + draftline.path("") + "' && bash ask.sh > completed";
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream in(draftline.path("completed"));
    std::string line;
    std::getline(in, line);
    return line;
  };
  CHECK(completed("draftline adv", 1) == "advise");
  CHECK(completed("draftline --data", 1) == "--data");
  CHECK(completed("draftline plan s.json --max", 3) == "--max-devices");
  CHECK(completed("draftline list tr", 2) == "transformers|traces");
  CHECK(completed("draftline decode --device c", 3) == "cpu|cuda");
  CHECK(completed("draftline --data d run --exp", 4) == "--explain");
  CHECK(completed("draftline run ask", 2) == "ask.sh");
  draftline.write("two words.json", "{}");
  CHECK(completed("draftline run two", 2) == "two words.json");
}

TEST_CASE("fish completes verbs and options behind --data and its folder") {
  if (std::system("command -v fish > /dev/null") != 0) SKIP_TEST("fish is not installed");
  const Program draftline;
  draftline.write("draftline.fish", draftline("completion fish").out);
  const auto completed = [&](const std::string& line) {
    draftline.write("ask.fish", "source draftline.fish\ncomplete -C '" + line + "' | string replace -r '\\t.*' ''\n");
    const std::string command = "cd '" + draftline.path("") + "' && fish --no-config ask.fish > completed";
    REQUIRE(std::system(command.c_str()) == 0);
    std::ifstream in(draftline.path("completed"));
    std::string words;
    for (std::string word; std::getline(in, word);) words += (words.empty() ? "" : "|") + word;
    return words;
  };
  CHECK(completed("draftline adv") == "advise");
  CHECK(completed("draftline --data d adv") == "advise");
  CHECK(completed("draftline --data run plan s.json --max") == "--max-devices");
  CHECK(completed("draftline --data d list tr") == "transformers");
  CHECK(completed("draftline list adv") == "");
}

TEST_CASE("--headroom is a percentage") {
  const Program draftline;
  for (const char* wrong : {"0.2", "20", "901%", "x%", "20%%", "nan%", "1e9%"}) {
    INFO(wrong);
    const Ran r = draftline("plan s.json --headroom " + std::string(wrong));
    CHECK(r.code == 2);
    CHECK(contains(r.err, "is not a percentage from 0% to 900%, such as 20%"));
  }
}

}  // namespace draftline
