// SPDX-License-Identifier: Apache-2.0
// The only list of the papers whose tables are predicted. Each is a file data/papers/NAME.json.
#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "papers/paper_table.h"

namespace draftline {

struct PaperEntry {
  std::string_view name;
  // `data`: the folder data/. Throws InputErrors if there is no such file or it is wrong.
  Paper (*predict)(const std::filesystem::path& data, const std::string& name);
};

std::span<const PaperEntry> all_papers();
std::vector<std::string> paper_names();

// The tables of the paper of this name with our predictions. Throws InputErrors, also if the name is unknown.
Paper predict_paper(const std::filesystem::path& data, const std::string& name);

}  // namespace draftline
