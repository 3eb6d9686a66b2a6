// SPDX-License-Identifier: Apache-2.0
// The formats of an answer: one on standard output, and files in others beside it.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "reports/output.h"

namespace draftline::cli {

struct Formats {
  struct File {
    std::string option;
    Format format;
    std::filesystem::path file;
  };
  Format printed = Format::table;  // on standard output
  std::vector<File> files;

  bool has(Format) const;  // in either place
};

enum class Csv { yes, no };

class FormatOptions {
 public:
  // Adds --json, --html and, with Csv::yes, --csv. Each may have a file; without one it sets the format of standard
  // output.
  void add(CLI::App& verb, const std::string& about_json, Csv = Csv::yes);
  void add_markdown(CLI::App& verb);
  CLI::Option* json() const { return all_.front().option; }

  // A file that may be a word of the verb's own, as in `run --json s.json`: that of --json, or the only one; "" if
  // there is none. take_back() returns it, and the option then has no file.
  std::string word() const;
  std::string take_back();
  Formats chosen() const;  // throws CLI::ExcludesError if two formats have no file

 private:
  struct One {
    Format format;
    CLI::Option* option;
    bool taken_back = false;

    std::string file() const;
  };
  const One* with_word() const;
  std::vector<One> all_;
};

}  // namespace draftline::cli
