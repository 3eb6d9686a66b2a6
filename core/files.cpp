// SPDX-License-Identifier: Apache-2.0
#include "core/files.h"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <system_error>

#include "core/errors.h"
#include "core/gzip.h"
#include "core/int_indexed.h"
#include "core/json_parse.h"

namespace draftline {

namespace fs = std::filesystem;

[[noreturn]] static void fail(const fs::path& path, const std::string& what) {
  throw InputErrors(printable(path.string(), 1000) + ": " + what);
}

static std::string text_of(std::istream& in, const fs::path& path, std::size_t most_bytes) {
  std::string text, chunk(std::size_t{1} << 16, '\0');
  while (in.read(chunk.data(), std::ssize(chunk)) || in.gcount() > 0) {
    const auto n = at(in.gcount());
    if (n > most_bytes - text.size()) fail(path, "is larger than " + std::to_string(most_bytes) + " bytes");
    text.append(chunk, 0, n);
  }
  if (in.bad()) fail(path, "cannot be read");
  return is_gzip(text) ? gunzip(text, most_bytes, printable(path.string(), 1000)) : text;
}

std::string Files::text(const Path& path, std::size_t most_bytes) const {
  return text_of(*open(path), path, most_bytes);
}
std::string Files::text_once(const Path& path, std::size_t most_bytes) const {
  return text_of(*open_once(path), path, most_bytes);
}

namespace {

class Disk : public Files {
 public:
  Kind kind(const Path& path) const override {
    std::error_code none;
    switch (fs::status(path, none).type()) {
      case fs::file_type::none:
      case fs::file_type::not_found: return Kind::none;
      case fs::file_type::regular: return Kind::file;
      case fs::file_type::directory: return Kind::folder;
      default: return Kind::other;
    }
  }
  std::vector<Path> list(const Path& folder) const override {
    std::vector<Path> all;
    std::error_code error;
    for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
      all.push_back(entry->path());
    std::ranges::sort(all);
    return all;
  }
  std::unique_ptr<std::istream> open(const Path& path) const override {
    if (kind(path) == Kind::other) fail(path, "is no regular file");
    return open_once(path);
  }
  std::unique_ptr<std::istream> open_once(const Path& path) const override {
    std::error_code error;
    const fs::file_status status = fs::status(path, error);
    if (path.empty() || status.type() == fs::file_type::not_found) fail(path, "no such file");
    if (fs::is_directory(status)) fail(path, "is a folder, not a file");
    if (status.type() == fs::file_type::none) fail(path, "cannot be read: " + error.message());
    errno = 0;
    auto file = std::make_unique<std::ifstream>(path, std::ios::binary);
    if (!*file) fail(path, "cannot be opened: " + std::generic_category().message(errno));
    return file;
  }
};

// The path by which a file in memory is known.
fs::path plain_path(const fs::path& path) {
  fs::path plain = path.lexically_normal();
  return plain.has_filename() || !plain.has_parent_path() ? plain : plain.parent_path();  // "data/" -> "data"
}

}  // namespace

const Files& disk() {
  static const Disk disk;
  return disk;
}

Files::Kind FilesInMemory::kind(const Path& path) const {
  const Path plain = plain_path(path);
  if (files_.contains(plain)) return Kind::file;
  return list(plain).empty() ? Kind::none : Kind::folder;
}

std::vector<fs::path> FilesInMemory::list(const Path& folder) const {
  const Path plain = plain_path(folder);
  std::vector<Path> all;
  for (const auto& [file, text] : files_) {
    const Path below = file.lexically_relative(plain);
    if (below.empty() || below == "." || *below.begin() == "..") continue;
    Path entry = folder / *below.begin();
    if (all.empty() || all.back() != entry) all.push_back(std::move(entry));
  }
  return all;
}

std::unique_ptr<std::istream> FilesInMemory::open(const Path& path) const {
  const auto found = files_.find(plain_path(path));
  if (found == files_.end()) fail(path, kind(path) == Kind::folder ? "is a folder, not a file" : "no such file");
  return std::make_unique<std::istringstream>(found->second);
}

}  // namespace draftline
