// SPDX-License-Identifier: Apache-2.0
// Checks of command-line options that several verbs share.
#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "reports/output.h"

namespace draftline::cli {

// Accepts numbers from `least` to `most`, both included. Unlike CLI::Range it rejects NaN.
CLI::Validator between(double least, double most);

// Adds --seed, a whole number of 64 bits. Unlike CLI11 2.1 it rejects -1.
CLI::Option* add_seed(CLI::App& verb, std::uint64_t& seed, const std::string& about);

// Adds --headroom of plans, a percentage, which sets a share of the load.
CLI::Option* add_headroom(CLI::App& verb, double& headroom);

struct OutputFile {
  std::string_view option;
  std::filesystem::path file;  // empty: the option was not given
};
// Throws InputErrors if two of these files are the same or one of them is an input: "--engine-out: is also the file of
// --out".
void check_outputs(const std::vector<OutputFile>&, const std::vector<std::filesystem::path>& inputs);

}  // namespace draftline::cli
