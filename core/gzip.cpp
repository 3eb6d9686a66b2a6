// SPDX-License-Identifier: Apache-2.0
#include "core/gzip.h"

#include <zlib.h>

#include <algorithm>
#include <array>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {

static constexpr int kGzip = 15 + 16;                             // zlib's way to say: largest window, gzip header
static constexpr std::size_t kMostAtOnce = std::size_t{1} << 30;  // zlib counts in unsigned int

// The next bytes of the input, of which `left` have not been handed over.
static void feed(z_stream& z, std::size_t& left) {
  if (z.avail_in > 0) return;
  const std::size_t n = std::min(left, kMostAtOnce);
  z.avail_in = low_word(n);
  left -= n;
}

bool is_gzip(std::string_view bytes) { return bytes.starts_with("\x1F\x8B"); }

std::string gunzip(std::string_view packed, std::size_t most_bytes, std::string_view name) {
  const auto fail = [&](const std::string& what) { throw InputErrors(std::string(name) + ": " + what); };
  if (packed.empty()) fail("is empty, not a gzip file");
  z_stream z{};
  check(inflateInit2(&z, kGzip) == Z_OK, "inflateInit2");
  struct End {
    z_stream& z;
    ~End() { inflateEnd(&z); }
  } end{z};
  std::string text;
  std::array<char, 1 << 16> chunk;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));  // zlib never writes through it
  std::size_t left = packed.size();
  for (;;) {
    feed(z, left);
    z.next_out = reinterpret_cast<Bytef*>(chunk.data());
    z.avail_out = low_word(chunk.size());
    const int status = inflate(&z, Z_NO_FLUSH);
    const std::size_t got = chunk.size() - z.avail_out;
    if (got > most_bytes - text.size()) fail("unpacks to more than " + std::to_string(most_bytes) + " bytes");
    text.append(chunk.data(), got);
    if (status == Z_STREAM_END) {
      if (z.avail_in == 0 && left == 0) return text;
      if (inflateReset(&z) != Z_OK) fail("is a damaged gzip file");  // another member follows
    } else if (status == Z_BUF_ERROR || (status == Z_OK && z.avail_in == 0 && left == 0 && got < chunk.size())) {
      fail("is a truncated gzip file");
    } else if (status != Z_OK) {
      fail("is not a gzip file or is damaged");
    }
  }
}

std::string gzip(std::string_view text, int level) {
  z_stream z{};
  check(deflateInit2(&z, level, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "deflateInit2");
  struct End {
    z_stream& z;
    ~End() { deflateEnd(&z); }
  } end{z};
  std::string packed;
  std::array<char, 1 << 16> chunk;
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  std::size_t left = text.size();
  int status = Z_OK;
  while (status != Z_STREAM_END) {
    feed(z, left);
    z.next_out = reinterpret_cast<Bytef*>(chunk.data());
    z.avail_out = low_word(chunk.size());
    status = deflate(&z, left == 0 ? Z_FINISH : Z_NO_FLUSH);
    check(status != Z_STREAM_ERROR, "deflate");
    packed.append(chunk.data(), chunk.size() - z.avail_out);
  }
  return packed;
}

}  // namespace draftline
