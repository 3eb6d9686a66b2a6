// SPDX-License-Identifier: Apache-2.0
#include "reports/page/assets.h"

namespace draftline {

std::string_view page_style() {
  return
#include "reports/page/page.css.inc"
      ;
}

std::string_view page_script() {
  return
#include "reports/page/page.js.inc"
      ;
}

std::string_view explorer_script() {
  return
#include "reports/page/explorer.js.inc"
      ;
}

}  // namespace draftline
