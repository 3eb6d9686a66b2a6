// SPDX-License-Identifier: Apache-2.0
// Runs the built program through the shell, as a user would, in a folder of its own.
#pragma once
#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

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
  Ran operator()(const std::string& arguments, const std::string& after = "> out") const {
    const std::string command =
        "cd '" + folder_.path().string() + "' && '" DRAFTLINE_PROGRAM "' " + arguments + " " + after + " 2> err";
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
  FreshFolder folder_;
};

}  // namespace draftline
