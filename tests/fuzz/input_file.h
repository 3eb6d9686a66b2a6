// SPDX-License-Identifier: Apache-2.0
// An input as a file, for readers that open their file themselves: written anew for each input.
#pragma once
#include <fstream>

#include "tests/core/fresh_folder.h"
#include "tests/fuzz/target.h"

namespace draftline::fuzz {

inline std::filesystem::path input_file(const std::string& name, std::string_view bytes) {
  static const FreshFolder folder;
  std::ofstream(folder.path() / name, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return folder.path() / name;
}

}  // namespace draftline::fuzz
