// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace draftline {

// The text with &, <, > and " as entities, and blanks for control characters: for text and for attributes of elements.
std::string html_text(std::string_view);

}  // namespace draftline
