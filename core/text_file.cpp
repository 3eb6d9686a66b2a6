// SPDX-License-Identifier: Apache-2.0
#include "core/text_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <optional>
#include <random>
#include <system_error>

#include "core/errors.h"
#include "core/gzip.h"
#include "core/json_parse.h"

namespace draftline {

namespace fs = std::filesystem;

std::string printable_path(const fs::path& path) { return printable(path.string(), 1000); }

std::string read_text_file(const fs::path& path, std::size_t most_bytes) { return disk().text(path, most_bytes); }

static std::string why(int error) {
  return error == 0 ? "is the disk full?" : std::generic_category().message(error);  // 0: it failed earlier, unseen
}

// The file that a chain of links ends at, whether it exists yet or not.
static fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  const fs::path asked = path;
  std::error_code none;
  for (int links = 0; fs::is_symlink(path, none); ++links) {
    if (links == kMostLinks)
      throw InputErrors(printable_path(asked) + ": cannot be written: too many levels of symbolic links");
    path = path.parent_path() / fs::read_symlink(path, none);  // an absolute target replaces the folder
  }
  return path;
}

// Until commit() the file has no name if the system supports that (O_TMPFILE), so that nothing remains however the
// program ends; otherwise it has a temporary name in the same folder.
struct AtomicFile::Open {
  fs::path name, temporary;
  std::ofstream stream;
  std::optional<mode_t> mode;  // of the file that is replaced
  int nameless = -1;
  bool direct = false, committed = false;

  fs::path nameless_path() const { return "/proc/self/fd/" + std::to_string(nameless); }
  bool open_nameless() {
#ifdef O_TMPFILE
    constexpr mode_t kReadAndWrite = 0666;
    const fs::path folder = name.has_parent_path() ? name.parent_path() : ".";
    if (name.has_filename()) nameless = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, kReadAndWrite);
    if (nameless != -1) stream.open(nameless_path(), std::ios::binary);
#endif
    return stream.is_open();
  }
  ~Open() {
    if (nameless != -1) ::close(nameless);
  }
};

AtomicFile::AtomicFile(const fs::path& path) : open_(std::make_unique<Open>()) {
  std::error_code error;
  if (path.empty()) throw InputErrors("the name of the output file is empty");
  if (fs::is_directory(path, error)) throw InputErrors(printable_path(path) + ": is a folder, not a file");
  open_->name = behind_links(path);  // the target of a link is replaced, not the link
  struct stat before {};
  if (::stat(open_->name.c_str(), &before) == 0 && S_ISREG(before.st_mode)) open_->mode = before.st_mode & 07777;
  open_->direct = fs::exists(path, error) && !fs::is_regular_file(path, error);  // /dev/stdout has no "beside"
  open_->temporary = open_->direct ? path : open_->name;
  if (!open_->direct) open_->temporary += ".part" + std::to_string(std::random_device{}());
  if (!open_->direct && !error && open_->open_nameless()) return;  // an invalid name fails below
  errno = 0;
  open_->stream.clear();
  open_->stream.open(open_->temporary, std::ios::binary | std::ios::trunc);
  if (!open_->stream) throw InputErrors(printable_path(path) + ": cannot be written: " + why(errno));
}

AtomicFile::~AtomicFile() {
  if (open_->committed || open_->direct) return;
  open_->stream.close();  // and a nameless file is gone
  std::error_code ignored;
  fs::remove(open_->temporary, ignored);
}

std::ostream& AtomicFile::stream() { return open_->stream; }

void AtomicFile::commit() {
  errno = 0;
  open_->stream.close();
  if (!open_->stream) throw OutputError(printable_path(open_->name) + ": cannot be written in full: " + why(errno));
  open_->committed = true;
  if (open_->direct) return;
  if (open_->mode) {  // a private file stays private
    const fs::path written = open_->nameless == -1 ? open_->temporary : open_->nameless_path();
    ::chmod(written.c_str(), *open_->mode);
  }
  const bool named = open_->nameless == -1 || linkat(AT_FDCWD, open_->nameless_path().c_str(), AT_FDCWD,
                                                     open_->temporary.c_str(), AT_SYMLINK_FOLLOW) == 0;
  std::error_code error(named ? 0 : errno, std::generic_category());
  if (named) fs::rename(open_->temporary, open_->name, error);
  if (!error) return;
  open_->committed = false;
  throw OutputError(printable_path(open_->name) + ": cannot be written: " + error.message());
}

void write_text_file(const fs::path& path, std::string_view text) {
  AtomicFile file(path);
  file.stream() << (path.extension() == ".gz" ? gzip(text) : std::string(text));
  file.commit();
}

}  // namespace draftline
