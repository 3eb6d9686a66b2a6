// SPDX-License-Identifier: Apache-2.0
// served/published_steps.json of the reference data: steps and speedups that others have published.
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "core/text_file.h"

namespace draftline {

inline std::filesystem::path published_steps() {
  return std::filesystem::path(DRAFTLINE_REFERENCE_DATA) / "served" / "published_steps.json";
}
// Why they can't be read here; empty if they can.
inline std::string no_published_steps() {
  if (std::string(DRAFTLINE_REFERENCE_DATA).empty()) return "DRAFTLINE_REFERENCE_DATA is not set";
  return std::filesystem::exists(published_steps()) ? ""
                                                    : "DRAFTLINE_REFERENCE_DATA has no served/published_steps.json";
}
inline nlohmann::json published_rows() { return nlohmann::json::parse(read_text_file(published_steps())); }

}  // namespace draftline
