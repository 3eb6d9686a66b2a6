// SPDX-License-Identifier: Apache-2.0
// gzip (RFC 1952) in memory, through zlib.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace draftline {

// The text of all members. `name` stands in the message of the InputErrors for a truncated, damaged or too large one.
std::string gunzip(std::string_view packed, std::size_t most_bytes, std::string_view name);

// Equal text gives equal bytes: no time stamp, no name.
std::string gzip(std::string_view text, int level = 6);

}  // namespace draftline
