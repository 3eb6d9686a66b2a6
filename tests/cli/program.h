// SPDX-License-Identifier: Apache-2.0
// Runs the program in a folder of its own: within this process where it is linked to the test and the shell has no part
// in the command, which takes a fraction of the time; else through the shell, as a user would.
#pragma once
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#ifdef DRAFTLINE_IN_PROCESS
#include "cli/program.h"
#endif
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

inline const std::string kData = std::string(DRAFTLINE_SOURCE_DIR) + "/data";

struct Ran {
  int code;
  std::string out, err;
};

class Program {
 public:
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  // `after`: what the shell does with standard output, if it is not read here.
  Ran operator()(const std::string& arguments, const std::string& after = "") const {
#ifdef DRAFTLINE_IN_PROCESS
    if (after.empty()) return within_process(arguments);
#endif
    const std::string command = "cd '" + folder_.path().string() + "' && '" DRAFTLINE_PROGRAM "' " + arguments + " " +
                                (after.empty() ? "> out" : after) + " 2> err";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
  }
  // Killed as soon as it has written `file`: code 137.
  Ran killed_after(const std::string& file, const std::string& arguments) const {
    const std::string command = "cd '" + folder_.path().string() + "' && { '" DRAFTLINE_PROGRAM "' " + arguments +
                                " > out 2> err & P=$!; n=0; while [ ! -s " + file +
                                " ] && [ $n -lt 600 ]; do sleep 0.05; n=$((n+1)); done; kill -9 $P; wait $P; }";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, read("out"), read("err")};
  }
  std::string read(const std::string& name) const {
    std::ifstream in(folder_.path() / name);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }

 private:
#ifdef DRAFTLINE_IN_PROCESS
  Ran within_process(const std::string& arguments) const {
    const std::filesystem::path before = std::filesystem::current_path();
    std::filesystem::current_path(folder_.path());
    std::ostringstream out, err;
    const int code = cli::run_program(words_of(arguments), out, err);
    std::filesystem::current_path(before);
    return {code, out.str(), err.str()};
  }
  // The words of a command, of which '..' and ".." may hold blanks.
  static std::vector<std::string> words_of(const std::string& command) {
    std::vector<std::string> words;
    bool inside = false;
    char quote = 0;
    for (const char c : command) {
      const bool quotes = (c == '\'' || c == '"') && (quote == 0 || quote == c);
      if (quotes) quote = quote == 0 ? c : '\0';
      const bool blank = c == ' ' && quote == 0;
      if (!inside && !blank) words.emplace_back();
      inside = !blank;
      if (inside && !quotes) words.back() += c;
    }
    return words;
  }
#endif
  FreshFolder folder_;
};

}  // namespace draftline
