// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>

namespace draftline {

// The text in lines of at most `width` columns, broken at blanks, all but the first indented; 0: one line. It ends with
// a newline.
std::string paragraph(const std::string& text, std::size_t width);

}  // namespace draftline
