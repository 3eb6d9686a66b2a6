// SPDX-License-Identifier: Apache-2.0
// The version of this program, which every output contains. The build generates the source (cmake/build_info.cmake).
#pragma once
#include <string_view>

namespace draftline {

std::string_view build_version();  // "0.1.0"
// The git commit as 40 hex digits, with the suffix "-dirty" if tracked files differ from it; "unknown" without git.
std::string_view build_commit();

// A fingerprint, 16 hex digits, of the source files that compute predictions. Programs with equal fingerprints make
// equal predictions from equal inputs.
std::string_view build_model();

}  // namespace draftline
