// SPDX-License-Identifier: Apache-2.0
#include "core/gzip_lines.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <istream>
#include <string_view>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

struct GzipLines::Open {
  std::filesystem::path path;
  std::size_t most, line = 0;
  std::unique_ptr<std::istream> file;
  z_stream z{};
  std::array<char, 1 << 16> packed{}, text{};
  std::string_view rest;  // the unread part of `text`
  bool over = false;
};

GzipLines::GzipLines(const std::filesystem::path& path, const Files& files, std::size_t most_per_line)
    : open_(std::make_unique<Open>()) {
  open_->path = path;
  open_->most = most_per_line;
  open_->file = files.open(path);
  constexpr int kGzip = 15 + 16;  // largest window, gzip header
  check(inflateInit2(&open_->z, kGzip) == Z_OK, "inflateInit2");
}
GzipLines::~GzipLines() { inflateEnd(&open_->z); }

std::size_t GzipLines::number() const { return open_->line; }
void GzipLines::fail(const std::string& what) const {
  throw InputErrors(open_->path.string() + ":" + std::to_string(open_->line) + ": " + what);
}

bool GzipLines::next(std::string& line) {
  Open& o = *open_;
  line.clear();
  ++o.line;
  for (;;) {
    const std::string_view rest = o.rest.substr(0, o.rest.find('\n'));
    if (rest.size() > o.most - line.size()) fail("a line of more than " + std::to_string(o.most) + " bytes");
    line += rest;
    if (rest.size() < o.rest.size()) {
      o.rest.remove_prefix(rest.size() + 1);
      return true;
    }
    if (o.over) return !line.empty();
    if (o.z.avail_in == 0) {
      o.file->read(o.packed.data(), std::ssize(o.packed));
      o.z.avail_in = low_word(o.file->gcount());
      o.z.next_in = reinterpret_cast<Bytef*>(o.packed.data());
      if (o.z.avail_in == 0) fail("the gzip file is truncated");
    }
    o.z.next_out = reinterpret_cast<Bytef*>(o.text.data());
    o.z.avail_out = low_word(o.text.size());
    const int status = inflate(&o.z, Z_NO_FLUSH);
    o.rest = {o.text.data(), o.text.size() - o.z.avail_out};
    if (status == Z_STREAM_END) {
      o.over = true;
      if (o.z.avail_in > 0 || o.file->peek() != std::istream::traits_type::eof())
        fail("bytes after the gzip file's end");
    } else if (status != Z_OK && status != Z_BUF_ERROR) {
      fail("no gzip file, or a damaged one");
    }
  }
}

}  // namespace draftline
