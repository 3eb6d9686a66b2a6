// SPDX-License-Identifier: Apache-2.0
// Runs a fuzz target over files and the files of folders, each once: what stands for libFuzzer's main() in an ordinary
// build.
#include <algorithm>
#include <exception>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "tests/fuzz/target.h"

static std::vector<std::filesystem::path> files_of(const std::filesystem::path& named) {
  std::vector<std::filesystem::path> all;
  if (!std::filesystem::is_directory(named)) return {named};
  for (const auto& entry : std::filesystem::directory_iterator(named)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

int main(int argc, char** argv) {
  int fed = 0;
  for (int i = 1; i < argc; ++i)
    for (const auto& file : files_of(argv[i])) {
      std::ifstream in(file, std::ios::binary);
      const std::vector<char> bytes(std::istreambuf_iterator<char>(in), {});
      try {
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size());
        ++fed;
      } catch (const std::exception& e) {
        std::cerr << file.string() << ": " << e.what() << "\n";
        return 1;
      }
    }
  std::cout << fed << " inputs\n";
  return fed > 0 ? 0 : 1;
}
