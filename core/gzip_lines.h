// SPDX-License-Identifier: Apache-2.0
// Reads a gzip file line by line, with no more than one line in memory. Throws InputErrors, with file and line, if the
// file is missing, damaged or truncated, or if a line exceeds the limit.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

#include "core/files.h"

namespace draftline {

class GzipLines {
 public:
  // `most_per_line`: bytes of the longest line.
  explicit GzipLines(const std::filesystem::path&, const Files& = disk(),
                     std::size_t most_per_line = std::size_t{64} << 20);
  ~GzipLines();
  GzipLines(const GzipLines&) = delete;
  GzipLines& operator=(const GzipLines&) = delete;

  bool next(std::string& line);                           // reads a line, without its newline; false at the end
  std::size_t number() const;                             // the number of the line last read, from 1
  [[noreturn]] void fail(const std::string& what) const;  // throws InputErrors "FILE:LINE: what"

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace draftline
