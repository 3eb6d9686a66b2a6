// SPDX-License-Identifier: Apache-2.0
// The verbs and options of the program as --help has them, for completions of shells and for the manual page.
#pragma once
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

namespace draftline::cli {

struct OptionWords {
  std::vector<std::string> names;  // "-h", "--help"; of a positional argument its name alone
  std::string about;
  std::vector<std::string> choices;  // of its value; empty: any
  bool takes_value = false, positional = false;
  const std::string& longest() const { return names.back(); }
};

struct VerbWords {
  std::string name, about;  // name "": the program
  std::vector<OptionWords> options;
};

VerbWords words_of(const CLI::App&);
std::vector<VerbWords> verbs_of(const CLI::App& program);

}  // namespace draftline::cli
