// SPDX-License-Identifier: Apache-2.0
#include "core/text_file.h"

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <random>
#include <system_error>

#include "core/errors.h"
#include "core/gzip.h"
#include "core/json_parse.h"

namespace draftline {

namespace fs = std::filesystem;

static std::string shown(const fs::path& path) { return printable(path.string(), 1000); }

static std::string why(int error) { return std::generic_category().message(error); }

std::string read_text_file(const fs::path& path, std::size_t most_bytes) {
  const auto fail = [&](const std::string& what) { throw InputErrors(shown(path) + ": " + what); };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (path.empty() || status.type() == fs::file_type::not_found) fail("no such file");
  if (fs::is_directory(status)) fail("is a folder, not a file");
  if (status.type() == fs::file_type::none) fail("cannot be read: " + error.message());
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  errno = 0;
  const std::unique_ptr<std::FILE, Close> file(std::fopen(path.c_str(), "rb"));
  if (!file) fail("cannot be opened: " + why(errno));
  std::string text;
  if (const auto size = fs::is_regular_file(status) ? fs::file_size(path, error) : 0; !error && size <= most_bytes)
    text.reserve(static_cast<std::size_t>(size) + 1);
  std::string chunk(std::size_t{1} << 16, '\0');
  while (const std::size_t n = std::fread(chunk.data(), 1, chunk.size(), file.get())) {
    if (n > most_bytes - text.size()) fail("is larger than " + std::to_string(most_bytes) + " bytes");
    text.append(chunk, 0, n);
  }
  if (std::ferror(file.get())) fail("cannot be read: " + why(errno));
  return path.extension() == ".gz" ? gunzip(text, most_bytes, shown(path)) : text;
}

struct AtomicFile::Open {
  fs::path name, temporary;
  std::ofstream stream;
  bool direct = false, committed = false;
};

AtomicFile::AtomicFile(const fs::path& path) : open_(std::make_unique<Open>()) {
  std::error_code error;
  if (path.empty()) throw InputErrors("the name of the output file is empty");
  if (fs::is_directory(path, error)) throw InputErrors(shown(path) + ": is a folder, not a file");
  open_->name = fs::exists(path, error) ? fs::canonical(path, error) : path;  // a link stays one
  if (error) open_->name = path;
  open_->direct = fs::exists(path, error) && !fs::is_regular_file(path, error);  // /dev/stdout has no "beside"
  open_->temporary = open_->direct ? path : open_->name;
  if (!open_->direct) open_->temporary += ".part" + std::to_string(std::random_device{}());
  errno = 0;
  open_->stream.open(open_->temporary, std::ios::binary | std::ios::trunc);
  if (!open_->stream) throw InputErrors(shown(path) + ": cannot be written: " + why(errno));
}

AtomicFile::~AtomicFile() {
  if (open_->committed || open_->direct) return;
  open_->stream.close();
  std::error_code ignored;
  fs::remove(open_->temporary, ignored);
}

std::ostream& AtomicFile::stream() { return open_->stream; }

void AtomicFile::commit() {
  errno = 0;
  open_->stream.close();
  if (!open_->stream) throw OutputError(shown(open_->name) + ": cannot be written in full: " + why(errno));
  open_->committed = true;
  if (open_->direct) return;
  std::error_code error;
  fs::rename(open_->temporary, open_->name, error);
  if (!error) return;
  open_->committed = false;
  throw OutputError(shown(open_->name) + ": cannot be written: " + error.message());
}

void write_text_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.stream() << (path.extension() == ".gz" ? gzip(text) : std::string(text));
  file.commit();
}

}  // namespace draftline
