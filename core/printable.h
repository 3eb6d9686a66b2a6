// SPDX-License-Identifier: Apache-2.0
// Texts of users' files as they may be printed: names must not steer a terminal, reorder a line or be computed by a
// spreadsheet.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace draftline {

// The length in bytes of the character at the start of a text if it must not reach a terminal: a control character (C0,
// DEL, C1), a mark that reorders text (bidirectional controls) or a line separator of Unicode; otherwise 0.
std::size_t unprintable_length(std::string_view text);

// Such a character as an escape, "\u202e".
std::string escaped_character(std::string_view character);

// The text on one line: unprintable characters escaped, ill-formed UTF-8 as U+FFFD, cut after about `most` bytes.
std::string printable(std::string_view text, std::size_t most = 200);
std::string printable_lines(std::string_view text);                    // keeps line ends and tabs, and is not cut
std::string in_quotes(std::string_view text, std::size_t most = 120);  // printable

}  // namespace draftline
