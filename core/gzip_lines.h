// SPDX-License-Identifier: Apache-2.0
// The lines of a gzip file, one after the other: no more than one line is in memory. Damage, truncation and lines
// beyond a limit are InputErrors with file and line.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <string>

namespace draftline {

class GzipLines {
 public:
  explicit GzipLines(const std::filesystem::path&, std::size_t most_per_line = std::size_t{64} << 20);
  ~GzipLines();
  GzipLines(const GzipLines&) = delete;
  GzipLines& operator=(const GzipLines&) = delete;

  bool next(std::string& line);                           // without its newline; false: the file is over
  std::size_t number() const;                             // of the line last read, from 1
  [[noreturn]] void fail(const std::string& what) const;  // InputErrors "FILE:LINE: what"

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

}  // namespace draftline
