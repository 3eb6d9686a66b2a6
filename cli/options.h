// SPDX-License-Identifier: Apache-2.0
// Checks of options that several verbs share.
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

namespace draftline::cli {

// A number from `least` to `most`, both included; CLI::Range lets NaN through.
CLI::Validator between(double least, double most);

struct OutputFile {
  std::string_view option;
  std::filesystem::path file;  // empty: not asked for
};
// InputErrors where one of these files would destroy another, or one of the inputs: "--engine-out: is the file of
// --out, too".
void check_outputs(const std::vector<OutputFile>&, const std::vector<std::filesystem::path>& inputs);

}  // namespace draftline::cli
