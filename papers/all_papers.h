// SPDX-License-Identifier: Apache-2.0
// The only list of the papers whose tables are predicted. Each is a file data/papers/NAME.json.
#pragma once
#include <string>
#include <vector>

#include "core/files.h"
#include "papers/paper_table.h"

namespace draftline {

std::vector<std::string> paper_names();

// The tables of the paper of this name with our predictions. Throws InputErrors if the name
// is unknown, or its file is missing or wrong.
Paper predict_paper(const Data& data, const std::string& name);

}  // namespace draftline
