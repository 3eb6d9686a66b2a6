// SPDX-License-Identifier: Apache-2.0
// Which draftline this is; written into every output. The build writes the source (cmake/build_info.cmake).
#pragma once
#include <string_view>

namespace draftline {

std::string_view build_version();  // "0.1.0"
std::string_view build_commit();   // 40 hex digits, with "-dirty" behind if tracked files differ from it; or "unknown"

// A fingerprint of the sources that predictions are computed by, 16 hex digits: equal ones predict alike.
std::string_view build_model();

}  // namespace draftline
