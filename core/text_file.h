// SPDX-License-Identifier: Apache-2.0
// Whole files in and out. Reading has a limit and one clear message for what can be wrong; writing is atomic: a file is
// there complete or not at all. Names that end in ".gz" are gzip files, which the reader undoes.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

namespace draftline {

inline constexpr std::size_t kMostTextBytes = std::size_t{64} << 20;

// The bytes of a file, gunzipped if it is named *.gz; the limit holds for the result. InputErrors: "FILE: no such
// file".
std::string read_text_file(const std::filesystem::path&, std::size_t most_bytes = kMostTextBytes);

// A file that appears under its name only with commit(); before, it has no name, or a temporary one.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path&);  // InputErrors if the folder can't be written
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  std::ostream& stream();
  void commit();  // OutputError if a byte did not reach the disk

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

void write_text_file(const std::filesystem::path&, std::string_view text);  // at once, atomically; gzip if named *.gz

}  // namespace draftline
