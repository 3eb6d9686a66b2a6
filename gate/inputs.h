// SPDX-License-Identifier: Apache-2.0
// What the input files of an answer say, so that a figure that moved can be traced to the value that did.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/input_files.h"

namespace draftline::gate {

// A JSON file's numbers, texts and booleans by their places ("datasheet/0/bandwidth"), without its prose; a long list
// of numbers is one value, its fingerprint. Of another file only the fingerprint is known.
struct InputContent {
  std::string fingerprint;
  std::map<std::string, std::string> values;

  static auto members(auto& s) { return std::tie(s.fingerprint, s.values); }
};
using Inputs = std::map<std::string, InputContent>;  // by input_name

// `base`: what the names of files outside the data folder are relative to.
Inputs contents_of(const InputFiles&, const std::filesystem::path& data, const std::filesystem::path& base);

// Each difference as a line: "data/devices/h100-sxm.json: datasheet/0/bandwidth 3.35 TB/s -> 3.2 TB/s". Of the files
// named in `names`, so that one pin's inputs can be told from another's.
std::vector<std::string> differences(const Inputs& was, const Inputs& is, const std::vector<std::string>& names);

}  // namespace draftline::gate
