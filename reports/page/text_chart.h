// SPDX-License-Identifier: Apache-2.0
// A chart as text for a terminal: a letter for each series, and below it their names.
#pragma once
#include <cstddef>
#include <string>

#include "reports/page/chart.h"

namespace draftline {

// `width`: terminal columns, 0: 80. "" of an empty chart. Where several series have a place, "*" stands there.
std::string to_text(const Chart&, std::size_t width);

}  // namespace draftline
