// SPDX-License-Identifier: Apache-2.0
// Functions for reading served runs (inputs/served_runs): the keys of an argument, and each kind of file.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "inputs/served_runs.h"

namespace draftline {

constexpr double kMostServedSequences = 1 << 16, kMostServedLength = 1 << 24, kMostServedRows = 1024;

// The keys behind the "@" of an argument.
class ServedArguments {
 public:
  // `at`: the position of the first key; the argument must outlive this object. Throws InputErrors if a key is unknown
  // or repeated.
  ServedArguments(const std::string& argument, std::size_t at);
  std::optional<std::string> text(const std::string& key) const;
  std::optional<double> number(const std::string& key, double least, double most) const;  // InputErrors if not a number
  void complete(ServedRun&) const;  // sets values that are not in the file

 private:
  [[noreturn]] void fail(const std::string& what) const;
  const std::string& argument_;
  std::map<std::string, std::string> values_;
};

// Reads the JSON of benchmark programs. `lines`: the file's name says JSON lines; a .json file may also contain lines.
std::vector<ServedRun> read_served_results(const std::filesystem::path&, bool lines, const ServedArguments&);
std::vector<ServedRun> read_served_table(const std::filesystem::path&);  // CSV

}  // namespace draftline
