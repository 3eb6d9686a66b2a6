// SPDX-License-Identifier: Apache-2.0
#include "reports/page/html.h"

namespace draftline {

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default: out += byte_of(c) < 0x20 && c != '\n' && c != '\t' ? ' ' : c;
    }
  return out;
}

}  // namespace draftline
