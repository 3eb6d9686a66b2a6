// SPDX-License-Identifier: Apache-2.0
// An empty folder for one test, gone with it.
#pragma once
#include <filesystem>
#include <random>
#include <string>

namespace draftline {

class FreshFolder {
 public:
  FreshFolder()
      : path_(std::filesystem::temp_directory_path() / ("draftline-test-" + std::to_string(std::random_device{}()))) {
    std::filesystem::create_directories(path_);
  }
  ~FreshFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  FreshFolder(const FreshFolder&) = delete;
  FreshFolder& operator=(const FreshFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace draftline
