// SPDX-License-Identifier: Apache-2.0
// Writing of whole files, which is atomic: a file appears complete or not at all. Files whose names end in ".gz" are
// written with gzip. Reading is in core/files.h.
#pragma once
#include <cstddef>
#include <filesystem>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "core/files.h"

namespace draftline {

// The same as disk().text() (core/files.h).
std::string read_text_file(const std::filesystem::path&, std::size_t most_bytes = kMostTextBytes);

std::string printable_path(const std::filesystem::path&);  // for a message (core/json_parse)

// A file that gets its name only at commit(). Until then it has no name or a temporary name, and the destructor removes
// it. Its content is not compressed.
class AtomicFile {
 public:
  explicit AtomicFile(const std::filesystem::path&);  // throws InputErrors if the file can't be created
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  std::ostream& stream();
  void commit();  // throws OutputError if the file can't be written in full

 private:
  struct Open;
  std::unique_ptr<Open> open_;
};

// Writes a file atomically, compressed if it is named *.gz. Throws InputErrors and OutputError as AtomicFile does.
void write_text_file(const std::filesystem::path&, std::string_view text);

}  // namespace draftline
