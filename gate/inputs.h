// SPDX-License-Identifier: Apache-2.0
// The content of an answer's input files, so that a changed figure can be traced to a changed input value.
#pragma once
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/input_files.h"

namespace draftline::gate {

// `values`: the numbers, texts and booleans of a JSON file by their paths ("datasheet/0/bandwidth"), without comments
// and titles; a long list of numbers is represented by its fingerprint. Files that are not JSON have only a
// fingerprint, 16 hex digits.
struct InputContent {
  std::string fingerprint;
  std::map<std::string, std::string> values;
};
using Inputs = std::map<std::string, InputContent>;  // by input_name() (core/input_files)

// Names of files outside the folder `data` are relative to `base`.
Inputs contents_of(const InputFiles&, const std::filesystem::path& data, const std::filesystem::path& base);

// The differences in the files `names`, each as a line: "data/devices/h100-sxm.json: datasheet/0/bandwidth 3.35 TB/s ->
// 3.2 TB/s".
std::vector<std::string> differences(const Inputs& was, const Inputs& is, const std::vector<std::string>& names);

}  // namespace draftline::gate
