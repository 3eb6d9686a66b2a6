// SPDX-License-Identifier: Apache-2.0
#include "core/json_in_order.h"

namespace draftline {

nlohmann::ordered_json json_in_order(std::string_view text) {
  constexpr bool kThrows = true, kIgnoresComments = true;
  return nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr, kThrows, kIgnoresComments);
}

}  // namespace draftline
