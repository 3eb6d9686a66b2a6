// SPDX-License-Identifier: Apache-2.0
#include "reports/page/html.h"

#include "core/printable.h"

namespace draftline {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : printable_lines(text)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += c;
    }
  return out;
}

}  // namespace draftline
