// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>
#include <string_view>

namespace draftline {

// The text with &, <, > and " as entities, and control characters escaped (core/printable.h): for text and for
// attributes of elements.
std::string html_text(std::string_view);

}  // namespace draftline
