// SPDX-License-Identifier: Apache-2.0
#include "reports/paragraph.h"

#include <sstream>

namespace draftline {

std::string paragraph(const std::string& text, std::size_t width) {
  if (width == 0) return text + "\n";
  std::string out, line;
  std::istringstream words(text);
  const std::string first(text.find_first_not_of(' '), ' ');
  for (std::string word; words >> word;) {
    if (!line.empty() && line.size() + 1 + word.size() > width) {
      out += line + "\n";
      line = first + "    " + word;
    } else {
      line += (line.empty() ? first : " ") + word;
    }
  }
  return out + line + "\n";
}

}  // namespace draftline
