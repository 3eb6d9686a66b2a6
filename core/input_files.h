// SPDX-License-Identifier: Apache-2.0
// The files from which a result was computed, each with a fingerprint of its content. The same program computes equal
// results from equal inputs.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "core/files.h"

namespace draftline {

// Fingerprints by the path with which each file was opened. The fingerprint of a JSON file does not depend on white
// space or the order of keys; that of any other file is a hash of its bytes.
using InputFiles = std::map<std::filesystem::path, std::uint64_t>;

// Adds a file by its bytes, unless it can't be read.
void add_file(InputFiles&, const std::filesystem::path&, const Files& = disk());

// A name that does not depend on the location of the folder `data`: "data/devices/h100-sxm.json". A file outside that
// folder is named by its path, relative to `base` unless `base` is empty.
std::string input_name(const std::filesystem::path& file, const std::filesystem::path& data,
                       const std::filesystem::path& base = {});

}  // namespace draftline
