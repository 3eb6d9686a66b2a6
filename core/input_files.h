// SPDX-License-Identifier: Apache-2.0
// The files that an answer was computed from, each with a fingerprint of what it says: two answers with the same inputs
// and the same program are the same.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

namespace draftline {

// By path, as it was opened. A JSON file's fingerprint does not depend on its white space or the order of its keys;
// another file's is of its bytes.
using InputFiles = std::map<std::filesystem::path, std::uint64_t>;

std::uint64_t fingerprint_of_bytes(const std::filesystem::path&);  // 0 for a file that can't be read

// A name that does not depend on where the data folder lies: "data/devices/h100-sxm.json"; elsewhere the path, relative
// to `base` unless that is empty.
std::string input_name(const std::filesystem::path& file, const std::filesystem::path& data,
                       const std::filesystem::path& base = {});

}  // namespace draftline
