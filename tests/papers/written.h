// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <sstream>
#include <string>

#include "reports/paper_report.h"

namespace draftline {

// What `draftline papers` prints of a paper.
inline std::string written(const Paper& paper, Format format) {
  std::ostringstream out;
  write_papers({.stream = out, .format = format, .asked = {"papers", DRAFTLINE_SOURCE_DIR, 0}}, {paper});
  return out.str();
}

}  // namespace draftline
