// SPDX-License-Identifier: Apache-2.0
// gzip (RFC 1952) in memory, through zlib.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace draftline {

bool is_gzip(std::string_view bytes);  // whether they begin with gzip's magic number

// Decompresses all members. Throws InputErrors, with `name` as the file name, if the data are empty, truncated or
// damaged, or decompress to more than `most_bytes`.
std::string gunzip(std::string_view packed, std::size_t most_bytes, std::string_view name);

// Compresses text. Equal text gives equal bytes, because the header contains no time stamp and no name. `level`: 0 to
// 9, as in zlib.
std::string gzip(std::string_view text, int level = 6);

}  // namespace draftline
