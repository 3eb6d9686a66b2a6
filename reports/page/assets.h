// SPDX-License-Identifier: Apache-2.0
// The style and the scripts of pages: page.css, page.js and explorer.js in this folder, which the build embeds.
#pragma once
#include <string_view>

namespace draftline {

std::string_view page_style();
std::string_view page_script();
std::string_view explorer_script();  // of pages with an explorer (reports/run_explorer.h), after page_script()

}  // namespace draftline
